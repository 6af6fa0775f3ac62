"""A module-level state of flows, for actions that are decorated when a test module is imported."""

flows: list[str] = []


def count():
    return len(flows)


def broken():
    raise LookupError("no such table")
