"""Paths with arguments in the probes of files, and their errors."""

import os
import shutil
import subprocess
import sys
import tempfile
from enum import Enum
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deltaspan import change, collect_reports, expects, unchanged, window
from deltaspan.exceptions import DefinitionError, DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes.files import count, tree
from support.files import make, paths

PERMISSIONS = pytest.mark.skipif(not hasattr(os, "setuid"), reason="no POSIX permissions here")
NOBODY = 65534


# Paths ----------------------------------------------------------------------------------------------------


def test_a_root_takes_the_arguments_that_it_names(tmp_path):
    @expects(change("out", tree("{base}/{job}/out{{1}}")).adding("a"))
    def run(base, job):
        make(Path(base), f"{job}/out{{1}}/a")

    (tmp_path / "7" / "out{1}").mkdir(parents=True)
    with collect_reports() as reports:
        run(tmp_path, 7)

    assert (reports[0].outcome, reports[0]["out"].attribution) == ("pass", "scoped")


def test_a_path_object_is_taken_literally(tmp_path):
    make(tmp_path, "{job}/a")

    assert paths(tmp_path / "{job}") == {"a"}


def test_a_name_that_the_action_lacks_is_rejected_at_its_definition():
    with pytest.raises(DefinitionTypeError, match=r"needs 'wokspace'.*did you mean 'workspace'"):
        expects(change("out", tree("{wokspace}/out")))(lambda workspace: None)


@pytest.mark.parametrize("root", ["{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>9}", "{a", "a}"])
def test_braces_that_name_no_parameter_are_rejected(root):
    with pytest.raises(DefinitionValueError, match="to write a brace, double it"):
        tree(root)


@pytest.mark.parametrize("root", ["", None, 3, b"bytes"])
def test_a_root_that_is_not_a_path_is_rejected(root):
    with pytest.raises(DefinitionError, match=r"the path is empty|a path is a str"):
        tree(root)


@pytest.mark.parametrize("argument", [None, True, b"bytes", ["a"]])
def test_an_argument_that_is_not_a_part_of_a_path_is_inconclusive(argument):
    with pytest.raises(ProbeError, match=r"the field \{workspace\} takes text, a number or a path"):
        tree("{workspace}/out")(workspace=argument)


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        (tree("{w}/out"), "tree('{w}/out')"),
        (tree("a", glob="*.csv", content=True), "tree('a', glob='*.csv', content=True)"),
        (count("a", ignore=["b"], gitignore=True), "count('a', ignore=['b'], gitignore=True)"),
    ],
)
def test_a_probe_reads_as_its_source(probe, words):
    assert repr(probe) == words


def test_a_window_on_a_tree_can_be_handed_over(tmp_path):
    make(tmp_path, "a")
    for content in (False, True):
        open_regular = window("w", unchanged("t", tree(tmp_path, content=content)))
        open_regular.capture_baseline()

        assert '"a"' in open_regular.to_json()


# Read errors ----------------------------------------------------------------------------------------------


def told(action):
    return action.report["files"].explanation


@pytest.mark.parametrize("probe", [tree, count])
def test_a_root_that_is_missing_is_inconclusive_with_the_systems_words(tmp_path, probe):
    with window("none", unchanged("files", probe(tmp_path / "none"))) as w:
        pass

    assert w.report["files"].reason == "baseline_failed"
    assert f"No such file or directory: '{tmp_path}/none'" in told(w)


def test_a_root_that_is_a_file_is_inconclusive(tmp_path):
    make(tmp_path, "a")
    with window("file", unchanged("files", tree(tmp_path / "a"))) as w:
        pass

    assert "Not a directory" in told(w)


