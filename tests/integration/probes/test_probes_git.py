"""States that the git probes read of real repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deltaspan import change, collect_reports, expects, tagged, unchanged, window
from deltaspan.exceptions import ProbeError
from deltaspan.probes import git
from deltaspan.stamps.git import trailer_arguments
from integration._git import Repository


@pytest.fixture
def repo(tmp_path):
    return Repository(tmp_path / "repo")


# Commits ---------------------------------------------------------------------------------------------------


def test_a_branch_without_commits_is_read_as_empty(repo):
    path = repo.path

    assert [git.commits(path)(), git.history(path)(), git.log(path)(), git.files(path)()] == [
        0,
        set(),
        [],
        {},
    ]


def test_commits_are_counted_and_named(repo):
    names = {repo.commit(), repo.commit()}

    assert git.commits(repo.path)() == 2
    assert git.history(repo.path)() == names


def test_a_merge_brings_in_the_commits_of_its_branch(repo):
    first = repo.commit(a="1")
    repo("switch", "--quiet", "--create", "feature")
    second = repo.commit(b="1")
    repo("switch", "--quiet", "main")
    third = repo.commit(c="1")
    repo("merge", "--quiet", "--no-edit", "feature")

    assert git.commits(repo.path)() == 4
    assert git.history(repo.path)() == {first, second, third, repo("rev-parse", "HEAD")}
    assert git.history(repo.path, "main..feature")() == set()


def test_a_detached_head_is_read_at_its_commit(repo):
    first, _ = repo.commit(), repo.commit()
    repo("checkout", "--quiet", first)

    assert (git.history(repo.path)(), git.commits(repo.path, "main")()) == ({first}, 2)


def test_a_shallow_clone_has_the_commits_that_it_has(repo, tmp_path):
    repo.commit()
    last = repo.commit()
    repo("clone", "--quiet", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))

    assert git.history(tmp_path / "shallow")() == {last}


def test_a_worktree_has_its_own_head_and_state(repo, tmp_path):
    repo.commit()
    repo("worktree", "add", "--quiet", "-b", "aside", str(tmp_path / "aside"))
    (tmp_path / "aside" / "new").touch()

    assert git.status(tmp_path / "aside")() == {"new": "untracked"}
    assert git.status(repo.path)() == {}
    assert set(git.branches(tmp_path / "aside")()) == {"main", "aside"}


def test_a_bare_repository_has_commits_and_files_and_no_state(repo, tmp_path):
    commit = repo.commit(a="1")
    repo("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    bare = tmp_path / "bare.git"

    assert (git.history(bare)(), set(git.files(bare)()), git.branches(bare)()) == (
        {commit},
        {"a"},
        {"main": commit},
    )
    with pytest.raises(ProbeError, match="must be run in a work tree"):
        git.status(bare)()


# "One commit, and none rewritten" ---------------------------------------------------------------------------


def judged(repo, do):
    with window("fix", change("history", git.history(repo.path)).adding(count=1)) as w:
        do()
    return w.report["history"].outcome


def test_one_commit_on_top_passes(repo):
    repo.commit()

    assert judged(repo, repo.commit) == "pass"


def test_the_first_commit_of_all_passes(repo):
    assert judged(repo, repo.commit) == "pass"


def test_an_amended_commit_fails_even_if_the_count_is_the_same(repo):
    repo.commit()

    assert judged(repo, lambda: repo("commit", "--amend", "--allow-empty", "-m", "Otherwise")) == "fail"


def test_a_squash_into_one_new_commit_fails(repo):
    first = repo.commit()
    repo.commit(a="1")

    assert judged(repo, lambda: (repo("reset", "--soft", first), repo.commit())) == "fail"


def test_commits_are_credited_to_the_action_whose_tag_they_carry(repo):
    mine = tagged(git.log(repo.path), key="id", tag="causal_tag", root="causal_root")
    with window("fix", change("commits", mine).by(1)) as w:
        repo("commit", "--allow-empty", "-m", "Mine", *trailer_arguments())
        repo("commit", "--allow-empty", "-m", "Somebody else's")

    assert (w.report["commits"].outcome, w.report["commits"].untagged) == ("pass", 1)


def test_a_log_tells_the_subject_and_the_tags_newest_first(repo):
    tag = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
    first = repo.commit()
    repo("commit", "--allow-empty", "-m", "Füge\nan\n\nWeil.", "--trailer", f"Causal-Tag: {tag}")

    assert git.log(repo.path)() == [
        git.Commit(repo("rev-parse", "HEAD"), "Füge an", tag, None),
        git.Commit(first, "Change it", None, None),
    ]


# Files and references ---------------------------------------------------------------------------------------


def test_only_the_files_that_were_named_may_change(repo):
    repo.write("tests/test_a.py")
    repo.write("src/a.py")
    repo.commit()
    with window("fix", change("files", git.files(repo.path)).only("src/*.py")) as w:
        repo.write("src/a.py", "fixed")
        repo.write("tests/test_a.py", "skipped")
        repo.commit()

    assert w.report["files"].outcome == "fail"
    assert "but it also modified 'tests/test_a.py'" in w.report["files"].explanation


def test_a_file_that_becomes_executable_has_changed(repo):
    repo.commit(a="1")
    with window("fix", change("files", git.files(repo.path)).modifying("a")) as w:
        (repo.path / "a").chmod(0o755)
        repo.commit()

    assert w.report["files"].outcome == "pass"


def test_a_submodule_is_one_file_at_its_commit(repo, tmp_path):
    library = Repository(tmp_path / "library")
    commit = library.commit(a="1")
    repo("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "library")
    repo.commit()

    assert git.files(repo.path)()["library"] == f"160000 {commit}"


def test_a_folder_of_a_commit_is_read_alone(repo):
    repo.write("src/a.py")
    repo.commit(b="1")

    assert set(git.files(repo.path, "HEAD:src")()) == {"a.py"}


def test_branches_and_tags_name_commits(repo):
    first = repo.commit()
    repo("tag", "light")
    repo("tag", "--annotate", "v1", "-m", "The first")
    repo("switch", "--quiet", "--create", "feature/x")
    second = repo.commit()

    assert git.branches(repo.path)() == {"main": first, "feature/x": second}
    assert git.tags(repo.path)() == {"light": first, "v1": first}


def test_a_path_that_is_not_utf_8_is_reported_whole(repo, recorded):
    name = os.fsdecode(b'caf\xe9 \n".py')
    with window(
        "add",
        change("files", git.files(repo.path)).adding(name),
        change("state", git.status(repo.path)).only(name),
    ) as w:
        repo.write(name)
        repo.commit()
        repo.write(name, "other")

    assert [check.outcome for check in w.report] == ["pass", "pass"]
    assert "caf\\udce9" in str(recorded.spans[-1].attributes["deltaspan.post_state.files"])


# Scopes -----------------------------------------------------------------------------------------------------


def test_a_probe_reads_the_repository_and_the_branch_that_the_action_is_given(repo):
    @expects(
        change("history", git.history("{repo}", "{branch}")).adding(count=1),
        unchanged("others", git.branches("{repo}")).ignoring("main"),
    )
    def fix(repo: Path, branch: str):
        Repository(repo).commit()

    repo.commit()
    with collect_reports() as reports:
        fix(repo.path, "main")

    assert [(check.outcome, check.attribution) for check in reports[0]] == [("pass", "scoped")] * 2


# Remotes ----------------------------------------------------------------------------------------------------


@pytest.fixture
def origin(tmp_path):
    return Repository(tmp_path / "origin.git", "--bare")


@pytest.fixture
def clone(tmp_path, origin):
    made = Repository(tmp_path / "repo")
    made("remote", "add", "origin", str(origin.path))
    made.commit(a="1")
    made("push", "--quiet", "origin", "main")
    return made


def pushing(clone, do):
    pushed = git.history(clone.path, "main", remote="origin")
    with window("push", change("pushed", pushed).adding(count=1)) as w:
        do()
    return w.report["pushed"]


def push(clone, *options):
    clone.commit()
    clone("push", "--quiet", *options, "origin", "main")


def test_a_pushed_commit_passes(clone):
    assert pushing(clone, lambda: push(clone)).outcome == "pass"


def test_a_commit_that_was_not_pushed_is_not(clone):
    def pretend():
        clone.commit()
        clone("update-ref", "refs/remotes/origin/main", "HEAD")

    assert pushing(clone, pretend).outcome == "fail"


def test_a_forced_push_fails_and_names_the_removed_commit(clone):
    def force():
        clone("commit", "--quiet", "--amend", "--allow-empty", "-m", "Otherwise")
        clone("push", "--quiet", "--force", "origin", "main")

    lost = clone("rev-parse", "HEAD")
    report = pushing(clone, force)

    assert report.outcome == "fail"
    assert f"but it also removed '{lost}', which was not declared" in report.explanation


def test_a_push_by_somebody_else_is_inconclusive_if_it_was_not_fetched(clone, origin, tmp_path):
    def elsewhere():
        origin("clone", "--quiet", ".", str(tmp_path / "other"))
        push(Repository(tmp_path / "other"))

    report = pushing(clone, elsewhere)

    assert (report.outcome, report.reason) == ("inconclusive", "probe_failed")
    assert "bad object" in report.explanation


def test_branches_and_tags_of_a_remote_name_commits(clone, origin):
    commit = clone("rev-parse", "HEAD")
    clone("tag", "light")
    clone("tag", "--annotate", "v1", "-m", "The first")
    clone("push", "--quiet", "origin", "main:refs/heads/feature/x", "v1", "light")

    for probe in (
        git.branches(clone.path, remote="origin"),
        git.branches(clone.path, remote=str(origin.path)),
    ):
        assert probe() == {"main": commit, "feature/x": commit}
    assert git.tags(clone.path, remote="origin")() == {"light": commit, "v1": commit}


def test_an_empty_remote_has_no_branches(clone, tmp_path):
    empty = Repository(tmp_path / "empty.git", "--bare")

    assert git.branches(clone.path, remote=str(empty.path))() == {}


@pytest.mark.parametrize("remote", ["nowhere", "--upload-pack=touch written", ""])
def test_a_remote_that_is_invalid_is_reported_in_gits_words(clone, remote):
    with pytest.raises(ProbeError, match="GitError: fatal: "):
        git.branches(clone.path, remote=remote)()


def test_a_branch_that_the_remote_does_not_have_is_named(clone):
    with pytest.raises(ProbeError, match="the remote has no branch 'nope'"):
        git.history(clone.path, "nope", remote="origin")()


def test_a_program_that_a_configuration_names_for_the_other_end_does_not_run(clone, tmp_path):
    clone("config", "remote.origin.uploadpack", f"touch {tmp_path / 'sprung'};")

    assert set(git.branches(clone.path, remote="origin")()) == {"main"}
    assert not (tmp_path / "sprung").exists()
