"""Git probes of a remote read the remote itself, not the last fetch."""

from __future__ import annotations

import pytest

from deltaspan import change, window
from deltaspan.exceptions import ProbeError
from deltaspan.probes import git
from integration._git import Repository


@pytest.fixture
def origin(tmp_path):
    return Repository(tmp_path / "origin.git", "--bare")


@pytest.fixture
def repo(tmp_path, origin):
    made = Repository(tmp_path / "repo")
    made("remote", "add", "origin", str(origin.path))
    made.commit(a="1")
    made("push", "--quiet", "origin", "main")
    return made


def pushing(repo, do):
    pushed = git.history(repo.path, "main", remote="origin")
    with window("push", change("pushed", pushed).adding(count=1)) as w:
        do()
    return w.report["pushed"]


def push(repo, *options):
    repo.commit()
    repo("push", "--quiet", *options, "origin", "main")


def test_a_commit_that_was_pushed_is_there(repo):
    assert pushing(repo, lambda: push(repo)).outcome == "pass"


def test_a_commit_that_was_not_pushed_is_not(repo):
    def pretend():
        repo.commit()
        repo("update-ref", "refs/remotes/origin/main", "HEAD")

    assert pushing(repo, pretend).outcome == "fail"


def test_a_forced_push_fails_naming_what_it_removed(repo):
    def force():
        repo("commit", "--quiet", "--amend", "--allow-empty", "-m", "Otherwise")
        repo("push", "--quiet", "--force", "origin", "main")

    lost = repo("rev-parse", "HEAD")
    report = pushing(repo, force)

    assert report.outcome == "fail"
    assert f"but it also removed '{lost}', which was not declared" in report.explanation


def test_what_somebody_else_pushed_is_inconclusive_where_it_was_not_fetched(repo, origin, tmp_path):
    def elsewhere():
        origin("clone", "--quiet", ".", str(tmp_path / "other"))
        push(Repository(tmp_path / "other"))

    report = pushing(repo, elsewhere)

    assert (report.outcome, report.reason) == ("inconclusive", "probe_failed")
    assert "bad object" in report.explanation


def test_branches_and_tags_of_a_remote_name_commits(repo, origin):
    commit = repo("rev-parse", "HEAD")
    repo("tag", "light")
    repo("tag", "--annotate", "v1", "-m", "The first")
    repo("push", "--quiet", "origin", "main:refs/heads/feature/x", "v1", "light")

    for probe in (git.branches(repo.path, remote="origin"), git.branches(repo.path, remote=str(origin.path))):
        assert probe() == {"main": commit, "feature/x": commit}
    assert git.tags(repo.path, remote="origin")() == {"light": commit, "v1": commit}


def test_an_empty_remote_has_none(repo, tmp_path):
    empty = Repository(tmp_path / "empty.git", "--bare")

    assert git.branches(repo.path, remote=str(empty.path))() == {}


@pytest.mark.parametrize("remote", ["nowhere", "--upload-pack=touch written", ""])
def test_a_remote_that_is_invalid_is_reported_in_gits_words(repo, remote):
    with pytest.raises(ProbeError, match="GitError: fatal: "):
        git.branches(repo.path, remote=remote)()


def test_a_branch_that_the_remote_does_not_have_is_named(repo):
    with pytest.raises(ProbeError, match="the remote has no branch 'nope'"):
        git.history(repo.path, "nope", remote="origin")()


def test_a_program_that_a_configuration_names_for_the_other_end_does_not_run(repo, tmp_path):
    repo("config", "remote.origin.uploadpack", f"touch {tmp_path / 'sprung'};")

    assert set(git.branches(repo.path, remote="origin")()) == {"main"}
    assert not (tmp_path / "sprung").exists()
