"""Stamps on log records: a filter for the standard library's logging, a processor for structlog."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from deltaspan.causal_tag import current_causal_root, current_causal_tag

__all__ = ["CausalTagFilter", "add_causal_tag"]


class CausalTagFilter(logging.Filter):
    """Give each record `causal_tag` and `causal_root`; None outside any action. It lets everything pass.

    Add it to handlers: a filter of a logger does not see the records of the loggers below it. A record that
    has a stamp keeps it, so that one which is handled again in another thread stays as it was.

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
        """Stamp the record, and return True."""
        if not hasattr(record, "causal_tag"):
            record.causal_tag = current_causal_tag()
        if not hasattr(record, "causal_root"):  # set by hand, one may come without the other
            record.causal_root = current_causal_root()
        return True


def add_causal_tag(
    logger: Any,  # noqa: ARG001  # what structlog calls a processor with
    method_name: str,  # noqa: ARG001  # likewise
    event_dict: MutableMapping[str, Any],
) -> MutableMapping[str, Any]:
    """Add `causal_tag` and `causal_root` to an event of structlog; nothing outside any action.

    Example:
        >>> import structlog  # doctest: +SKIP
        >>> structlog.configure(processors=[add_causal_tag, ...])  # doctest: +SKIP
    """
    tag = current_causal_tag()
    if tag is not None:
        event_dict["causal_tag"] = tag
        event_dict["causal_root"] = current_causal_root()
    return event_dict
