"""Stamps on files and objects: the causal tag as metadata for object stores."""

from __future__ import annotations

from typing import Final

from deltaspan.causal_tag import current_causal_root, current_causal_tag

__all__ = ["ROOT", "TAG", "object_metadata"]

TAG: Final = "causal-tag"
"""The key of the tag. It has only letters and hyphens, as S3 requires."""
ROOT: Final = "causal-root"
"""The key of the root."""


def object_metadata() -> dict[str, str]:
    """Return tag and root as metadata for an object. Empty outside any action.

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
