"""Short constructors of spans for the tests of the tree."""

from __future__ import annotations

from uuid import UUID

from deltaspan.tree import Span

TRACE = "a" * 32


def tag(number):
    return str(UUID(int=number + 1))


def span_id(number):
    return f"{number + 1:016x}"


def action(
    number, above=None, *, span=None, under="", name=None, outcome="pass", root=None, trace=TRACE, **more
):
    """Return the span of run `number`, caused by run `above`."""
    start = more.pop("start", number)
    attributes = {"deltaspan.action.name": name or f"action{number}", "deltaspan.causal_tag.id": tag(number)}
    if root is not None:
        attributes["deltaspan.causal_tag.root_id"] = root if isinstance(root, str) else tag(root)
    if above is not None:
        attributes["deltaspan.causal_tag.parent_id"] = above if isinstance(above, str) else tag(above)
    if outcome is not None:
        attributes["deltaspan.action.outcome"] = outcome
    return Span(
        trace,
        span_id(number if span is None else span),
        under if isinstance(under, str) else span_id(under),
        f"execute_tool action{number}",
        "internal",
        more.pop("service", "shop"),
        start,
        more.pop("end", start + 1),
        attributes | more,
    )


def other(span, of=None, *, under="", name="GET", kind="client", trace=TRACE, service="shop", **more):
    """Return a span that is no action's, stamped with the tag of run `of`."""
    attributes = {} if of is None else {"deltaspan.causal_tag.id": of if isinstance(of, str) else tag(of)}
    return Span(
        trace,
        span_id(span),
        under if isinstance(under, str) else span_id(under),
        name,
        kind,
        service,
        span,
        span + 1,
        attributes | more,
    )


def shape(tree):
    """Return each run's number and depth, in order."""
    return [(UUID(run.tag).int - 1, run.depth) for run in tree]
