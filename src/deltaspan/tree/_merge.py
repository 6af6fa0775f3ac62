"""Merge the spans of one tag into one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

from deltaspan import semconv
from deltaspan.tree._checks import WORST_FIRST, checks_of, failed_on, outcome_in
from deltaspan.tree._model import Run, Span
from deltaspan.typing import Claim, Outcome


@dataclass(frozen=True, slots=True)
class MergedRun:
    """One run before its place is known, with all claims of its spans.

    Attributes:
        tag: its causal tag.
        spans: its own spans, in order of their starts. Copies that disagree share an id.
        effects: the other spans that carry its tag.
        actions: its names.
        parents: the tags of its parents.
        roots: the tags of its roots.
        verdicts: its spans with a verdict.
        outcome: the worst verdict, of its spans and of their checks.
    """

    tag: str
    spans: Sequence[Span]
    effects: Sequence[Span]
    actions: Sequence[str]
    parents: Sequence[str]
    roots: Sequence[str]
    verdicts: Sequence[Span]
    outcome: Outcome | None

    @property
    def parent(self) -> str | None:
        """The parent of its first span, which counts."""
        return self.parents[0] if self.parents else None

    @property
    def root(self) -> str | None:
        """The root that counts, or None if its spans have none."""
        return self.roots[0] if self.roots else None

    @property
    def key(self) -> tuple[int, str]:
        """The sort key of runs: start, then tag."""
        return self.spans[0].start, self.tag

    def as_run(self, root: str, depth: int, children: tuple[str, ...], enclosing: tuple[Span, ...]) -> Run:
        """Return the run in its place."""
        first = self.spans[0]
        failed = [metric for span in self.spans for metric in failed_on(span)]
        attempts = [span.attributes.get(semconv.ACTION_ATTEMPT) for span in self.spans]
        return Run(
            tag=self.tag,
            parent=self.parent,
            root=root,
            action=self.actions[0],
            attempt=next((each for each in attempts if type(each) is int and each > 1), 1),
            outcome=self.outcome,
            failed=tuple(dict.fromkeys(failed)),
            service=first.service,
            start=first.start,
            duration=max(0, *(span.end - first.start for span in self.spans)) / 1e9,
            trace_id=first.trace_id,
            span_id=first.span_id,
            depth=depth,
            children=children,
            spans=tuple(dict.fromkeys(span.id for span in self.spans)),
            effects=tuple(self.effects),
            claim=_claim(self.spans),
            checks=checks_of(self.spans),
            enclosing=enclosing,
        )


def merge(tag: str, spans: Sequence[Span], effects: Sequence[Span]) -> MergedRun:
    """Merge the spans of one tag.

    Args:
        tag: the tag of the spans.
        spans: the spans of actions among them, in order of their starts. At least one.
        effects: the other spans.
    """
    verdicts = [span for span in spans if verdict_of(span) is not None]
    outcomes = [outcome for span in verdicts if (outcome := verdict_of(span)) is not None]
    if outcomes:
        outcomes += _unproven_checks(spans)
    return MergedRun(
        tag,
        spans,
        effects,
        list(dict.fromkeys(str(span.attributes[semconv.ACTION_NAME]) for span in spans)),
        _tags(spans, semconv.CAUSAL_TAG_PARENT_ID),
        _tags(spans, semconv.CAUSAL_TAG_ROOT_ID),
        verdicts,
        min(outcomes, key=WORST_FIRST.index, default=None),
    )


def verdict_of(span: Span) -> Outcome | None:
    """Return the verdict of an action's span, or None if missing or unknown."""
    return outcome_in(span.attributes, semconv.ACTION_OUTCOME)


def _unproven_checks(spans: Sequence[Span]) -> list[Outcome]:
    """Return the outcomes of checks that prove nothing.

    A sender may contradict itself: a span says `pass`, and one of its checks `fail`.
    """
    outcomes: list[Outcome | None] = [check.outcome for check in checks_of(spans)]
    outcomes += ["fail" for span in spans if failed_on(span)]
    return [outcome for outcome in outcomes if outcome in ("fail", "inconclusive")]


def _claim(spans: Sequence[Span]) -> Claim | None:
    """Return the last claim of a run. A handed-over window has two spans."""
    claims = [span.attributes.get(semconv.ACTION_CLAIM) for span in reversed(spans)]
    return next((cast("Claim", claim) for claim in claims if claim in get_args(Claim)), None)


def _tags(spans: Sequence[Span], attribute: str) -> list[str]:
    return list(dict.fromkeys(tag for span in spans if (tag := span.tag_at(attribute)) is not None))
