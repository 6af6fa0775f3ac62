"""The state of a working tree in words, as a real git finds it."""

from __future__ import annotations

import os
import time

import pytest

from deltaspan.probes import git
from integration._git import Repository

TEXT = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture
def repo(tmp_path):
    made = Repository(tmp_path / "repo")
    made.commit(a=TEXT, b="b")
    return made


def state(repo):
    return git.status(repo.path)()


def test_a_clean_tree_has_no_entry(repo):
    assert state(repo) == {}


def test_unstaged_changes_are_reported_without_a_prefix(repo):
    repo.write("a", "other")
    (repo.path / "b").unlink()
    repo.write("new/deep/file")
    repo.write("new/file")

    assert state(repo) == {
        "a": "modified",
        "b": "deleted",
        "new/deep/file": "untracked",
        "new/file": "untracked",
    }


def test_staged_changes_are_marked_and_followed_by_later_changes(repo):
    repo.write("a", "other")
    repo.write("c")
    repo("add", "a", "c")
    repo("rm", "--quiet", "b")
    repo.write("a", "another")
    (repo.path / "c").unlink()

    assert state(repo) == {
        "a": "staged: modified; modified",
        "b": "staged: deleted",
        "c": "staged: added; deleted",
    }


def test_both_paths_of_a_renamed_file_are_reported(repo):
    repo("mv", "a", "z")

    assert state(repo) == {"z": "staged: renamed from a", "a": "staged: renamed to z"}


def test_a_new_file_in_the_place_of_a_renamed_one_is_reported_too(repo):
    repo("mv", "a", "z")
    repo.write("a", "new")

    assert state(repo)["a"] == "staged: renamed to z; untracked"


def test_a_rename_that_is_not_staged_has_two_paths_too(repo):
    (repo.path / "a").rename(repo.path / "z")
    repo("add", "--intent-to-add", "z")

    assert state(repo) == {"z": "renamed from a", "a": "renamed to z"}


def test_a_file_that_becomes_a_link_changes_its_type(repo):
    (repo.path / "b").unlink()
    (repo.path / "b").symlink_to("a")

    assert state(repo) == {"b": "type changed"}


def test_a_conflict_says_whose_it_is(repo):
    repo("switch", "--quiet", "--create", "other")
    repo.commit(a="theirs", b="theirs")
    repo("switch", "--quiet", "main")
    repo("rm", "--quiet", "b")
    repo.commit(a="ours")
    with pytest.raises(Exception, match="non-zero"):
        repo("merge", "other")

    assert state(repo) == {"a": "in conflict: both modified", "b": "in conflict: deleted by us"}


def test_a_submodule_reports_its_commits_and_changes(repo, tmp_path):
    library = Repository(tmp_path / "library")
    library.commit(a="1")
    repo("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "library")
    assert state(repo) == {".gitmodules": "staged: added", "library": "staged: added"}
    repo.commit()
    inside = Repository(repo.path / "library")
    inside.commit(a="2")
    inside.write("a", "3")
    inside.write("new")
    repo("config", "submodule.library.ignore", "all")

    assert state(repo) == {"library": "modified (new commits, modified content, untracked content)"}


def test_gitignore_of_the_repository_applies_and_excludes_of_the_user_do_not(repo, tmp_path):
    repo.commit(**{".gitignore": "*.o\n"})
    ignored = tmp_path / "ignored"
    ignored.write_text("*.py\n")
    repo("config", "core.excludesFile", str(ignored))
    repo.write("a.o")
    repo.write("a.py")

    assert state(repo) == {"a.py": "untracked"}


@pytest.mark.parametrize(("name", "value"), [("core.trustctime", "false"), ("core.checkStat", "minimal")])
def test_no_setting_hides_a_file_whose_time_was_set_back(repo, name, value):
    os.utime(repo.path / "b", (1e9, 1e9))
    repo("status")
    ends = time.time() + 2  # git keeps whole seconds of when a file was changed
    repo("config", name, value)
    while time.time() < ends:
        time.sleep(0.1)
    repo.write("b", "c")
    os.utime(repo.path / "b", (1e9, 1e9))

    assert state(repo) == {"b": "modified"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status.showUntrackedFiles", "no"),
        ("status.renames", "false"),
        ("diff.renames", "copies"),
        ("status.short", "true"),
        ("status.branch", "true"),
        ("status.showStash", "true"),
        ("status.relativePaths", "false"),
        ("core.quotePath", "true"),
        ("color.ui", "always"),
        ("diff.external", "false"),
        ("alias.status", "log"),
    ],
)
def test_no_git_setting_changes_the_status(repo, name, value):
    repo("mv", "a", "z")
    repo.write("ü")
    before = state(repo)
    repo("config", name, value)

    assert (
        state(repo)
        == before
        == {"z": "staged: renamed from a", "a": "staged: renamed to z", "ü": "untracked"}
    )
