"""What rests on rows that nobody signed is no verdict, and a tag is a tag however it is written."""

from __future__ import annotations

from uuid import UUID

import pytest

from deltaspan import change, current_causal_tag, tagged, window

WAYS = {
    "as it is": str,
    "in upper case": str.upper,
    "without hyphens": lambda tag: UUID(tag).hex,
    "in braces": lambda tag: f"{{{tag}}}",
    "as a urn": lambda tag: UUID(tag).urn,
    "padded": lambda tag: f"{tag}   ",
    "as an object": UUID,
    "as bytes": lambda tag: UUID(tag).bytes,
}


@pytest.fixture
def rows():
    return [{"id": 1, "tag": None}]


@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
def test_a_tag_is_known_however_it_is_written(rows, write):
    with window("load", change("rows", tagged(lambda: rows, key="id", tag="tag")).by(1)) as opened:
        rows.append({"id": 2, "tag": write(current_causal_tag())})

    assert opened.report.outcome == "pass"


@pytest.mark.parametrize(
    "expect",
    [
        lambda check: check.by(0),
        lambda check: check.by_at_most(0),
        lambda check: check.by_between(0, 1),
        lambda check: check.by_at_least(0),
    ],
    ids=["by", "by_at_most", "by_between", "by_at_least"],
)
def test_that_nothing_came_is_no_verdict_where_something_came_unsigned(rows, expect):
    with window("load", expect(change("rows", tagged(lambda: rows, key="id", tag="tag")))) as opened:
        rows.append({"id": 2, "tag": None})

    assert opened.report["rows"].reason == "contended"
