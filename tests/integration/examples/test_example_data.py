"""A data agent on files and Parquet: the honest one passes, and each of the others is caught by one delta."""

import pytest

from integration._examples import printed_by


@pytest.fixture(scope="module")
def told():
    """By agent, the lines that the example prints of it."""
    agents = {}
    for line in printed_by("data").splitlines():
        if not line.startswith(" "):
            found = agents.setdefault(line.partition(":")[0], [])
        else:
            found.append(line.strip())
    return agents


def test_a_naive_look_believes_all_of_them(told):
    assert len(told) == 4
    assert all(lines[0].endswith("(a naive look: done)") for lines in told.values())


def test_the_honest_agent_passes(told):
    assert told["honest"] == ["says:   wrote 105 rows in 3 files (a naive look: done)", "deltas: pass"]


def test_files_without_rows_are_caught(told):
    assert told["hollow"][1:] == [
        "deltas: fail",
        "expected rows to change by 105, but it changed by 0 (40 → 40)",
        "expected cents to change by 486000, but it changed by 0 (4000 → 4000)",
    ]


def test_rows_that_were_dropped_are_caught_though_the_claim_is_true(told):
    assert told["tidy"][1:] == [
        "deltas: fail",
        "expected cents to change by 486000, but it changed by 489600 (4000 → 493600)",
    ]


def test_a_source_that_was_touched_is_caught(told):
    outcome, explanation = told["thorough"][1:]

    assert outcome == "deltas: fail"
    assert explanation.startswith("expected source to stay unchanged, but it modified 'june.csv'")
