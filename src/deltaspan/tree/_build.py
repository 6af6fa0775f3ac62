"""From spans to the tree: distinct spans, runs, parents, an order, and what is wrong with it.

Nothing here depends on the order in which spans come, or on how often each does. Structure comes from tags
and span ids alone; clocks, which differ between machines, decide only in which order siblings stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from deltaspan import semconv
from deltaspan.tree._findings import findings_of
from deltaspan.tree._forest import Lineage
from deltaspan.tree._merge import Merged, merged, verdict_of
from deltaspan.tree._model import CausalTree, Finding, Run, Span, SpanId

__all__ = ["causal_tree"]

_MOST_ENCLOSING: Final = 40
"""More spans above one run are not looked for: where each run has as many, their number would multiply."""


def causal_tree(spans: Iterable[Span], *, root: str | None = None) -> CausalTree:
    """Rebuild who caused what from the spans of any number of processes.

    Args:
        spans: in any order, any of them any number of times; also those that carry no tag, which show what is
            missing. Of two that have one id, the one that ended later and says more counts; but of two
            verdicts the worse, and each tag.
        root: the causal tag of an outermost run: only what belongs to it is returned.

    Example:
        >>> from deltaspan.tree import Span, causal_tree
        >>> tag = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
        >>> named = {"delta.action.name": "load", "delta.causal_tag.id": tag, "delta.action.outcome": "pass"}
        >>> print(causal_tree([Span("1" * 32, "2" * 16, end=1_500_000, attributes=named)]))
        ✓ load pass, 1.5 ms, 3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f
    """
    distinct, dissenting = _distinct(spans)
    of_runs: dict[str, list[Span]] = {}
    effects: dict[str, list[Span]] = {}
    for span in sorted((*distinct.values(), *dissenting), key=_place):
        if span.tag is not None:
            (of_runs if span.is_action else effects).setdefault(span.tag, []).append(span)
    runs = {tag: merged(tag, own, effects.get(tag, ())) for tag, own in of_runs.items()}
    lineage = Lineage(runs)
    rows = _rows(runs, lineage, distinct)
    findings = findings_of(distinct, runs, effects, lineage)
    return CausalTree(rows, findings) if root is None else _of_one(root, rows, findings, effects)


def _distinct(spans: Iterable[Span]) -> tuple[dict[SpanId, Span], list[Span]]:
    """Return each span once, in order of their starts, and copies that say what the chosen one does not.

    A verdict is not lost because a copy of its span, whoever sent that, ended later.
    """
    found: dict[SpanId, Span] = {}
    copies: dict[SpanId, list[Span]] = {}
    for span in spans:
        other = found.setdefault(span.id, span)
        if other is not span and other != span:
            copies.setdefault(span.id, [other]).append(span)
    dissenting: list[Span] = []
    for at, several in copies.items():
        several.sort(key=_said)
        found[at] = chosen = several[-1]
        claims = {(span.tag, verdict_of(span)): span for span in several if span.is_action}
        if chosen.is_action:
            claims.pop((chosen.tag, verdict_of(chosen)))
            claims.pop((chosen.tag, None), None)
        dissenting += claims.values()
    return {span.id: span for span in sorted(found.values(), key=_place)}, dissenting


def _place(span: Span) -> tuple[int, SpanId]:
    return span.start, span.id


def _said(span: Span) -> tuple[int, int, str]:
    attributes = sorted((str(name), repr(value)) for name, value in span.attributes.items())
    return span.end, len(attributes), repr((replace(span, attributes={}), attributes))


def _rows(runs: Mapping[str, Merged], lineage: Lineage, spans: Mapping[SpanId, Span]) -> tuple[Run, ...]:
    """Return every run, each followed by what it caused, siblings in order of their starts."""
    rows: list[Run] = []
    roots: dict[str, str] = {}
    for tag in lineage.order:
        run, depth = runs[tag], lineage.depth[tag]
        above = lineage.parent[tag]
        roots[tag] = run.root or (roots[above] if above else run.parent or tag)
        enclosing = _enclosing(run, above, spans)
        rows.append(run.as_run(roots[tag], depth, tuple(lineage.children[tag]), enclosing))
    return tuple(rows)


def _enclosing(run: Merged, above: str | None, spans: Mapping[SpanId, Span]) -> tuple[Span, ...]:
    """Return the spans above a run that are no run's, outermost first.

    Args:
        run: the run.
        above: the tag of the run above it in the tree, or None.
        spans: all there are, by what names them.
    """
    found: dict[SpanId, Span] = {}
    at, upper = run.spans[0], None
    while len(found) < _MOST_ENCLOSING:
        upper = spans.get(SpanId(at.trace_id, at.parent_span_id))
        if upper is None or upper.is_action or upper.id in found:
            break
        found[upper.id] = at = upper
    chain = reversed(found.values())
    if above is None and (upper is None or not upper.is_action):
        return tuple(chain)
    # Between two runs stands whatever carried a request from one to the other. Only agents are of interest.
    return tuple(span for span in chain if semconv.GEN_AI_OPERATION_NAME in span.attributes)


def _of_one(
    root: str, rows: Sequence[Run], findings: Sequence[Finding], effects: Mapping[str, Sequence[Span]]
) -> CausalTree:
    """Return the runs that say they belong to a root, with whatever these caused, and their findings."""
    kept: list[Run] = []
    depths: dict[str, int] = {}
    for run in rows:
        above = depths.get(run.parent or "") if run.depth else None
        if above is not None or run.root == root:
            depths[run.tag] = depth = 0 if above is None else above + 1
            kept.append(replace(run, depth=depth))
    of_it = {
        tag
        for tag, spans in effects.items()
        if any(span.tag_at(semconv.CAUSAL_TAG_ROOT_ID) == root for span in spans)
    }
    mine = depths.keys() | of_it | {root}
    return CausalTree(tuple(kept), tuple(finding for finding in findings if finding.tag in mine))
