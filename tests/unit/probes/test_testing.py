"""`deltaspan.testing`: the usual faults of a probe, each named before an action meets it."""

import itertools
import sqlite3

import pytest

from deltaspan import probe
from deltaspan.exceptions import DefinitionTypeError
from deltaspan.probes import files
from deltaspan.testing import check_probe, check_probe_async


def fault_of(a_probe, **arguments):
    with pytest.raises(AssertionError) as caught:
        check_probe(a_probe, **arguments)
    return str(caught.value)


def test_a_sound_probe_gives_its_state():
    assert check_probe(lambda: {"acme": [1, 2]}) == {"acme": [1, 2]}


def test_a_probe_receives_the_arguments_that_it_names():
    assert check_probe(lambda tenant, causal_tag: (tenant, causal_tag), tenant="acme", causal_tag="x") == (
        "acme",
        "x",
    )


def test_an_argument_that_is_missing_is_named():
    with pytest.raises(DefinitionTypeError) as caught:
        check_probe(lambda tenant: tenant, tenent="acme")

    assert str(caught.value) == (
        "the probe needs 'tenant': pass tenant=... to check it with; passed were tenent"
    )


async def test_all_that_are_missing_are_named_and_the_causal_tag_is_one_of_them():
    with pytest.raises(DefinitionTypeError) as caught:
        await check_probe_async(lambda tenant, causal_tag, size=1, *rest, **others: tenant)

    assert str(caught.value) == (
        "the probe needs 'tenant' and 'causal_tag': pass tenant=..., causal_tag=... to check it with"
    )


def test_a_field_of_a_ready_made_probe_is_an_argument_too(tmp_path):
    with pytest.raises(DefinitionTypeError, match=r"needs 'causal_tag': pass causal_tag=\.\.\. to check it"):
        check_probe(files.count(f"{tmp_path}/{{causal_tag}}"))


def test_an_exception_of_a_probe_is_a_fault():
    assert fault_of(lambda: {}["lost"]) == "the probe has a fault:\n- it raises KeyError: 'lost'"


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (lambda: iter([1]), "found an iterator (list_iterator): return list(rows) or a count instead"),
        (lambda: {"db": sqlite3}, "found a module"),
        (lambda: (n for n in [1]), "found an iterator (generator)"),
    ],
)
def test_a_state_that_cannot_be_frozen_is_a_fault(state, said):
    assert f"- its state cannot be compared: {said}" in fault_of(state)


@pytest.mark.parametrize("wrap", [lambda live: live, lambda live: {"rows": live}, lambda live: (1, [live])])
def test_a_live_object_is_a_fault_at_every_depth(wrap):
    live = [1, 2]

    assert "both reads return the same list, [1, 2]: it is live, or cached" in fault_of(lambda: wrap(live))


def test_one_immutable_object_is_not_a_fault():
    state = ("a", frozenset({1}))

    assert check_probe(lambda: state) is state


def test_two_reads_that_differ_are_a_fault():
    reads = itertools.count()

    assert "- two reads with nothing in between differ: the state changed by 1 (0 → 1)" in fault_of(
        lambda: next(reads)
    )


def test_every_fault_is_named():
    reads = itertools.count()
    live = []

    def read():
        if next(reads):
            raise OSError("gone")
        return {"live": live, "rows": iter(live)}

    assert fault_of(read).startswith("the probe has 2 faults:\n- its state cannot be compared")


def test_a_blocking_probe_is_read_in_another_thread():
    with sqlite3.connect(":memory:") as connection:
        read = probe(blocking=True)(lambda: connection.execute("SELECT 1").fetchall())
        said = fault_of(read)
    connection.close()

    assert "it raises ProgrammingError: SQLite objects created in a thread" in said


def test_an_async_probe_is_awaited():
    async def count():
        return 3

    assert check_probe(count) == 3


async def test_an_async_probe_is_checked_in_the_running_loop():
    async def count(tenant):
        return len(tenant)

    assert await check_probe_async(count, tenant="acme") == 4
    assert await check_probe_async(lambda: 3) == 3


async def test_an_async_probe_with_a_fault_says_so():
    async def fail():
        raise OSError("gone")

    with pytest.raises(AssertionError, match="it raises OSError: gone"):
        await check_probe_async(fail)


async def test_an_async_probe_under_a_running_loop_is_rejected_with_advice():
    async def count():
        return 3

    with pytest.raises(DefinitionTypeError, match=r"await check_probe_async\(\.\.\.\)"):
        check_probe(count)


def test_a_plain_function_that_returns_an_awaitable_is_a_fault():
    async def count():
        return 3

    assert "it returns an awaitable" in fault_of(lambda: count())


def test_a_value_that_is_not_a_probe_is_rejected():
    with pytest.raises(DefinitionTypeError, match="must be callable"):
        check_probe(3)
