"""The parts of a causal tree: spans, runs, findings, and their drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from deltaspan import semconv
from deltaspan.causal_tag import is_tag
from deltaspan.tree._checks import WORST_FIRST, CheckVerdict
from deltaspan.typing import Claim, Outcome

if TYPE_CHECKING:
    from deltaspan.tree._checks import CheckVerdict

_SIGNS: Final = {"pass": "✓", "fail": "✗", "observed": "·", "skipped": "·"}
_ENCLOSING: Final = "○"
_DEEPEST: Final = 40
"""Deeper runs are drawn at this depth with their own as text. The indents of a chain grow with its square."""
_LONGEST: Final = 80
_LONGEST_EXPLANATION: Final = 400
_MAX_EFFECTS: Final = 6
_MAX_CHECKS: Final = 16

Key: TypeAlias = "str | SpanId"
"""The key of a node: a run's tag, or an enclosing span's id."""


class _Row(NamedTuple):
    """One node at its depth, with its details and whether it has children."""

    depth: int
    text: str
    details: Sequence[str]
    has_children: bool


def draw(runs: Sequence[Run], findings: Sequence[Finding]) -> str:
    """Draw runs, each followed by its descendants, then the findings."""
    lines: list[str] = []
    indents: list[str] = []
    rows = list(_rows(runs))
    for row, is_last in zip(rows, _are_last([row.depth for row in rows]), strict=True):
        depth = min(row.depth, _DEEPEST)
        branch = "" if depth == 0 else "└─ " if is_last else "├─ "
        del indents[depth:]
        if depth == len(indents):
            indents.append("" if depth == 0 else "   " if is_last else "│  ")
        before = "".join(indents[:depth])
        deeper = f"[depth {row.depth}] " if row.depth > _DEEPEST else ""
        lines.append(f"{before}{branch}{deeper}{row.text}")
        below = "".join(indents[: depth + 1]) + ("│  " if row.has_children and depth < _DEEPEST else "   ")
        lines += [f"{below}{detail}" for detail in row.details]
    if findings:
        lines += ["", *(f"! {finding.explanation}" for finding in findings)]
    return "\n".join(lines or ["no actions"])


def printable(text: object, longest: int = _LONGEST) -> str:
    """Return foreign text as one short line without control characters."""
    shown = str(text)
    if len(shown) > longest:
        shown = f"{shown[:longest]}…"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in shown)


def _rows(runs: Sequence[Run]) -> Iterator[_Row]:
    """Yield runs and enclosing spans, each followed by its descendants."""
    nodes: dict[Key, Run | Span] = {}
    below: dict[Key | None, list[Key]] = {}
    path: list[str] = []  # the runs above the current one
    for run in runs:
        del path[run.depth :]
        above: Key | None = path[-1] if path else None
        for span in run.enclosing:
            if span.id not in nodes:
                nodes[span.id] = span
                below.setdefault(above, []).append(span.id)
            above = span.id
        nodes[run.tag] = run
        below.setdefault(above, []).append(run.tag)
        path.append(run.tag)
    waiting = [(key, 0) for key in reversed(below.get(None, ()))]
    while waiting:
        key, depth = waiting.pop()
        node, children = nodes[key], below.get(key, ())
        waiting += [(child, depth + 1) for child in reversed(children)]
        text, details = (_line(node), _details(node)) if isinstance(key, str) else (_span(node), ())  # type: ignore[arg-type]
        yield _Row(depth, text, details, bool(children))


def _are_last(depths: Sequence[int]) -> list[bool]:
    """Return for each node whether it is the last child of its parent."""
    last = [True] * len(depths)
    following: list[int] = []  # at each depth, the number of nodes seen after the current one
    for place in range(len(depths) - 1, -1, -1):
        depth = depths[place]
        following += [0] * (depth + 1 - len(following))
        del following[depth + 1 :]
        last[place] = following[depth] == 0
        following[depth] += 1
    return last


def _line(run: Run) -> str:
    words = [_SIGNS.get(run.outcome or "", "?"), printable(run.action)]
    if run.attempt > 1:
        words.append(f"(attempt {run.attempt})")
    words.append(run.outcome or "no verdict")
    if run.failed:
        words[-1] += ": " + ", ".join(printable(metric) for metric in run.failed)
    if run.claim is not None:
        words.append(f"(claims {run.claim})")
    if run.service:
        words.append(f"in {printable(run.service)}")
    return f"{' '.join(words)}, {run.duration * 1000:.1f} ms, {run.tag}"


def _span(span: Span) -> str:
    service = f" in {printable(span.service)}" if span.service else ""
    name = printable(span.name) or "unnamed span"
    return f"{_ENCLOSING} {name}{service}, {max(0, span.end - span.start) / 1e6:.1f} ms"


def _details(run: Run) -> list[str]:
    unproven = [check for check in run.checks if check.outcome not in {"pass", None}]
    lines = [_explain(check) for check in unproven[:_MAX_CHECKS]]
    if len(unproven) > _MAX_CHECKS:
        lines.append(f"and {len(unproven) - _MAX_CHECKS} more checks that are not a pass")
    return [*lines, f"effects: {_effects(run.effects)}"] if run.effects else lines


def _explain(check: CheckVerdict) -> str:
    reason = "" if check.reason is None else f" ({printable(check.reason)})"
    return f"{check.outcome}{reason}: {printable(check.explanation or check.metric, _LONGEST_EXPLANATION)}"


def _effects(effects: Iterable[Span]) -> str:
    counted = Counter(
        printable(effect.name) + (f" ({effect.kind})" if effect.kind not in {"", "internal"} else "")
        for effect in effects
    )
    shown = [name if count == 1 else f"{name} x{count}" for name, count in counted.items()]
    rest = len(shown) - _MAX_EFFECTS
    return ", ".join(shown[:_MAX_EFFECTS]) + (f" and {rest} more" if rest > 0 else "")


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
"""The kinds of findings.

