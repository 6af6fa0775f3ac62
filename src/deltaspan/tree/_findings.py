"""Find faults of a causal tree: one function a kind, each with its sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from deltaspan import semconv
from deltaspan.tree._forest import Lineage, nearest_above
from deltaspan.tree._merge import MergedRun
from deltaspan.tree._model import Finding, Span, SpanId, printable

_TAGS: Final = (semconv.CAUSAL_TAG_ID, semconv.CAUSAL_TAG_PARENT_ID, semconv.CAUSAL_TAG_ROOT_ID)
_CROSSING: Final = frozenset({"client", "server", "producer", "consumer"})
_OUTSIDE: Final = ("db.system", "db.system.name", "messaging.system", "rpc.system", "rpc.system.name")
_MAX_NAMES: Final = 3


def findings_of(
    spans: Mapping[SpanId, Span],
    runs: Mapping[str, MergedRun],
    effects: Mapping[str, Sequence[Span]],
    lineage: Lineage,
) -> tuple[Finding, ...]:
    """Return all findings by kind, then by start.

    Args:
        spans: all spans, in order of their starts.
        runs: the runs, by tag.
        effects: the spans that are stamped with a tag, by tag.
        lineage: the forest of the runs.
    """
    above = _runs_above(spans)
    in_order = sorted(runs.values(), key=lambda run: run.key)
    return (
        *_orphans(in_order, runs),
        *_unclaimed(runs, effects),
        *_parents(in_order),
        *_roots(in_order, runs, lineage),
        *_disagreeing(in_order, runs, spans, above, lineage),
        *_actions(in_order),
        *_copies(in_order),
        *_duplicates(in_order),
        *_cycles(runs, lineage),
        *_invalid(spans),
        *(_untagged(spans, runs, above) if effects else ()),
    )


def _runs_above(spans: Mapping[SpanId, Span]) -> dict[SpanId, SpanId | None]:
    """Find the closest span of a run or of a read above each span.

    What is below a read belongs to the verifier, and not to the run.
    """

    def above(at: SpanId) -> SpanId | None:
        upper = SpanId(at.trace_id, spans[at].parent_span_id)
        return upper if upper in spans else None

    return nearest_above(spans, above, lambda _, upper: spans[upper].is_action or spans[upper].is_read)


def _orphans(in_order: Iterable[MergedRun], runs: Mapping[str, MergedRun]) -> Iterator[Finding]:
    for run in in_order:
        if run.parent is not None and run.parent not in runs:
            yield _about(
                run,
                "orphan",
                f"{_name(run)} was caused by {run.parent}, which no action here has: it was not sampled, its "
                "spans are late, or they went elsewhere",
                run.parent,
            )


def _unclaimed(runs: Mapping[str, MergedRun], effects: Mapping[str, Sequence[Span]]) -> Iterator[Finding]:
    for tag, spans in effects.items():
        if tag not in runs:
            yield Finding(
                "unclaimed_effects",
                tag,
                (),
                tuple(span.id for span in spans),
                f"{_count(spans)} the tag {tag}, which no action here has: {_names(spans)}",
            )


def _parents(in_order: Iterable[MergedRun]) -> Iterator[Finding]:
    for run in in_order:
        if len(run.parents) > 1:
            sentence = f"{_name(run)} has {len(run.parents)} parents, of which the first counts"
            yield _about(run, "parent_conflict", f"{sentence}: {', '.join(run.parents)}", *run.parents)


def _roots(
    in_order: Iterable[MergedRun], runs: Mapping[str, MergedRun], lineage: Lineage
) -> Iterator[Finding]:
    for run in in_order:
        if len(run.roots) > 1:
            sentence = f"{_name(run)} has {len(run.roots)} roots, of which the first counts"
            yield _about(run, "root_conflict", f"{sentence}: {', '.join(run.roots)}", *run.roots)
            continue
        above = lineage.parent[run.tag]
        if run.root is None or (above is None and run.parent is not None):
            continue  # it has no root, or the run above it is missing
        expected = run.tag if above is None else runs[above].root
        if expected is not None and run.root != expected:
            conflict = "it has no parent" if above is None else f"its parent belongs to {expected}"
            yield _about(
                run, "root_conflict", f"{_name(run)} says its root is {run.root}, but {conflict}", run.root
            )


def _disagreeing(
    in_order: Iterable[MergedRun],
    runs: Mapping[str, MergedRun],
    spans: Mapping[SpanId, Span],
    above: Mapping[SpanId, SpanId | None],
    lineage: Lineage,
) -> Iterator[Finding]:
    others = nearest_above(
        [span.id for run in in_order for span in run.spans],
        above.__getitem__,
        lambda at, upper: spans[at].tag != spans[upper].tag,
    )
    for run in in_order:
        if run.parent is not None and run.parent not in runs:
            continue  # an orphan: its parent is missing
        seen: dict[str, SpanId] = {}
        for span in run.spans:
            upper = others[span.id]
            tag = spans[upper].tag if upper is not None else None
            # The span may be further up, because the run between has no span or its tag was adopted by hand.
            if tag is not None and (run.parent is None or not lineage.is_within(run.parent, tag)):
                seen.setdefault(tag, span.id)
        for tag, where in seen.items():
            claimed = (
                "has no parent: its baggage did not get through"
                if run.parent is None
                else f"its parent is {run.parent}"
            )
            sentence = f"{_name(run)} is below the span of {_name(runs[tag])}, but {claimed}"
            yield Finding("span_conflict", run.tag, (tag,), (where,), sentence)


def _actions(in_order: Iterable[MergedRun]) -> Iterator[Finding]:
    for run in in_order:
        if len(run.actions) > 1:
            names = ", ".join(printable(name) for name in run.actions)
            yield _about(run, "action_conflict", f"one tag, {len(run.actions)} actions: {names} ({run.tag})")


def _copies(in_order: Iterable[MergedRun]) -> Iterator[Finding]:
    tags: dict[SpanId, list[str]] = {}
    for run in in_order:
        verdicts: dict[SpanId, list[str]] = {}
        for span in run.verdicts:
            verdicts.setdefault(span.id, []).append(span.attributes[semconv.ACTION_OUTCOME])
        for at, outcomes in verdicts.items():
            if len(outcomes) > 1:
                sentence = (
                    f"{_name(run)} has one span with {len(outcomes)} verdicts, of which the worst counts"
                )
                yield Finding("copy_conflict", run.tag, (), (at,), f"{sentence}: {', '.join(outcomes)}")
        for at in dict.fromkeys(span.id for span in run.spans):
            tags.setdefault(at, []).append(run.tag)
    for at, several in tags.items():
        if len(several) > 1:
            sentence = f"span {at.span_id} of trace {at.trace_id} carries {len(several)} tags, a run each"
            for tag in several:
                others = tuple(other for other in several if other != tag)
                yield Finding("copy_conflict", tag, others, (at,), f"{sentence}: {', '.join(several)}")


def _duplicates(in_order: Iterable[MergedRun]) -> Iterator[Finding]:
    for run in in_order:
        verdicts = {span.id: span for span in run.verdicts}
        if len(verdicts) > 1:
            outcomes = ", ".join(span.attributes[semconv.ACTION_OUTCOME] for span in run.verdicts)
            yield Finding(
                "duplicate",
                run.tag,
                (),
                tuple(verdicts),
                f"{_name(run)} has {len(run.verdicts)} verdicts, of which the worst counts: {outcomes}",
            )


def _cycles(runs: Mapping[str, MergedRun], lineage: Lineage) -> Iterator[Finding]:
    for cycle in lineage.cycles:
        names = " → ".join(printable(runs[tag].actions[0]) for tag in (*cycle, cycle[0]))
        yield _about(runs[cycle[0]], "cycle", f"runs cause each other: {names} ({cycle[0]})", *cycle[1:])


def _invalid(spans: Mapping[SpanId, Span]) -> Iterator[Finding]:
    for attribute in _TAGS:
        invalid = [
            span for span in spans.values() if attribute in span.attributes and span.tag_at(attribute) is None
        ]
        if invalid:
            example = printable(invalid[0].attributes[attribute])
            yield Finding(
                "invalid_tag",
                None,
                (),
                tuple(span.id for span in invalid),
                f"{_count(invalid)} a {attribute} that is not the canonical text of a UUID: {example}, "
                f"on {_names(invalid)}",
            )


def _untagged(
    spans: Mapping[SpanId, Span], runs: Mapping[str, MergedRun], above: Mapping[SpanId, SpanId | None]
) -> Iterator[Finding]:
    untagged: dict[tuple[str, str], list[Span]] = {}
    for span in spans.values():
        upper = above[span.id]
        if upper is None or semconv.CAUSAL_TAG_ID in span.attributes or not _reaches_out(span):
            continue
        tag = spans[upper].tag
        if tag is not None:
            untagged.setdefault((tag, span.service), []).append(span)
    for (tag, service), missed in untagged.items():
        where = f" in {printable(service)}" if service else ""
        sentence = f"{_count(missed)} no causal tag{where}, below {_name(runs[tag])}: {_names(missed)}"
        yield Finding("untagged_effects", tag, (), tuple(span.id for span in missed), sentence)


def _reaches_out(span: Span) -> bool:
    return span.kind in _CROSSING or any(name in span.attributes for name in _OUTSIDE)


def _about(run: MergedRun, kind: Any, explanation: str, *others: str) -> Finding:
    return Finding(kind, run.tag, others, tuple(span.id for span in run.spans), explanation)


def _name(run: MergedRun) -> str:
    return f"{printable(run.actions[0])} ({run.tag})"


def _count(spans: Sequence[Span]) -> str:
    return "1 span carries" if len(spans) == 1 else f"{len(spans)} spans carry"


def _names(spans: Sequence[Span]) -> str:
    names = list(dict.fromkeys(printable(span.name) for span in spans))
    return ", ".join(names[:_MAX_NAMES]) + (
        f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    )
