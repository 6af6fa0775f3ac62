"""A table with rows tagged by other runs and one without a tag, and the check on it."""

from deltaspan import change, current_causal_tag, tagged, window

CONTENDED = ("inconclusive", "contended")
BEFORE = {1: "theirs", 2: "theirs", 3: None}


class Table:
    """Rows of id and tag, by key."""

    def __init__(self):
        self.tags = dict(BEFORE)
        self.check = change("rows", tagged(self.tags.items, key=0, tag=1))

    def add(self, *keys, tag="mine"):
        self.tags.update(dict.fromkeys(keys, current_causal_tag() if tag == "mine" else tag))

    def remove(self, *keys):
        for key in keys:
            del self.tags[key]

    def judged(self, say, act, **options):
        """Return the check of a window in which `act` took place."""
        with window("w", say(self.check), **options) as w:
            act()
        return w.report["rows"]


def came_to(check):
    return check.outcome, check.reason
