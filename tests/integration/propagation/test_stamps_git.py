"""Commits say which action made them: real git writes the trailers and reads them."""

from __future__ import annotations

import subprocess

import pytest

from deltaspan import causal_environ, current_causal_tag
from deltaspan.causal_tag import current_causal_root
from deltaspan.stamps.git import causal_tag_of, trailer_arguments
from integration._commits import act, commit, install_hook, new_repository

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"


@pytest.fixture
def git(tmp_path):
    return new_repository(tmp_path)


def test_a_commit_made_in_an_action_carries_its_tag(git, tmp_path):
    tag = act(lambda: commit(git))

    assert causal_tag_of("HEAD", tmp_path) == tag


def test_a_commit_of_a_nested_action_names_the_root_too(git):
    outer = act(lambda: act(lambda: commit(git)))

    assert git("log", "-1", "--format=%(trailers:key=Causal-Root,valueonly)") == outer


def test_the_message_keeps_its_subject_and_body(git):
    act(lambda: commit(git, "Change it\n\nBecause."))

    assert git("log", "-1", "--format=%s/%b").startswith("Change it/Because.\n\nCausal-Tag: ")


def test_outside_any_action_a_commit_carries_nothing(git, tmp_path):
    commit(git)

    assert (causal_tag_of("HEAD", tmp_path), git("log", "-1", "--format=%B")) == (None, "Change it")


def test_of_an_amended_commit_the_last_tag_counts(git, tmp_path):
    act(lambda: commit(git))
    tag = act(lambda: git("commit", "--amend", "--allow-empty", "--no-edit", *trailer_arguments()))

    assert causal_tag_of("HEAD", tmp_path) == tag


def test_a_trailer_that_is_no_canonical_uuid_counts_for_nothing(git, tmp_path):
    git("commit", "--allow-empty", "-m", "Change it", "--trailer", "Causal-Tag: me")

    assert causal_tag_of("HEAD", tmp_path) is None


def test_a_name_that_looks_like_an_option_is_no_option(git, tmp_path):
    commit(git)

    with pytest.raises(subprocess.CalledProcessError):
        causal_tag_of(f"--output={tmp_path / 'written'}", tmp_path)
    assert not (tmp_path / "written").exists()


# The hook -------------------------------------------------------------------------------------------------


@pytest.fixture
def hooked(git, tmp_path):
    install_hook(tmp_path)
    return git


def trailers(git):
    return git("log", "-1", "--format=%(trailers:only,unfold)").splitlines()


@pytest.mark.parametrize("how", [("-m", "Change it"), ("--edit", "-m", "Change it", "-m", "Because.")])
def test_the_hook_stamps_what_a_shell_commits_in_an_action(hooked, how):
    seen = []

    def shell():
        seen.extend([current_causal_tag(), current_causal_root()])
        hooked("commit", "--allow-empty", *how, **causal_environ())

    act(lambda: act(shell))
    assert trailers(hooked) == [f"Causal-Tag: {seen[0]}", f"Causal-Root: {seen[1]}"]


@pytest.mark.parametrize(
    "baggage", ["", "user=ada", "delta.causal_tag.id=x; touch written", f"delta.causal_tag.id={TAG.upper()}"]
)
def test_the_hook_leaves_a_commit_without_a_valid_tag_alone(hooked, tmp_path, baggage):
    hooked("commit", "--allow-empty", "-m", "Change it", BAGGAGE=baggage)

    assert (hooked("log", "-1", "--format=%B"), (tmp_path / "written").exists()) == ("Change it", False)


def test_the_hook_finds_the_tag_among_other_baggage(hooked):
    hooked("commit", "--allow-empty", "-m", "Change it", BAGGAGE=f"user=ada, delta.causal_tag.id={TAG} ,n=1")

    assert trailers(hooked) == [f"Causal-Tag: {TAG}"]


@pytest.mark.parametrize("property_", [";a=b", " ; a=b;c", ";"])
def test_the_hook_reads_a_tag_without_its_properties(hooked, property_):
    hooked("commit", "--allow-empty", "-m", "Change it", BAGGAGE=f"delta.causal_tag.id={TAG}{property_},n=1")

    assert trailers(hooked) == [f"Causal-Tag: {TAG}"]


def test_of_two_tags_in_the_environment_the_hook_takes_the_last_as_baggage_does(hooked):
    other = TAG.replace("3", "4")
    pairs = f"delta.causal_tag.id={other},delta.causal_tag.id={TAG}"
    hooked("commit", "--allow-empty", "-m", "Change it", BAGGAGE=pairs)

    assert trailers(hooked) == [f"Causal-Tag: {TAG}"]
