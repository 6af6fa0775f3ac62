"""The examples: an honest agent passes, and each false claim fails by name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import deltaspan
from deltaspan import DeltaCheckFailed, DeltaInconclusive, change, expects
from integration._examples import EXAMPLES, printed_by
from integration._services import HOST, postgresql


def by_agent(example, says):
    """Return what an example prints of each agent, which says this of itself."""
    parts = re.split(rf"^(\w+): “{says}”\n", printed_by(example), flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


# Orders -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def orders():
    return by_agent("orders", "ordered")


def test_the_honest_agent_passes_while_others_write(orders):
    assert orders["honest"] == (
        "pass: orders added row 4 and kept other rows, as expected; 1 added by this run, 1 by others"
    )


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("idle", "it changed no row of its own; none by this run, 1 by others"),
        ("repeating", "it added 2 members (4, 5); 2 added by this run, 1 by others"),
        ("careless", "it changed no row of its own and it overwrote row 1; none by this run, 1 by others, "),
        ("tidy", "it also removed row 2; 1 added by this run, 1 by others, 1 untagged; "),
    ],
)
def test_each_of_the_others_is_caught(orders, agent, said):
    demand = "fail: expected orders to change by adding 1 member, keeping other rows, but "

    assert orders[agent].startswith(demand + said)


# Coding -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def coding():
    return by_agent("coding", r"Fixed in \w{8}, and pushed.")


def test_the_honest_agent_is_believed(coding):
    assert coding["honest"] == "pass: one commit, these files, nothing rewritten"


def test_an_agent_that_rewrites_history_is_caught_here_and_at_the_remote(coding):
    assert re.findall(r"fail: expected (\w+)", coding["rewriting"]) == ["commits", "pushed"]
    assert coding["rewriting"].count("but it also removed '") == 2


def test_an_agent_that_bends_the_test_is_caught_by_the_file(coding):
    assert re.findall(r"fail: expected (\w+)", coding["bending"]) == ["files"]
    assert "but it also modified 'tests/test_shop.py'" in coding["bending"]


def test_an_agent_that_does_nothing_is_caught_by_the_commit_that_it_names(coding):
    assert re.findall(r"fail: expected (\w+)", coding["pretending"]) == ["commits", "pushed", "files"]
    assert "adding '5f3c1d2e', 1 member in total, but it did not change" in coding["pretending"]


# Data -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    """Return the lines that the example prints of each agent."""
    agents = {}
    for line in printed_by("data").splitlines():
        if not line.startswith(" "):
            found = agents.setdefault(line.partition(":")[0], [])
        else:
            found.append(line.strip())
    return agents


def test_a_naive_check_accepts_every_agent(data):
    assert len(data) == 4
    assert all(lines[0].endswith("(a naive look: done)") for lines in data.values())


def test_the_honest_agent_passes(data):
    assert data["honest"] == ["says:   wrote 105 rows in 3 files (a naive look: done)", "deltas: pass"]


def test_files_without_rows_are_caught(data):
    assert data["hollow"][1:] == [
        "deltas: fail",
        "expected rows to change by 105, but it changed by 0 (40 → 40)",
        "expected cents to change by 486000, but it changed by 0 (4000 → 4000)",
    ]


def test_dropped_rows_fail_even_if_the_claim_is_true(data):
    assert data["tidy"][1:] == [
        "deltas: fail",
        "expected cents to change by 486000, but it changed by 489600 (4000 → 493600)",
    ]


def test_a_source_that_was_touched_is_caught(data):
    outcome, explanation = data["thorough"][1:]

    assert outcome == "deltas: fail"
    assert explanation.startswith("expected source to stay unchanged, but it modified 'june.csv'")


# Infrastructure ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def infrastructure():
    return by_agent("infrastructure", "done")


def test_the_honest_agent_of_the_infrastructure_is_believed(infrastructure):
    assert infrastructure["honest"] == "pass: one server more, and the firewall as it was"


def test_an_agent_that_orders_twice_is_caught(infrastructure):
    assert infrastructure["repeating"] == "fail: expected servers to change by 1, but it changed by 2 (3 → 5)"


def test_an_agent_that_silently_opens_the_firewall_fails(infrastructure):
    assert infrastructure["careless"].startswith(
        "fail: expected firewall to stay unchanged, but it added 'open/0'"
    )


def test_an_agent_that_works_for_another_team_is_caught(infrastructure):
    assert infrastructure["astray"] == "fail: expected servers to change by 1, but it changed by 0 (3 → 3)"


# Support ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def printed():
    with postgresql() as address:
        port = address.split("port=")[1].split()[0]
        return printed_by("support", f"postgresql+psycopg://postgres@{HOST}:{port}/postgres")


@pytest.mark.services
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
def test_a_claim_without_the_matching_change_fails(printed, said, caught):
    (call,) = [call for call in printed.split("\n\n") if said in call]

    assert any(line.startswith("fail ") and caught in line for line in call.splitlines())


@pytest.mark.services
def test_a_claim_with_the_matching_change_passes(printed):
    honest = [call for call in printed.split("\n\n") if "order 10" in call or "ticket 100" in call]

    assert len(honest) == 2
    assert not any("fail" in call or "inconclusive" in call for call in honest)


# Usage of support -------------------------------------------------------------------------------------------

USAGE = "usage: examples/support [-h] url"


def run_support(*arguments):
    command = [sys.executable, str(EXAMPLES / "support"), *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=180, check=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: url"),
        (["sqlite:///desk.sqlite"], "needs PostgreSQL: a URL that begins with postgresql+psycopg://"),
    ],
)
def test_support_without_a_postgresql_url_is_refused_with_its_usage(arguments, said):
    done = run_support(*arguments)

    assert (done.returncode, done.stderr.splitlines()[0]) == (2, USAGE)
    assert said in done.stderr


def test_the_help_of_support_has_a_url_to_copy():
    done = run_support("--help")

    assert done.returncode == 0
    assert "postgresql+psycopg://user:password@localhost:5432/database" in done.stdout


# Retrying ---------------------------------------------------------------------------------------------------

GUIDE = Path(__file__).parents[3] / "docs" / "retrying.md"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def recipe():
    namespace = {"__name__": "recipe"}
    exec(PYTHON.findall(GUIDE.read_text(encoding="utf-8"))[0], namespace)  # noqa: S102  # likewise
    return namespace["bounded"]


def test_the_retry_recipe_ends_after_its_last_attempt(recipe):
    calls, prompts = [], []

    @expects(change("flows", lambda: 0).by(1), on_failure="raise")
    def create_flow():
        calls.append(1)

    with pytest.raises(DeltaCheckFailed):
        recipe(create_flow, prompts.append, attempts=3)

    assert (len(calls), len(prompts)) == (3, 2)


def test_an_inconclusive_action_is_never_retried(recipe):
    calls, reads = [], iter([0])

    @expects(change("flows", lambda: next(reads)).by(1), on_inconclusive="raise")
    def create_flow():
        calls.append(1)

    with pytest.raises(DeltaInconclusive):
        recipe(create_flow, print)

    assert len(calls) == 1


def test_a_failure_beside_an_inconclusive_check_is_never_retried(recipe):
    calls, reads = [], iter([0])

    @expects(change("flows", lambda: 0).by(1), change("users", lambda: next(reads)).by(1), on_failure="raise")
    def create_flow():
        calls.append(1)

    with pytest.raises(DeltaCheckFailed):
        recipe(create_flow, print)

    assert len(calls) == 1


# Documents --------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"
TABLE = ROOT / "examples" / "README.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(document.read_text(encoding="utf-8"))


@pytest.fixture
def _unchanged_sdk(monkeypatch):
    """Let examples that set up an SDK do nothing."""
    monkeypatch.setattr(deltaspan, "configure_telemetry", lambda name: None, raising=False)


@pytest.mark.usefixtures("_unchanged_sdk")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_python_example_of_a_page_runs_and_prints_the_output_shown(document, capsys):
    namespace = {"__name__": "document"}
    printed = ""

    for language, text in blocks(document):
        if language == "python":
            exec(compile(text, str(document), "exec", dont_inherit=True), namespace)  # noqa: S102  # our own
            printed = capsys.readouterr().out
        elif language == "text":
            assert printed == text


def test_the_readme_shows_code_and_its_output():
    assert {"python", "text", "sh"} <= {language for language, _ in blocks(README)}


def test_make_examples_runs_examples_that_are_in_its_table():
    command = ["make", "--dry-run", "examples"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    run = re.search(r"for each in ([a-z ]+); do", said)[1].split()
    shown = re.findall(r"^\| `examples/(\w+)` \|", TABLE.read_text(encoding="utf-8"), re.MULTILINE)

    assert set(run) < set(shown)
    assert sorted(shown) == sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_dir())


@pytest.mark.parametrize(
    "document",
    [README, TABLE, ROOT / "CONTRIBUTING.md"],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_commands_that_a_document_names_are_targets_of_the_makefile(document):
    text = document.read_text(encoding="utf-8")
    commands = [
        line for language, block in blocks(document) if language == "sh" for line in block.splitlines()
    ]
    commands += re.findall(r"`(make [^`]+)`", text)
    named = {match[1] for line in commands if (match := re.search(r"\bmake (\w+)", line))}
    targets = re.findall(r"^([a-z0-9]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert named
    assert named <= set(targets)
