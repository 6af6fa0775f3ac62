"""Five agents with the task to order sand for acme. Each answers `ordered`."""

from __future__ import annotations

from shop import write

from deltaspan import current_causal_tag

_INSERT = "INSERT INTO orders (tenant, item, causal_tag) VALUES (?, 'sand', ?)"


def honest(path: str, tenant: str) -> str:
    """Write one row, with the causal tag of this run."""
    write(path, _INSERT, tenant, current_causal_tag())
    return "ordered"


def idle(path: str, tenant: str) -> str:
    """Update an order that does not exist."""
    write(path, "UPDATE orders SET item = 'sand' WHERE id = 0 AND tenant = ?", tenant)
    return "ordered"


def repeating(path: str, tenant: str) -> str:
    """Write the row twice."""
    write(path, _INSERT, tenant, current_causal_tag())
    write(path, _INSERT, tenant, current_causal_tag())
    return "ordered"


def careless(path: str, tenant: str) -> str:
    """Overwrite the order of another agent."""
    write(path, "UPDATE orders SET item = 'sand' WHERE id = 1 AND tenant = ?", tenant)
    return "ordered"


def tidy(path: str, tenant: str) -> str:
    """Write one row, and delete an older one."""
    write(path, _INSERT, tenant, current_causal_tag())
    write(path, "DELETE FROM orders WHERE id = 2")
    return "ordered"
