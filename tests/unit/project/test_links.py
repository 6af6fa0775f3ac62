"""Every relative link of a document leads to a file and a heading, and docs/probes.md has every probe."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "deploy").rglob("*.md")),
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "grafana").rglob("*.md")),
]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(text):
    """Return the links to files of this repository, outside of code."""
    return [link for link in LINK.findall(CODE.sub("", text)) if not re.match(r"[a-z]+:", link)]


def anchors(text):
    """Return the anchors of the headings, as GitHub makes them."""
    fenced = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    seen: Counter[str] = Counter()
    found = set()
    for heading in HEADING.findall(fenced):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_an_existing_file_and_heading(document):
    broken = []
    for link in links(document.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        there = document.parent / name if name else document
        if not there.exists() or (anchor and anchor not in anchors(there.read_text(encoding="utf-8"))):
            broken.append(link)

    assert broken == []


def test_code_holds_no_links_and_no_headings():
    text = (
        "# One\n```sh\n# two\n[three](four.md)\n```\n`[five](six.md)` [seven](eight.md) [nine](https://ten)\n"
    )

    assert links(text) == ["eight.md"]
    assert anchors(text) == {"one"}


def test_anchors_are_those_of_github():
    text = "## DeltaCheckBurn, a day\n## On `.redacted()`\n## Again\n## Again\n## Again\n"

    assert anchors(text) == {"deltacheckburn-a-day", "on-redacted", "again", "again-1", "again-2"}


def paths(text):
    """Return the paths in backticks that name a file or a folder of this repository."""
    return [
        path
        for path in re.findall(r"`([\w.*/-]+)`", text)
        if "*" not in path and re.fullmatch(r"[\w./-]+\.(py|md|yaml|toml)|[\w./-]+/", path)
    ]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_file_named_in_a_page_for_contributors_exists(name):
    named = paths((ROOT / name).read_text(encoding="utf-8"))
    planned = {"probes/elasticsearch.py"}  # the example of a new file

    assert len(named) > 1
    assert [
        path
        for path in sorted({*named} - planned)
        if not (ROOT / path).exists() and not (ROOT / "src" / "deltaspan" / path).exists()
    ] == []


def test_the_layout_names_every_room():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    layout = text.partition("## Layout")[2].partition("## Glossary")[0]
    rooms = {
        f"{path.name}/"
        for path in (ROOT / "src" / "deltaspan").iterdir()
        if path.is_dir() and (path / "__init__.py").exists()
    }

    assert rooms <= set(paths(layout))


def test_each_recipe_opens_at_most_five_files():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = re.split(
        r"^\d\. ", text.partition("## Eight common changes")[2].partition("## Rules")[0], flags=re.MULTILINE
    )
    opened = [
        {path for line in recipe.splitlines() if "- Also:" not in line for path in paths(line)}
        for recipe in recipes[1:]
    ]

    assert len(opened) == 8
    assert max(map(len, opened)) <= 5


# The page of probes -----------------------------------------------------------------------------------------
PAGE = (ROOT / "docs" / "probes.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^\| \*\*`(\w+)`\*\* (.*?)(?=^\| \*\*|^$)", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"`(\w+)\(([^)`]*)\)`")
MODULES = sorted(
    path.stem
    for path in (ROOT / "src" / "deltaspan" / "probes").glob("*.py")
    if not path.stem.startswith("_")
)


@pytest.mark.parametrize("module", MODULES)
def test_each_function_is_in_the_table_of_its_module(module):
    table = dict(SECTION.findall(PAGE))
    there = import_module(f"deltaspan.probes.{module}")
    functions = {name for name in there.__all__ if inspect.isfunction(getattr(there, name))}

    told = {}
    cells = [line.split("|")[1] for line in table[module].splitlines() if line.startswith("| `")]
    for name, arguments in CALL.findall(" ".join(cells)):
        told.setdefault(name, set()).update(re.findall(r"\w+(?=[,=]|$)", re.sub(r"=\w+", "=", arguments)))

    assert set(told) == functions
    for name, arguments in told.items():
        assert arguments <= set(inspect.signature(getattr(there, name)).parameters), name
