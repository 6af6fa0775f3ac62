"""docs/scaling.md: its table follows from the arithmetic, which starts from measurements."""

import re
import sys
from dataclasses import replace

import pytest

from support.manifests import ROOT, generated

DOCUMENT = ROOT / "docs" / "scaling.md"


@pytest.fixture
def benchmarks(monkeypatch):
    """The benchmarks as modules."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import scaling  # noqa: PLC0415  # found by then
    import wire  # noqa: PLC0415  # likewise

    yield scaling, wire
    for name in ("scaling", "wire"):
        del sys.modules[name]


def test_the_table_is_the_arithmetic(benchmarks):
    scaling, _ = benchmarks
    text = DOCUMENT.read_text(encoding="utf-8")

    assert scaling.BEGIN + scaling.table() + scaling.END in text


def test_the_bytes_and_the_series_are_those_that_are_sent(benchmarks):
    scaling, wire = benchmarks
    sent = wire.measured(2)

    assert sent.span_bytes == pytest.approx(scaling.MEASURED.span_bytes, rel=0.03)
    assert sent.span_gzip_bytes == pytest.approx(scaling.MEASURED.span_gzip_bytes, rel=0.15)
    assert sent.metric_gzip_bytes == pytest.approx(scaling.MEASURED.metric_gzip_bytes, rel=0.15)
    assert sent.series == scaling.MEASURED.series
    plain, zipped = wire.events()
    assert plain == pytest.approx(scaling.MEASURED.event_bytes, rel=0.03)
    assert zipped == pytest.approx(scaling.MEASURED.event_gzip_bytes, rel=0.15)


def test_every_measured_number_is_shown(benchmarks):
    scaling, _ = benchmarks
    text = DOCUMENT.read_text(encoding="utf-8")
    measured = scaling.MEASURED

    for number in (measured.span_bytes, measured.gateway_spans, measured.sampler_spans, measured.held_bytes):
        assert f"{number:_}".replace("_", " ") in text
    assert f"| {measured.span_gzip_bytes} B |" in text
    assert f"| {measured.event_bytes} B, {measured.event_gzip_bytes} B |" in text
    assert f"| {measured.series} |" in text
    assert f"| {measured.hiding_us} µs a span |" in text


def test_the_assumed_sampling_settings_equal_those_of_the_manifests(benchmarks):
    scaling, _ = benchmarks
    settings = generated()["settings"]

    assert f"{scaling.ASSUMED.rest_kept:.0%}" == f"{settings['KEEP_PERCENT']}%"
    assert f"{scaling.ASSUMED.decision_wait}s" == settings["DECISION_WAIT"]


def test_ten_times_the_actions_are_ten_times_the_spans_bytes_and_memory(benchmarks):
    scaling, _ = benchmarks
    small, large = scaling.Load(10_000), scaling.Load(100_000)

    for what in ("spans", "wire_bytes", "gateway_cores", "sampler_memory", "stored_bytes_a_day", "series"):
        assert getattr(large, what) == pytest.approx(10 * getattr(small, what))


def test_sampling_at_the_head_leaves_the_series(benchmarks):
    scaling, _ = benchmarks
    all_of_it, head = scaling.LOADS["1 M"], scaling.LOADS["1 M, 1 % at the head"]

    assert head.spans == all_of_it.spans / 100
    assert head.series == all_of_it.series


def test_unrecorded_failures_are_a_load_that_grows_with_the_failure_rate(benchmarks):
    scaling, _ = benchmarks
    all_of_it, head = scaling.LOADS["1 M"], scaling.LOADS["1 M, 1 % at the head"]
    worse = replace(head, assumed=replace(head.assumed, unproven=2 * head.assumed.unproven))

    assert (all_of_it.events, head.events) == (0, pytest.approx(9_900))
    assert worse.events == pytest.approx(2 * head.events)
    # The cost of each further per cent, as the document states it.
    assert worse.gateway_cores - head.gateway_cores == pytest.approx(6, abs=0.5)
    assert worse.network_bytes - head.network_bytes == pytest.approx(1.1e6, rel=0.03)
    assert worse.event_bytes_a_day - head.event_bytes_a_day == pytest.approx(650e9, rel=0.03)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(3, "3"), (0.069, "0.069"), (1234, "1.2 k"), (53, "53"), (23_200_000, "23 M"), (999_999, "1 M")],
)
def test_a_number_is_shown_in_two_digits(benchmarks, value, shown):
    scaling, _ = benchmarks

    assert scaling.count(value) == shown
    assert re.fullmatch(r"[\d.]+( [kM])?", shown)
