"""The support agent of examples/support, on a real PostgreSQL server: what it claims and what it did."""

from __future__ import annotations

import pytest

from integration._examples import printed_by
from integration._services import HOST, postgresql

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def printed():
    with postgresql() as address:
        port = address.split("port=")[1].split()[0]
        return printed_by("support", f"postgresql+psycopg://postgres@{HOST}:{port}/postgres")


@pytest.mark.parametrize(
    ("said", "caught"),
    [
        ("I have refunded order 11.", "to change by modifying '11/status', but it did not change"),
        (
            "I have refunded order 12.",
            "it modified '20/status' ('paid' → 'refunded'), which was not declared",
        ),
        ("I have closed ticket 101.", "it also removed 'notes/1', 'notes/2', which lie outside"),
    ],
)
def test_what_was_claimed_and_not_done_is_caught(printed, said, caught):
    (call,) = [call for call in printed.split("\n\n") if said in call]

    assert any(line.startswith("fail ") and caught in line for line in call.splitlines())


def test_what_was_done_as_it_was_said_passes(printed):
    honest = [call for call in printed.split("\n\n") if "order 10" in call or "ticket 100" in call]

    assert len(honest) == 2
    assert not any("fail" in call or "inconclusive" in call for call in honest)
