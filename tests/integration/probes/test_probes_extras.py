"""A missing library is reported with the extra that installs it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

NEEDS = [
    ("http", "httpx", "http"),
    ("mongodb", "pymongo", "mongodb"),
    ("prometheus", "httpx", "http"),
    ("redis", "redis", "redis"),
    ("s3", "boto3", "s3"),
    ("s3", "botocore", "s3"),
    ("sql", "sqlalchemy", "sqlalchemy"),
    ("system", "psutil", "system"),
]

IMPORTED_WITHOUT = """
import importlib, sys
probe, library = sys.argv[1:]
sys.modules[library] = None
try:
    importlib.import_module(f"deltaspan.probes.{probe}")
except ImportError as error:
    print(error)
"""


def printed(code, *arguments):
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=180
    )
    assert ran.stderr == ""
    return ran.stdout.strip()


@pytest.mark.parametrize(("probe", "library", "extra"), NEEDS)
def test_a_missing_library_is_reported_with_the_extra_that_installs_it(probe, library, extra):
    if importlib.util.find_spec(f"deltaspan.probes.{probe}") is None:
        pytest.skip("it is not there yet")
    said = printed(IMPORTED_WITHOUT, probe, library)

    assert " needs " in said
    assert said.endswith(f": pip install 'deltaspan[{extra}]'")


SQL_WITHOUT = """
import sqlite3, sys
sys.modules["greenlet"] = None
from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from deltaspan.probes import sql
engine = create_engine("sqlite://")
with Session(engine) as session, engine.connect() as connection:
    opened, opener = sqlite3.connect(":memory:"), lambda: sqlite3.connect(":memory:")
    for source in (engine, session, connection, opened, opener):
        print(sql.scalar(source, "SELECT 1 + :n", params={"n": 1})())
try:
    sql.rows(3, "flows")
except TypeError as error:
    print(error)
"""


def test_sql_probes_need_greenlet_only_for_async_sources():
    *states, refused = printed(SQL_WITHOUT).splitlines()

    assert states == ["2"] * 5
    assert refused.startswith("'int' is not a source; pass an engine")


FILES_WITHOUT = """
import sys
sys.modules["pathspec"] = None
from deltaspan.exceptions import DefinitionError
from deltaspan.probes import files
files.tree(".")
try:
    files.tree(".", gitignore=True)
except DefinitionError as error:
    print(error)
"""


def test_files_needs_a_library_only_to_read_gitignore():
    assert printed(FILES_WITHOUT).endswith("pip install 'deltaspan[files]'")


def test_the_package_itself_and_git_need_no_library_at_all():
    libraries = sorted({library for _, library, _ in NEEDS} | {"pathspec"})
    code = f"import sys\nfor name in {libraries}: sys.modules[name] = None\n"

    assert printed(f"{code}import deltaspan, deltaspan.probes.files, deltaspan.probes.git") == ""
