"""Errors of the git probes, and programs that they never run."""

from __future__ import annotations

import hashlib
import os
import shutil

import pytest

from deltaspan import change, tagged, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes import git
from deltaspan.probes._git import _command
from integration._git import Repository


@pytest.fixture
def repo(tmp_path):
    made = Repository(tmp_path / "repo")
    made.commit(a="1")
    return made


def probes(path):
    return [git.commits(path), git.history(path), git.log(path), git.files(path), git.branches(path)]


def said(probe):
    with pytest.raises(ProbeError) as caught:
        probe()
    return str(caught.value)


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


# No program runs and no file is written ---------------------------------------------------------------------


def test_no_program_of_the_repository_runs(repo, tmp_path):
    trap = script(tmp_path / "trap", f"touch {tmp_path / 'sprung'}")
    library = Repository(tmp_path / "library")
    library.commit(a="1")
    repo("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "library")
    repo.commit()
    for inside in (repo, Repository(repo.path / "library")):
        for name in ("core.fsmonitor", "core.pager", "diff.external", "gpg.program"):
            inside("config", name, str(trap))
        inside("config", "log.showSignature", "true")
    hooks = repo.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    shutil.copy(trap, hooks / "post-index-change")
    repo.write("a", "2")
    for probe in [*probes(repo.path), git.tags(repo.path), git.status(repo.path)]:
        probe()

    assert not (tmp_path / "sprung").exists()


def test_a_remote_that_is_a_command_does_not_run(repo, tmp_path):
    repo("config", "remote.origin.url", f"ext::sh -c 'touch {tmp_path / 'sprung'}'")
    repo("config", "protocol.ext.allow", "always")

    assert "transport 'ext' not allowed" in said(git.branches(repo.path, remote="origin"))
    assert not (tmp_path / "sprung").exists()


def test_nothing_is_written(repo):
    def contents():
        return {
            str(file): (hashlib.sha256(file.read_bytes()).digest(), file.stat().st_mtime_ns)
            for file in repo.path.rglob("*")
            if file.is_file()
        }

    os.utime(repo.path / "a")  # git would note in the index that the content is as it was
    before = contents()
    for probe in [*probes(repo.path), git.status(repo.path)]:
        probe()

    assert contents() == before


# No read of another repository ------------------------------------------------------------------------------


def test_the_environment_of_a_hook_does_not_lead_to_its_repository(repo, tmp_path, monkeypatch):
    other = Repository(tmp_path / "other")
    commit = other.commit(b="2")
    for name, value in {
        "GIT_DIR": str(repo.path / ".git"),
        "GIT_WORK_TREE": str(repo.path),
        "GIT_INDEX_FILE": str(repo.path / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(repo.path / ".git" / "objects"),
        "GIT_NAMESPACE": "elsewhere",
        "GIT_TRACE": "1",
    }.items():
        monkeypatch.setenv(name, value)

    assert git.branches(other.path)() == {"main": commit}
    assert git.status(other.path)() == {}


def test_a_repository_above_is_not_read_in_its_place(repo):
    (repo.path / "below").mkdir()

    for probe in probes(repo.path / "below"):
        assert "not a git repository" in said(probe)


def test_a_parent_repository_is_not_read_even_if_its_path_contains_a_colon(tmp_path):
    above = Repository(tmp_path / "run 15:35" / "repo")
    above.commit(a="1")
    (above.path / "below").mkdir()

    for probe in probes(above.path / "below"):
        assert "not a git repository" in said(probe)
    assert git.commits(above.path)() == 1


def test_a_working_tree_configured_elsewhere_is_not_read(repo, tmp_path):
    repo.write("a", "2")
    other = Repository(tmp_path / "other")
    other.write("a", "1")
    repo("config", "core.worktree", str(other.path))

    assert said(git.status(repo.path)).endswith(f"puts the working tree in {other.path}; name that folder")


def test_replacements_and_grafts_do_not_hide_a_commit(repo):
    commit = repo("rev-parse", "HEAD")
    last = repo.commit(a="2")
    before = (git.files(repo.path)(), git.history(repo.path)())
    repo("replace", "--graft", last)
    (repo.path / ".git" / "info" / "grafts").write_text(f"{last}\n")

    assert (git.files(repo.path)(), git.history(repo.path)()) == before
    assert commit in before[1]


@pytest.mark.parametrize("ref", ["--all", "-n1", "--output=written", "--"])
def test_a_reference_that_looks_like_an_option_is_an_error(repo, ref, monkeypatch):
    monkeypatch.chdir(repo.path)
    for probe in (git.commits(".", ref), git.history(".", ref), git.log(".", ref), git.files(".", ref)):
        assert "could not be read: GitError: " in said(probe)
    assert git.status(".")() == {}


def test_a_repository_whose_name_looks_like_an_option_is_a_folder(repo, tmp_path, monkeypatch):
    repo.path.rename(tmp_path / "--version")
    monkeypatch.chdir(tmp_path)

    assert git.commits("--version")() == 1


# Error texts ------------------------------------------------------------------------------------------------


def test_a_missing_folder_reference_or_repository_is_reported_in_gits_words(repo, tmp_path):
    assert "No such file or directory" in said(git.commits(tmp_path / "nowhere"))
    assert "bad revision 'nope'" in said(git.commits(repo.path, "nope"))
    assert "Not a valid object name nope" in said(git.files(repo.path, "nope"))
    assert "not a git repository" in said(git.status(tmp_path))
    with pytest.raises(DefinitionValueError, match="the path is empty"):
        git.status("")


def test_a_broken_branch_is_not_read_as_empty(repo):
    (repo.path / ".git" / "refs" / "heads" / "main").write_text("broken\n")

    for probe in probes(repo.path):
        assert "broken" in said(probe) or "bad" in said(probe) or "Not a valid" in said(probe)


def test_a_repository_of_another_owner_is_rejected_as_git_refuses_it(repo, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setattr(_command, "_KEPT_VARIABLES", (*_command._KEPT_VARIABLES, "GIT_TEST_"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)

    assert "dubious ownership" in said(git.commits(repo.path))


def test_a_missing_git_is_reported_with_advice(repo, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert said(git.commits(repo.path)).endswith(
        "GitError: git is not installed, or not on the PATH: install it"
    )


def test_a_state_that_is_too_large_names_a_cheaper_probe(repo, monkeypatch):
    repo.commit(b="2")
    monkeypatch.setattr(_command, "MAX_RECORDS", 1)

    assert said(git.history(repo.path)).endswith(
        "there are more than 1 entries: count them with `commits`, or read a range, `main..HEAD`"
    )
    assert said(git.files(repo.path)).endswith("read one folder, `HEAD:src`")
    assert git.commits(repo.path)() == 2


def test_a_git_process_that_hangs_is_stopped_with_its_children(repo, tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    script(folder / "git", "sleep 600 & sleep 600")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(_command, "_TIMEOUT_SECONDS", 0.2)

    assert said(git.commits(repo.path)).endswith("git did not end within 0.2 seconds and was stopped")


def test_an_incomplete_output_of_git_is_an_error(repo, tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    script(folder / "git", "printf 'one\\ntw'")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    assert said(git.history(repo.path)).endswith("the output of git ends within a record: b'tw'")


def test_no_password_of_a_remote_is_shown(repo):
    address = "https://ann:s3cr%2Ft@127.0.0.1:1/shop.git"
    repo("remote", "add", "origin", address)
    for remote in ("origin", address):
        probe = git.branches(repo.path, remote=remote)
        with window("push", change("pushed", probe)) as w:
            pass
        text = f"{said(probe)} {probe!r} {w.report} {w.report!r}"

        assert w.report["pushed"].reason == "baseline_failed"
        assert "s3cr" not in text
        assert "unable to access" in text


def test_a_check_on_an_unreadable_repository_is_inconclusive(tmp_path):
    with window("fix", change("commits", git.commits(tmp_path)).by(1)) as w:
        pass

    assert (w.report["commits"].outcome, w.report["commits"].reason) == ("inconclusive", "baseline_failed")


def test_an_invalid_definition_is_rejected_at_once():
    with pytest.raises(DefinitionTypeError, match=r"a path is a str or a pathlib\.Path, not 3"):
        git.commits(3)
    with pytest.raises(DefinitionValueError, match="to write a brace, double it"):
        git.commits("{repo", "HEAD")
    with pytest.raises(DefinitionValueError, match="a field is the plain name of a parameter"):
        git.commits("{repo.path}")
    with pytest.raises(DefinitionTypeError, match="needs 'rep', which does not exist"):
        window("fix", change("commits", git.commits("{rep}")), args={"repo": "."})


@pytest.mark.parametrize(
    "ref",
    [
        "--all",
        "-n1",
        "main..other",
        "^main",
        "*",
        "main other",
        "main\n--all",
        "@{-1}",
        "",
        ":/.",
        "--output=x",
    ],
)
@pytest.mark.parametrize("make", [git.log, git.commits, git.history])
def test_a_hostile_reference_reads_no_other_commits(repo, make, ref):
    repo("branch", "other")
    repo.commit(b="2")

    with pytest.raises(ProbeError):
        make("{repo}", "{ref}")(repo=str(repo.path), ref=ref)
    assert not (repo.path / "x").exists()


def test_subjects_of_a_log_are_shown_only_on_request(repo):
    mine = tagged(git.log(repo.path), key="id", tag="causal_tag")
    with window(
        "act", change("x", git.log(repo.path)), change("z", mine), change("y", git.log(repo.path)).showing()
    ) as w:
        repo.write("b")
        repo("add", ".")
        repo("commit", "--quiet", "-m", "canary of the subject")

    assert "canary" not in str(w.report["x"])
    assert "canary" not in str(w.report["z"])
    assert "canary" in str(w.report["y"])