`orphan`: a run whose parent's tag no run has. `unclaimed_effects`: spans stamped with a tag that no run
has. `parent_conflict`, `root_conflict`, `action_conflict`: one tag with two parents, roots or actions.
`span_conflict`: a run whose span is below the span of another run than its parent. `copy_conflict`: copies
of one span with two verdicts or tags. `duplicate`: one tag with two verdicts. `cycle`: runs that cause each
other. `invalid_tag`: a tag that is not a UUID's canonical text. `untagged_effects`: spans below a run that
leave or enter a process without a tag, while others are stamped.
"""

_NO_VERDICT: Final = "no verdict"
_PROVEN: Final = frozenset({"pass", "observed", "skipped"})


class SpanId(NamedTuple):
    """The identity of a span across processes.

    Attributes:
        trace_id: 32 hexadecimal digits.
        span_id: 16 hexadecimal digits.
    """

    trace_id: str
    span_id: str


@dataclass(frozen=True, slots=True)
class Span:
    """One span of any process, with the fields that a causal tree needs.

    Attributes:
        trace_id: 32 hexadecimal digits.
        span_id: 16 hexadecimal digits.
        parent_span_id: the span above it in its trace. Empty for a root.
        name: the span's name.
        kind: internal, server, client, producer or consumer. Empty if unknown.
        service: `service.name` of the process that sent it.
        start: nanoseconds since 1970.
        end: nanoseconds since 1970.
        attributes: its attributes.
        checks: the attributes of its `deltaspan.check.result` events, in order.
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
        """The identity of the span across processes."""
        return SpanId(self.trace_id, self.span_id)

    @property
    def tag(self) -> str | None:
        """The causal tag of the span, or None if it has no valid one."""
        return self.tag_at(semconv.CAUSAL_TAG_ID)

    @property
    def is_action(self) -> bool:
        """True for a run's own span, False for one that is only stamped."""
        return semconv.ACTION_NAME in self.attributes and self.tag is not None

    @property
    def is_read(self) -> bool:
        """True for one read of a probe."""
        return (
            self.name.startswith(f"{semconv.SPAN_READ} ")
            and semconv.CHECK_METRIC in self.attributes
            and semconv.CAUSAL_TAG_ID not in self.attributes
        )

    def tag_at(self, attribute: str) -> str | None:
        """Return the causal tag in an attribute, or None if missing or invalid."""
        value = self.attributes.get(attribute)
        return value if isinstance(value, str) and is_tag(value) else None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that identify the span, as plain JSON values."""
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
    """One run of one action, merged from its spans.

    A deferred verdict has a span of its own with the same tag. So has each half of a window that was handed
    over.

    Attributes:
        tag: its causal tag.
        parent: the tag of the run that caused it, in the tree or not. None for an outermost run.
        root: the tag of the outermost run that it belongs to.
        action: the action's name.
        attempt: the number of this run among those of its action below its parent, from 1.
        outcome: its verdict, or None if no span has one.
        failed: the metrics whose checks failed.
        service: `service.name` of the process that it began in.
        start: nanoseconds since 1970, of its first span.
        duration: seconds, from the start of its first span to the end of its last.
        trace_id: the trace of its first span.
        span_id: its first span.
        depth: the number of runs above it in the tree.
        children: the tags of the runs that it caused, in order of their starts.
        spans: its own spans, in order of their starts.
        effects: the other spans that carry its tag, in order of their starts.
        claim: its own report, `success` or `failure`, or None.
        checks: the verdicts of its checks, in order.
        enclosing: the spans above its first one that belong to no run, outermost first. For an outermost run
            these are all, for another one those of agents (`gen_ai.operation.name`) below the run that caused
            it.
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
        """Return the fields as plain JSON values."""
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
    """A fault of a tree: something is missing or contradictory.

    Attributes:
        kind: the kind of fault.
        tag: the tag of the run with the fault, or None.
        others: the other tags that are involved.
        spans: the spans with the fault.
        explanation: one sentence.
    """

    kind: FindingKind
    tag: str | None
    others: tuple[str, ...]
    spans: tuple[SpanId, ...]
    explanation: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {
            "kind": self.kind,
            "tag": self.tag,
            "others": list(self.others),
            "spans": [span._asdict() for span in self.spans],
            "explanation": self.explanation,
        }


