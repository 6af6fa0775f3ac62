"""How examples/support says what it needs, where there is no server."""

from __future__ import annotations

import subprocess
import sys

import pytest

from integration._examples import EXAMPLES

USAGE = "usage: examples/support [-h] url"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: url"),
        (["sqlite:///desk.sqlite"], "needs PostgreSQL: a URL that begins with postgresql+psycopg://"),
    ],
)
def test_without_a_database_that_it_can_use_it_says_what_to_give(arguments, said):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "support"), *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )

    assert (done.returncode, done.stderr.splitlines()[0]) == (2, USAGE)
    assert said in done.stderr


def test_its_help_has_a_url_to_copy():
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "support"), "--help"],
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=True,
    )

    assert "postgresql+psycopg://user:password@localhost:5432/database" in done.stdout
