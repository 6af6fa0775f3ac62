"""Stamps on files and objects: the tag as the small dictionary that stores of objects take as metadata."""

from __future__ import annotations

from typing import Final

from deltaspan.causal_tag import current_causal_root, current_causal_tag

__all__ = ["ROOT", "TAG", "object_metadata"]

TAG: Final = "causal-tag"
"""The key of the tag; letters and hyphens, as HTTP headers allow and S3 demands."""
ROOT: Final = "causal-root"
"""The key of the root."""


def object_metadata() -> dict[str, str]:
    """Return the tag and the root as metadata for an object; empty outside any action.

    Example:
        >>> from deltaspan import expects, observe
        >>> @expects(observe("objects", lambda: 0))
        ... def upload():
        ...     # s3.put_object(Bucket=..., Key=..., Body=..., Metadata=object_metadata())
        ...     return sorted(object_metadata())
        >>> upload(), object_metadata()
        (['causal-root', 'causal-tag'], {})
    """
    tag, root = current_causal_tag(), current_causal_root()
    return {} if tag is None or root is None else {TAG: tag, ROOT: root}
