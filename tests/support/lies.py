"""A class whose values say that they equal anything."""


class Lies:
    """Says that it equals the text "a", and everything else."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return hash("a")
