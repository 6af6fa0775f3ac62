"""The wrapper that `tagged` makes is a probe like the one it wraps: its needs, sync or async, blocking."""

import asyncio
import inspect
import pickle
import threading
from functools import partial

import pytest

from deltaspan import change, collect_reports, current_causal_tag, expects, probe, tagged, window
from deltaspan.exceptions import DefinitionTypeError


def list_rows():
    return []


def test_it_needs_what_the_probe_needs():
    def list_orders(tenant, /, status="new", *, causal_tag=None):
        return []

    assert str(inspect.signature(tagged(list_orders, key="id", tag="tag"))) == (
        "(tenant, /, status='new', *, causal_tag=None)"
    )


def test_what_the_probe_names_scopes_it_and_is_passed_on():
    seen = []

    def list_orders(tenant, causal_tag):
        seen.append((tenant, causal_tag))
        return []

    @expects(change("rows", tagged(list_orders, key="id", tag="tag")).by(0))
    def act(tenant):
        return current_causal_tag()

    assert seen == []
    tag = act("acme")
    assert seen == [("acme", tag)] * 2


def test_a_name_that_the_action_has_not_is_refused_at_decoration():
    def list_orders(tenent):
        return []

    with pytest.raises(DefinitionTypeError, match="needs 'tenent', which does not exist; did you mean"):
        expects(change("rows", tagged(list_orders, key="id", tag="tag")))(lambda tenant: None)


async def test_an_async_probe_is_awaited():
    rows = []

    async def list_orders():
        await asyncio.sleep(0)
        return list(rows)

    by_tag = tagged(list_orders, key="id", tag="tag")

    @expects(change("rows", by_tag).by(1))
    async def act():
        rows.append({"id": 1, "tag": current_causal_tag()})

    with collect_reports() as reports:
        await act()
    assert inspect.iscoroutinefunction(type(by_tag).__call__)
    assert reports[0].passed


async def test_a_probe_that_returns_an_awaitable_is_awaited_in_an_async_action():
    async def fetch():
        return [{"id": 1, "tag": None}]

    by_tag = tagged(lambda: fetch(), key="id", tag="tag")  # not async itself
    async with window("w", change("rows", by_tag).by(0)) as w:
        pass

    assert w.report["rows"].pre_state == {1: None}


def test_an_async_probe_is_refused_on_a_sync_action():
    async def list_orders():
        return []

    with pytest.raises(DefinitionTypeError, match="async"):
        expects(change("rows", tagged(list_orders, key="id", tag="tag")))(lambda: None)


@pytest.mark.parametrize("wrap", [lambda function: function, partial])
async def test_a_blocking_probe_is_read_in_another_thread(wrap):
    threads = []

    @probe(blocking=True)
    def list_orders():
        threads.append(threading.current_thread())
        return []

    async with window("w", change("rows", tagged(wrap(list_orders), key="id", tag="tag")).by(0)) as w:
        pass

    assert w.report["rows"].passed
    assert threading.main_thread() not in threads


def test_a_probe_can_be_made_blocking_after_it_was_wrapped():
    by_tag = tagged(list_rows, key="id", tag="tag")

    assert probe(blocking=True)(by_tag) is by_tag


def test_the_check_reads_as_it_was_written():
    check = change("rows", tagged(list_rows, key="id", tag=1, root=as_root)).by(1)

    assert repr(check) == "change('rows', tagged(list_rows, key='id', tag=1, root=as_root)).by(1)"


def as_root(row):
    return row["root"]


def test_it_pickles_where_the_probe_does():
    assert pickle.loads(pickle.dumps(tagged(list_rows, key="id", tag="tag")))() == {}  # noqa: S301  # our own


@pytest.mark.parametrize(
    ("wrong", "shown"), [(None, "None"), (1.5, "1.5"), (True, "True"), (["id"], "['id']")]
)
@pytest.mark.parametrize("name", ["key", "tag"])
def test_a_field_of_another_kind_is_refused(name, wrong, shown):
    fields = {"key": "id", "tag": "tag", name: wrong}

    with pytest.raises(DefinitionTypeError) as refused:
        tagged(list_rows, **fields)

    assert str(refused.value) == (
        f"tagged({name}=...) takes the name of an item or attribute, a position, or a callable that reads it "
        f"from a row, not {shown}"
    )


def test_a_probe_that_is_called_already_is_refused():
    with pytest.raises(DefinitionTypeError) as refused:
        tagged([1, 2], key="id", tag="tag")

    assert str(refused.value) == (
        "tagged() wraps a probe, which must be callable, not [1, 2]; pass the function, not its result"
    )
