"""The claim that nothing changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from deltaspan.checks._change_words import validate_members
from deltaspan.checks._check import Check, S_co
from deltaspan.checks._probe import call_text
from deltaspan.expectations import Ignored, NoChange

U = TypeVar("U", bound="Unchanged[Any]")


class Unchanged(Check[S_co]):
    """A claim that the state stays as it was."""

    __slots__ = ()

    def ignoring(self: U, *patterns: object) -> U:
        """Leave keys, members or paths out entirely, before anything is read.

        The arguments and errors are those of `ignoring` on a `change`.

        Example:
            >>> from deltaspan import unchanged, window
            >>> doc = {"title": "a", "seen": 1}
            >>> with window("read", unchanged("doc", lambda: doc).ignoring("seen")) as w:
            ...     doc["seen"] = 2
            >>> w.report["doc"].outcome, w.report["doc"].post_state["title"]
            ('pass', 'a')
        """
        expectation = self.expectation
        assert isinstance(expectation, NoChange)  # noqa: S101  # `unchanged` makes no other
        more = validate_members(self.metric, "ignoring", patterns)
        ignored = Ignored((*expectation.ignored.patterns, *more))
        return replace(
            self,
            expectation=replace(expectation, ignored=ignored),
            words=(*self.words, call_text("ignoring", *patterns)),
        )
