"""Build the causal tree from spans: distinct spans, runs, parents, order, findings.

The result does not depend on the order of the spans, or on how often each occurs. The structure comes from
tags and span ids alone. Clocks differ between machines, so they decide only the order of siblings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from deltaspan import semconv
from deltaspan.tree._findings import findings_of
from deltaspan.tree._forest import Lineage
from deltaspan.tree._merge import MergedRun, merge, verdict_of
from deltaspan.tree._model import CausalTree, Finding, Run, Span, SpanId

_MAX_ENCLOSING: Final = 40
"""The most spans above one run that are looked up. Without a limit the tree could grow with its square."""


def causal_tree(spans: Iterable[Span], *, root: str | None = None) -> CausalTree:
    """Build the causal tree from the spans of any number of processes.

    Args:
        spans: in any order, with or without repetitions. Spans without a tag show what is missing. Of two
            spans with one id, the one that ended later and has more attributes counts. Of two verdicts, the
            worse counts.
        root: the causal tag of an outermost run. Only the runs that belong to it are returned.

    Example:
        >>> from deltaspan.tree import Span, causal_tree
        >>> tag = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
        >>> named = {"deltaspan.action.name": "load", "deltaspan.action.outcome": "pass"}
        >>> named["deltaspan.causal_tag.id"] = tag
        >>> print(causal_tree([Span("1" * 32, "2" * 16, end=1_500_000, attributes=named)]))
        ✓ load pass, 1.5 ms, 3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f
    """
    distinct, dissenting = _distinct(spans)
    of_runs: dict[str, list[Span]] = {}
    effects: dict[str, list[Span]] = {}
    for span in sorted((*distinct.values(), *dissenting), key=_place):
        if span.tag is not None:
            (of_runs if span.is_action else effects).setdefault(span.tag, []).append(span)
    runs = {tag: merge(tag, own, effects.get(tag, ())) for tag, own in of_runs.items()}
    lineage = Lineage(runs)
    rows = _rows(runs, lineage, distinct)
    findings = findings_of(distinct, runs, effects, lineage)
    return CausalTree(rows, findings) if root is None else _tree_of(root, rows, findings, effects)


def _distinct(spans: Iterable[Span]) -> tuple[dict[SpanId, Span], list[Span]]:
    """Return each span once, by start, and the copies that contradict it.

    A verdict is not lost because a later copy of its span has another one.
    """
    distinct: dict[SpanId, Span] = {}
    copies: dict[SpanId, list[Span]] = {}
    for span in spans:
        other = distinct.setdefault(span.id, span)
        if other is not span and other != span:
            copies.setdefault(span.id, [other]).append(span)
    dissenting: list[Span] = []
    for at, several in copies.items():
        several.sort(key=_content)
        distinct[at] = chosen = several[-1]
        claims = {(span.tag, verdict_of(span)): span for span in several if span.is_action}
        if chosen.is_action:
            claims.pop((chosen.tag, verdict_of(chosen)))
            claims.pop((chosen.tag, None), None)
        dissenting += claims.values()
    return {span.id: span for span in sorted(distinct.values(), key=_place)}, dissenting


def _place(span: Span) -> tuple[int, SpanId]:
    return span.start, span.id


def _content(span: Span) -> tuple[int, int, str]:
    attributes = sorted((str(name), repr(value)) for name, value in span.attributes.items())
    return span.end, len(attributes), repr((replace(span, attributes={}), attributes))


def _rows(runs: Mapping[str, MergedRun], lineage: Lineage, spans: Mapping[SpanId, Span]) -> tuple[Run, ...]:
    """Return every run, each followed by its descendants, siblings by start."""
    rows: list[Run] = []
    roots: dict[str, str] = {}
    for tag in lineage.order:
        run, depth = runs[tag], lineage.depth[tag]
        above = lineage.parent[tag]
        roots[tag] = run.root or (roots[above] if above else run.parent or tag)
        enclosing = _enclosing(run, above, spans)
        rows.append(run.as_run(roots[tag], depth, tuple(lineage.children[tag]), enclosing))
    return tuple(rows)


def _enclosing(run: MergedRun, above: str | None, spans: Mapping[SpanId, Span]) -> tuple[Span, ...]:
    """Return the spans above a run that belong to no run, outermost first.

    Args:
        run: the run.
        above: the tag of the run above it in the tree, or None.
        spans: all spans, by id.
    """
    enclosing: dict[SpanId, Span] = {}
    at, upper = run.spans[0], None
    while len(enclosing) < _MAX_ENCLOSING:
        upper = spans.get(SpanId(at.trace_id, at.parent_span_id))
        if upper is None or upper.is_action or upper.id in enclosing:
            break
        enclosing[upper.id] = at = upper
    chain = reversed(enclosing.values())
    if above is None and (upper is None or not upper.is_action):
        return tuple(chain)
    # The spans between two runs are those of the request from one to the other. Only agents are of interest.
    return tuple(span for span in chain if semconv.GEN_AI_OPERATION_NAME in span.attributes)


def _tree_of(
    root: str, rows: Sequence[Run], findings: Sequence[Finding], effects: Mapping[str, Sequence[Span]]
) -> CausalTree:
    """Return the tree of one root: its runs, their descendants and their findings."""
    kept: list[Run] = []
    depths: dict[str, int] = {}
    for run in rows:
        above = depths.get(run.parent or "") if run.depth else None
        if above is not None or run.root == root:
            depths[run.tag] = depth = 0 if above is None else above + 1
            kept.append(replace(run, depth=depth))
    effect_tags = {
        tag
        for tag, spans in effects.items()
        if any(span.tag_at(semconv.CAUSAL_TAG_ROOT_ID) == root for span in spans)
    }
    tags = depths.keys() | effect_tags | {root}
    return CausalTree(tuple(kept), tuple(finding for finding in findings if finding.tag in tags))
