"""Stamps on log records: a filter for `logging` and a processor for structlog."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from deltaspan.causal_tag import current_causal_root, current_causal_tag

__all__ = ["CausalTagFilter", "add_causal_tag"]


class CausalTagFilter(logging.Filter):
    """A filter that sets `causal_tag` and `causal_root` on each record.

    Outside any action both are None. Every record passes. Add the filter to handlers, because a filter of a
    logger does not see the records of its child loggers. A record with a stamp keeps it, so that one that is
    handled in another thread does not change.

    Example:
        >>> import logging, sys
        >>> handler = logging.StreamHandler(sys.stdout)
        >>> handler.addFilter(CausalTagFilter())
        >>> handler.setFormatter(logging.Formatter("%(causal_tag)s %(message)s"))
        >>> log = logging.getLogger("shop")
        >>> log.addHandler(handler)
        >>> log.warning("closed")
        None closed
        >>> log.removeHandler(handler)
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Stamp a record, and return True."""
        if not hasattr(record, "causal_tag"):
            record.causal_tag = current_causal_tag()
        if not hasattr(record, "causal_root"):  # one may be set by hand without the other
            record.causal_root = current_causal_root()
        return True


def add_causal_tag(
    logger: Any,  # noqa: ARG001  # part of structlog's interface
    method_name: str,  # noqa: ARG001  # part of it, too
    event_dict: MutableMapping[str, Any],
) -> MutableMapping[str, Any]:
    """Add `causal_tag` and `causal_root` to a structlog event, inside an action.

    Example:
        >>> import structlog  # doctest: +SKIP
        >>> structlog.configure(processors=[add_causal_tag, ...])  # doctest: +SKIP
    """
    tag = current_causal_tag()
    if tag is not None:
        event_dict["causal_tag"] = tag
        event_dict["causal_root"] = current_causal_root()
    return event_dict
