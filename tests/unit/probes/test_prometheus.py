"""Answers of a Prometheus on loopback, in whole and in part."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspan import unchanged, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes import prometheus
from deltaspan.probes._prometheus._promql import fill_query, query_fields
from deltaspan.probes._prometheus._totals import CounterTotal


def vector(*rows, **beside):
    """Return an answer with rows of labels, value and time."""
    result = [{"metric": labels, "value": [at, str(value)]} for labels, value, at in rows]
    return {"status": "success", "data": {"resultType": "vector", "result": result}, **beside}


def fault_of(probe):
    with pytest.raises(ProbeError) as caught:
        probe()
    return str(caught.value)


def test_no_series_hides_another_even_if_its_labels_need_escaping(api):
    api.document = vector(
        ({"__name__": "up", "a": 'x",b="y'}, 1, 0),
        ({"__name__": "up", "a": "x", "b": "y"}, 2, 0),
        ({"__name__": "up", "a": "\\"}, 3, 0),
        ({"__name__": "up", 'a="1",b': "2"}, 4, 0),
        ({"__name__": "up", "a": "1", "b": "2"}, 5, 0),
        ({"__name__": "my.up", "b": "2\n"}, 6, 0),
    )

    assert prometheus.series(api.url, "up")() == {
        r'up{a="x\",b=\"y"}': 1,
        'up{a="x",b="y"}': 2,
        r'up{a="\\"}': 3,
        r'up{"a=\"1\",b"="2"}': 4,
        'up{a="1",b="2"}': 5,
        r'{"my.up",b="2\n"}': 6,
    }


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ({"warnings": ["store down", "another"]}, "the server warns: store down; another"),
        ({"isPartial": True}, "the server warns: the answer is partial"),
    ],
)
def test_a_partial_answer_is_an_error(api, beside, said):
    api.document = vector(({}, 1, 0), **beside)
    with window("act", unchanged("sum", prometheus.value(api.url, "sum(x)"))) as w:
        pass

    assert w.report["sum"].reason == "baseline_failed"
    assert said in w.report["sum"].explanation


def test_an_info_annotation_of_the_server_is_not_an_error(api):
    api.document = vector(({}, 1, 0), infos=["metric might not be a counter"], warnings=None)

    assert prometheus.value(api.url, "sum(x)")() == 1


def test_a_native_histogram_is_not_a_number(api):
    result = [{"metric": {}, "histogram": [0, {"count": "1"}]}]
    api.document = {"status": "success", "data": {"resultType": "vector", "result": result}}

    assert "the query gives native histograms" in fault_of(prometheus.value(api.url, "x"))


def test_a_counter_that_rises_while_the_clock_is_set_back_has_changed(api):
    api.document = vector(({}, 5, 1000))
    with window("act", unchanged("errors", prometheus.counter(api.url, "errors_total"))) as w:
        api.document = vector(({}, 9, 998))

    assert w.report["errors"].outcome == "fail"


def test_a_counter_that_falls_while_the_clock_is_set_back_is_inconclusive(api):
    probe = prometheus.counter(api.url, "errors_total")
    api.document = vector(({}, 5, 1000))
    probe()
    api.document = vector(({}, 4, 998))

    assert "its clock was set back, or another server answered" in fault_of(probe)


@pytest.mark.parametrize("value", ['"{job}"', "'{job}'", '":job"', "`:job`"])
@pytest.mark.parametrize("read", [prometheus.value, prometheus.series, prometheus.counter])
def test_a_field_as_other_probes_have_it_is_rejected(read, value):
    query = f"up{{job={value}}}"
    with pytest.raises(DefinitionValueError) as caught:
        read("http://127.0.0.1:9090", query, missing_ok=True)

    assert str(caught.value) == (
        f'{query!r}: {value} is literal text, not an argument; write "$job"; to match the text '
        f'itself, write =~"[{value[1]}]{value[2:-1]}"'
    )


@pytest.mark.parametrize(
    "query",
    ['up{path="/jobs/{job}"}', 'up{job="job:"}', 'up{job=~"[{]job}"}', 'up # {job="{job}"}', '{":a:b"}'],
)
def test_a_value_that_only_has_a_brace_or_a_colon_in_it_is_a_text(query):
    assert prometheus.value("http://127.0.0.1:9090", query).__signature__.parameters == {}


@pytest.mark.parametrize("read", [prometheus.value, prometheus.series, prometheus.counter])
def test_a_server_without_its_scheme_is_rejected(read):
    with pytest.raises(DefinitionValueError, match="'localhost:9090' does not say where the server is"):
        read("localhost:9090", "up")


# Counters ---------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(st.integers(0, 9).map(lambda n: ("count", n)), st.just(("reset", 0)), st.just(("read", 0)))
)


@given(STEPS)
def test_the_total_is_exact_after_any_number_of_resets(steps):
    counted, value, truth, at = CounterTotal(), 0, 0, 0.0
    counted.add(counted.last_read(), at, {"orders": [0]})
    samples = []
    for step, n in steps:
        if step == "count":
            value, truth = value + n, truth + n
            samples.append(value)
        elif step == "reset":
            value = 0
            samples.append(value)
        else:
            at += 1
            assert counted.add(counted.last_read(), at, {"orders": samples}) == truth
            samples = []


def test_a_new_series_counts_from_zero_and_a_vanished_one_keeps_its_total():
    counted = CounterTotal()

    assert counted.add(counted.last_read(), 1, {"a": [5]}) == 5
    assert counted.add(counted.last_read(), 2, {"b": [3]}) == 8
    assert counted.add(counted.last_read(), 3, {"a": [6], "b": [3]}) == 9


def test_an_answer_that_was_overtaken_counts_nothing():
    counted = CounterTotal()
    counted.add(counted.last_read(), 1, {"a": [5]})
    last_read = counted.last_read()
    counted.add(last_read, 3, {"a": [9]})

    assert counted.add(last_read, 2, {"a": [7]}) == 9


def test_a_clock_that_was_set_back_stops_no_counter():
    counted = CounterTotal()
    counted.add(counted.last_read(), 1000, {"a": [5]})

    assert counted.add(counted.last_read(), 998, {"a": [7]}) == 7
    assert counted.add(counted.last_read(), 999, {}) == 7
    assert counted.last_read().read_at == 1000


def test_a_read_with_an_outdated_starting_point_gives_no_total():
    counted = CounterTotal()
    last_read = counted.last_read()
    counted.add(last_read, 1, {"a": [5]})

    assert counted.add(last_read, 2, {"a": [6]}) is None


def test_reads_of_many_threads_count_each_step_once():
    counted, value, lock = CounterTotal(), [0], threading.Lock()

    def work():
        for _ in range(200):
            total = None
            while total is None:
                last_read = counted.last_read()
                with lock:
                    value[0] += 1
                    at, seen = float(value[0]), value[0]
                total = counted.add(last_read, at, {"a": [seen]})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counted.add(counted.last_read(), value[0] + 1.0, {"a": [value[0]]}) == value[0]


def test_fields_stand_between_quotes():
    query = """sum(orders{shop="$shop", city='${city}', path=~"a$$"}) > 3"""

    assert query_fields(query) == ("shop", "city")
    assert fill_query(query, {"shop": 'a"b\\', "city": "it's"}) == (
        """sum(orders{shop="a\\"b\\\\", city='it\\'s', path=~"a$"}) > 3"""
    )


@pytest.mark.parametrize("query", ["up > $n", "sum by ($label) (up)", "up{job=`$job`}"])
def test_a_field_outside_of_quotes_would_be_language_and_is_rejected(query):
    with pytest.raises(DefinitionValueError, match="stands outside of quotes"):
        query_fields(query)


@pytest.mark.parametrize("query", ["", "  ", 3, None])
def test_a_value_that_is_not_a_query_is_rejected(query):
    with pytest.raises(DefinitionTypeError, match="expected PromQL"):
        query_fields(query)


def test_a_quote_in_a_comment_does_not_open_a_field_to_the_language():
    query = """# don't\nup{job="$job"} # it's"""

    assert fill_query(query, {"job": '"} or vector(1) #'}) == (
        """# don't\nup{job="\\"} or vector(1) #"} # it's"""
    )


def test_a_value_that_is_not_text_is_rejected():
    with pytest.raises(TypeError, match="takes text, a number or a path"):
        fill_query('up{job="$job"}', {"job": ["a"]})