def as_nobody(root, expression):
    """Evaluate an expression on a tree as a user with few permissions."""
    source = (
        "import os, sys\n"
        "from deltaspan.probes.files import count, text, tree\n"
        f"os.geteuid() or (os.setgroups([]), os.setuid({NOBODY}))\n"
        f"root = {str(root)!r}\n"
        f"try: print({expression})\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def shared():
    """A folder that anybody may reach, which those of `tmp_path` are not."""
    root = Path(tempfile.mkdtemp())
    root.chmod(0o755)
    yield root
    for folder in (root, *root.rglob("*")):
        if folder.is_dir():
            folder.chmod(0o700)
    shutil.rmtree(root)


@PERMISSIONS
def test_an_unreadable_file_is_never_reported_as_absent(shared):
    make(shared, "a", "secret")
    (shared / "secret").chmod(0)

    assert as_nobody(shared, "sorted(tree(root)())") == "['a', 'secret']"
    assert as_nobody(shared, "tree(root, content=True)()").startswith("ProbeError tree(")
    assert "Permission denied" in as_nobody(shared, "tree(root, content=True)()")
    assert as_nobody(shared, "[*tree(root, content=True, ignore='secret')()]") == "['a']"


@PERMISSIONS
@pytest.mark.parametrize("mode", [0o000, 0o100, 0o400])
def test_a_folder_that_must_not_be_listed_or_entered_is_an_error(shared, mode):
    make(shared, "a", "closed/b")
    (shared / "closed").chmod(mode)

    assert "Permission denied" in as_nobody(shared, "tree(root)()")
    assert as_nobody(shared, "[*tree(root, ignore='closed')()]") == "['a']"


def test_a_tree_over_its_limit_names_the_cheaper_probe(tmp_path):
    make(tmp_path, "a", "b", "c")
    assert len(tree(tmp_path, limit=3)()) == 3
    with pytest.raises(ProbeError) as caught:
        tree(tmp_path, limit=2)()

    assert str(caught.value) == (
        f"tree({tmp_path!r}) found more than 2 files: narrow it by glob= or ignore=, raise limit=, or read "
        f"count() of the same files, which is cheaper and has no limit"
    )


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "9", 333_334])
def test_a_limit_that_is_invalid_is_rejected(limit):
    with pytest.raises(DefinitionError, match="limit="):
        tree(".", limit=limit)


def test_an_argument_that_is_text_of_two_kinds_is_inconclusive():
    class Space(str, Enum):
        RED = "red"

    with pytest.raises(ProbeError, match=r"a Space may be written as 'red' or as 'Space\.RED'"):
        tree("{workspace}/out")(workspace=Space.RED)


# Ignored files ----------------------------------------------------------------------------------------------

GIT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
NAMES = st.sampled_from(["a", "b", "a.log", "keep", "build"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
PATTERNS = """
*.log|!a.log|!keep|build/|/a|a/*|!a/keep|a/**|!a/keep/|**/b|!b/|#a|b/a|/*|!/a|*|!*/|a/**/b|[ab]||keep |\\#a
"""
RULES = st.lists(st.sampled_from(PATTERNS.strip("\n").split("|")), max_size=4)


def written(root, files):
    for path, content in files.items():
        file = root / path
        if any(parent.is_file() for parent in file.parents) or file.is_dir():
            continue  # a name is a file or a folder
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


def seen_by_git(root):
    git = [shutil.which("git"), "-C", root]
    subprocess.run([*git, "init", "-q"], check=True, env=GIT)
    done = subprocess.run(
        [*git, "ls-files", "-z", "--others", "--exclude-standard"], check=True, capture_output=True, env=GIT
    )
    return {os.fsdecode(path) for path in done.stdout.split(b"\0") if path}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PATHS, min_size=1, max_size=8), RULES, st.dictionaries(NAMES, RULES, max_size=2))
@example(["a/keep", "a/b"], ["a/**", "!a/keep"], {})
@example(["a/keep/b", "a/b"], ["a/**", "!a/keep/"], {})
@example(["a/a.log", "a.log"], ["*.log"], {"a": ["!a.log"]})
@example(["keep/a/a"], ["[ab]"], {"a": [], "keep": ["!/a"]})
@example(["a/a", "a/b"], ["a", "!/a"], {})
def test_a_tree_with_gitignore_contains_the_files_that_git_would_add(tmp_path_factory, paths, rules, nested):
    root = tmp_path_factory.mktemp("tree")
    files = dict.fromkeys(paths, "")
    files[".gitignore"] = "\n".join(rules)
    files.update({f"{folder}/.gitignore": "\n".join(rules) for folder, rules in nested.items()})
    written(root, files)

    assert set(tree(root, gitignore=True)()) == seen_by_git(root)


def test_a_link_named_gitignore_is_not_followed(tmp_path):
    (tmp_path / "rules").write_text("a\n")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a").touch()
    (tmp_path / "root" / ".gitignore").symlink_to(tmp_path / "rules")

    assert set(tree(tmp_path / "root", gitignore=True)()) == {".gitignore", "a"}


def test_the_files_of_git_itself_are_left_out_with_gitignore(tmp_path):
    written(tmp_path, {".git/HEAD": "", "module/.git": "gitdir: ..", "a": ""})

    assert set(tree(tmp_path, gitignore=True)()) == {"a"}
    assert set(tree(tmp_path)()) == {".git/HEAD", "module/.git", "a"}


def test_a_missing_pathspec_is_reported_with_its_extra():
    source = "import sys; sys.modules['pathspec'] = None\nimport deltaspan.probes.files as f; f.tree('.')()\n"
    done = subprocess.run(
        [sys.executable, "-c", source + "f.tree('.', gitignore=True)"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr.splitlines()[-1] == (
        "deltaspan.exceptions.DefinitionError: gitignore=True needs pathspec; "
        "install it with: pip install 'deltaspan[files]'"
    )