class Summary(NamedTuple):
    """The outcomes of a tree, counted. `str()` returns one line.

    Attributes:
        actions: the number of runs with each outcome, worst first. `no verdict` counts runs without one.
        checks: the number of checks with each outcome, worst first.
        findings: the number of findings.
    """

    actions: Mapping[str, int]
    checks: Mapping[str, int]
    findings: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {"actions": dict(self.actions), "checks": dict(self.checks), "findings": self.findings}

    def __str__(self) -> str:
        return "; ".join(
            [
                _format_counts("action", self.actions),
                _format_counts("check", self.checks),
                _with_noun(self.findings, "finding"),
            ]
        )


def _format_counts(noun: str, outcomes: Mapping[str, int]) -> str:
    each = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    return f"{_with_noun(sum(outcomes.values()), noun)}{each and ': '}{each}"


def _with_noun(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _tally(outcomes: Iterable[Outcome | None]) -> dict[str, int]:
    counted = Counter(outcomes)
    return {outcome or _NO_VERDICT: counted[outcome] for outcome in (*WORST_FIRST, None) if counted[outcome]}


@dataclass(frozen=True, slots=True)
class CausalTree:
    """The causal tree: runs, each after the run that caused it.

    Iteration yields the runs. `str()` draws the tree: ✓ is a run that passed, ✗ one that failed, ? one
    without a verdict, · one that claims nothing, ○ a span above runs that belongs to no run. Below a run is
    the explanation of each check that is not a `pass`.

    Attributes:
        runs: all runs, each followed by its descendants.
        findings: the faults of the tree, by kind, then by start.
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
        """The runs that were not caused by another run of the tree."""
        return tuple(run for run in self.runs if run.depth == 0)

    @property
    def unproven(self) -> tuple[Run, ...]:
        """The runs that failed, are inconclusive or have no verdict."""
        return tuple(run for run in self.runs if run.outcome not in _PROVEN)

    @property
    def summary(self) -> Summary:
        """The outcomes of runs and checks and the findings, counted."""
        return Summary(
            _tally(run.outcome for run in self.runs),
            _tally(check.outcome for run in self.runs for check in run.checks),
            len(self.findings),
        )

    def found(self, *kinds: FindingKind) -> tuple[Finding, ...]:
        """Return the findings of some kinds."""
        return tuple(finding for finding in self.findings if finding.kind in kinds)

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain JSON values, with the runs in a flat list."""
        return {
            "runs": [run.to_dict() for run in self.runs],
            "findings": [finding.to_dict() for finding in self.findings],
            "summary": self.summary.to_dict(),
        }
