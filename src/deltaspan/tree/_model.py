"""What a causal tree is made of: spans go in; runs and findings come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from deltaspan import semconv
from deltaspan.causal_tag import is_tag
from deltaspan.tree._checks import WORST_FIRST, CheckVerdict
from deltaspan.tree._model_part1 import draw
from deltaspan.typing import Claim, Outcome

__all__ = ["CausalTree", "Finding", "FindingKind", "Run", "Span", "SpanId", "Summary"]

FindingKind: TypeAlias = Literal[
    "orphan",
    "unclaimed_effects",
    "parent_conflict",
    "root_conflict",
    "span_conflict",
    "action_conflict",
    "copy_conflict",
    "duplicate",
    "cycle",
    "invalid_tag",
    "untagged_effects",
]
"""What can be found.

`orphan`: a run whose parent's tag nobody has. `unclaimed_effects`: spans stamped with a tag that no run has.
`parent_conflict`, `root_conflict`, `action_conflict`: one tag with two parents, roots or actions.
`span_conflict`: a run whose span is below that of another run than its tag says. `copy_conflict`: copies of
one span with two verdicts or tags. `duplicate`: one tag with
two verdicts. `cycle`: runs that cause each other. `invalid_tag`: a tag that is not a UUID's canonical text.
`untagged_effects`: spans below a run that leave or enter a process without a tag, while others are stamped.
"""

_NO_VERDICT: Final = "no verdict"
_UNHURT: Final = frozenset({"pass", "observed", "skipped"})


class SpanId(NamedTuple):
    """What names a span anywhere.

    Attributes:
        trace_id: 32 hexadecimal digits.
        span_id: 16 hexadecimal digits.
    """

    trace_id: str
    span_id: str


@dataclass(frozen=True, slots=True)
class Span:
    """One span, of whatever process, as far as causes are concerned.

    Attributes:
        trace_id: 32 hexadecimal digits.
        span_id: 16 hexadecimal digits.
        parent_span_id: the span above it in its trace; empty for a root.
        name: the span's name.
        kind: internal, server, client, producer or consumer; empty when it does not say.
        service: `service.name` of the process that sent it.
        start: nanoseconds since 1970.
        end: nanoseconds since 1970.
        attributes: what it carries.
        checks: the attributes of its `delta.check` events, in order.
    """

    trace_id: str
    span_id: str
    parent_span_id: str = ""
    name: str = ""
    kind: str = ""
    service: str = ""
    start: int = 0
    end: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    checks: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)

    @property
    def id(self) -> SpanId:
        """What names it anywhere."""
        return SpanId(self.trace_id, self.span_id)

    @property
    def tag(self) -> str | None:
        """The causal tag that it carries, when it is a valid one."""
        return self.tag_at(semconv.CAUSAL_TAG_ID)

    @property
    def is_action(self) -> bool:
        """Whether it is a run's own span, and not one that was stamped with the run's tag."""
        return semconv.ACTION_NAME in self.attributes and self.tag is not None

    def tag_at(self, attribute: str) -> str | None:
        """Return the causal tag in one attribute; None when there is none, or no valid one."""
        value = self.attributes.get(attribute)
        return value if isinstance(value, str) and is_tag(value) else None

    def to_dict(self) -> dict[str, Any]:
        """Return what says which span it is, as plain JSON values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "service": self.service,
            "start_unix_nano": self.start,
            "duration_ms": max(0, self.end - self.start) / 1e6,
            "trace_id": self.trace_id,
            "span_id": self.span_id,
        }


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one action, put together from its spans.

    A verdict that came later, and each half of a window that was handed over, have spans of their own under
    the same tag: they are one run.

    Attributes:
        tag: its causal tag.
        parent: the tag of the run that caused it, in the tree or not; None for an outermost one.
        root: the tag of the outermost run that it belongs to.
        action: the action's name.
        attempt: which run of this action below its parent it is, from 1.
        outcome: its verdict; None when no span has one.
        failed: the metrics whose checks failed.
        service: `service.name` of the process that it began in.
        start: nanoseconds since 1970, of its first span.
        duration: seconds, from the start of its first span to the end of its last.
        trace_id: the trace of its first span.
        span_id: its first span.
        depth: how many runs of the tree are above it.
        children: the tags of the runs that it caused, in order of their starts.
        spans: its own spans, in order of their starts.
        effects: the other spans that carry its tag, in order of their starts.
        claim: what it says of itself, `success` or `failure`; None when it says nothing.
        checks: what its checks came to, in order.
        enclosing: spans above its first one that are no run's, outermost first: of an outermost run all, of
            another those of agents (`gen_ai.operation.name`) below the run that caused it.
    """

    tag: str
    parent: str | None
    root: str
    action: str
    attempt: int
    outcome: Outcome | None
    failed: tuple[str, ...]
    service: str
    start: int
    duration: float
    trace_id: str
    span_id: str
    depth: int
    children: tuple[str, ...]
    spans: tuple[SpanId, ...]
    effects: tuple[Span, ...]
    claim: Claim | None
    checks: tuple[CheckVerdict, ...]
    enclosing: tuple[Span, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON values."""
        return {
            "tag": self.tag,
            "parent": self.parent,
            "root": self.root,
            "depth": self.depth,
            "action": self.action,
            "attempt": self.attempt,
            "outcome": self.outcome,
            "claim": self.claim,
            "failed": list(self.failed),
            "service": self.service,
            "start_unix_nano": self.start,
            "duration_ms": self.duration * 1000,
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "children": list(self.children),
            "checks": [check.to_dict() for check in self.checks],
            "effects": [effect.to_dict() for effect in self.effects],
            "enclosing": [span.to_dict() for span in self.enclosing],
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that keeps a tree from being the whole truth.

    Attributes:
        kind: what it is.
        tag: the run that it is about; None when it is about none.
        others: the other tags that it is about.
        spans: the spans that show it.
        explanation: the same, as a sentence.
    """

    kind: FindingKind
    tag: str | None
    others: tuple[str, ...]
    spans: tuple[SpanId, ...]
    explanation: str

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON values."""
        return {
            "kind": self.kind,
            "tag": self.tag,
            "others": list(self.others),
            "spans": [span._asdict() for span in self.spans],
            "explanation": self.explanation,
        }


class Summary(NamedTuple):
    """How many runs and checks of a tree came to what; `str()` says it in one line.

    Attributes:
        actions: how many runs have each outcome, worst first; `no verdict` stands for those without one.
        checks: how many checks have each outcome, likewise.
        findings: how many findings there are.
    """

    actions: Mapping[str, int]
    checks: Mapping[str, int]
    findings: int

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON values."""
        return {"actions": dict(self.actions), "checks": dict(self.checks), "findings": self.findings}

    def __str__(self) -> str:
        return "; ".join(
            [
                _counted("action", self.actions),
                _counted("check", self.checks),
                _number(self.findings, "finding"),
            ]
        )


def _counted(what: str, outcomes: Mapping[str, int]) -> str:
    each = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    return f"{_number(sum(outcomes.values()), what)}{each and ': '}{each}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _tally(outcomes: Iterable[Outcome | None]) -> dict[str, int]:
    counted = Counter(outcomes)
    return {outcome or _NO_VERDICT: counted[outcome] for outcome in (*WORST_FIRST, None) if counted[outcome]}


@dataclass(frozen=True, slots=True)
class CausalTree:
    """Who caused what. It iterates over its runs, each after the one that caused it.

    `str()` draws it: ✓ a run that passed, ✗ one that failed, ? one without a verdict, · one that claims
    nothing, ○ a span above runs that is none. Below a run stands why each check is not a `pass`.

    Attributes:
        runs: every run, each followed by what it caused.
        findings: what keeps it from being the whole truth, by kind, then in order of starts.
    """

    runs: tuple[Run, ...]
    findings: tuple[Finding, ...]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __str__(self) -> str:
        return draw(self.runs, self.findings)

    @property
    def roots(self) -> tuple[Run, ...]:
        """The runs that no run of the tree caused."""
        return tuple(run for run in self.runs if run.depth == 0)

    @property
    def unproven(self) -> tuple[Run, ...]:
        """The runs that failed, are inconclusive or have no verdict."""
        return tuple(run for run in self.runs if run.outcome not in _UNHURT)

    @property
    def summary(self) -> Summary:
        """How many runs and checks came to what, and how many findings there are."""
        return Summary(
            _tally(run.outcome for run in self.runs),
            _tally(check.outcome for run in self.runs for check in run.checks),
            len(self.findings),
        )

    def found(self, *kinds: FindingKind) -> tuple[Finding, ...]:
        """Return the findings of some kinds."""
        return tuple(finding for finding in self.findings if finding.kind in kinds)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON values; runs stand in a row, however deep the tree is."""
        return {
            "runs": [run.to_dict() for run in self.runs],
            "findings": [finding.to_dict() for finding in self.findings],
            "summary": self.summary.to_dict(),
        }
