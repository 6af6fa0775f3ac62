"""Causal tags in commit trailers, written and read by a real git."""

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


def test_a_commit_outside_any_action_has_no_trailer(git, tmp_path):
    commit(git)

    assert (causal_tag_of("HEAD", tmp_path), git("log", "-1", "--format=%B")) == (None, "Change it")


def test_the_last_tag_of_an_amended_commit_counts(git, tmp_path):
    act(lambda: commit(git))
    tag = act(lambda: git("commit", "--amend", "--allow-empty", "--no-edit", *trailer_arguments()))

    assert causal_tag_of("HEAD", tmp_path) == tag


def test_a_trailer_that_is_not_a_canonical_uuid_is_ignored(git, tmp_path):
    git("commit", "--allow-empty", "-m", "Change it", "--trailer", "Causal-Tag: me")

    assert causal_tag_of("HEAD", tmp_path) is None


def test_a_revision_that_looks_like_an_option_is_not_passed_as_one(git, tmp_path):
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
def test_the_hook_stamps_commits_of_a_shell_inside_an_action(hooked, how):
    seen = []

    def shell():
        seen.extend([current_causal_tag(), current_causal_root()])
        hooked("commit", "--allow-empty", *how, **causal_environ())

    act(lambda: act(shell))
    assert trailers(hooked) == [f"Causal-Tag: {seen[0]}", f"Causal-Root: {seen[1]}"]


@pytest.mark.parametrize(
    "baggage",
    ["", "user=ada", "deltaspan.causal_tag.id=x; touch written", f"deltaspan.causal_tag.id={TAG.upper()}"],
)
def test_the_hook_leaves_a_commit_without_a_valid_tag_alone(hooked, tmp_path, baggage):
    hooked("commit", "--allow-empty", "-m", "Change it", BAGGAGE=baggage)

    assert (hooked("log", "-1", "--format=%B"), (tmp_path / "written").exists()) == ("Change it", False)


def test_the_hook_finds_the_tag_among_other_baggage(hooked):
    hooked(
        "commit", "--allow-empty", "-m", "Change it", BAGGAGE=f"user=ada, deltaspan.causal_tag.id={TAG} ,n=1"
    )

    assert trailers(hooked) == [f"Causal-Tag: {TAG}"]


@pytest.mark.parametrize("property_", [";a=b", " ; a=b;c", ";"])
def test_the_hook_reads_a_tag_without_its_properties(hooked, property_):
    hooked(
        "commit", "--allow-empty", "-m", "Change it", BAGGAGE=f"deltaspan.causal_tag.id={TAG}{property_},n=1"
    )

    assert trailers(hooked) == [f"Causal-Tag: {TAG}"]


def test_the_hook_uses_the_last_of_two_tags_as_baggage_does(hooked):
    other = TAG.replace("3", "4")
    pairs = f"deltaspan.causal_tag.id={other},deltaspan.causal_tag.id={TAG}"
    hooked("commit", "--allow-empty", "-m", "Change it", BAGGAGE=pairs)

    assert trailers(hooked) == [f"Causal-Tag: {TAG}"]


# Commits that are not stamped -------------------------------------------------------------------------------

FORGED = "7c1f0f5e-2222-4333-8444-555566667777"


def by_arguments(git, folder, message):
    return act(lambda: commit(git, message))


def by_hook(git, folder, message):
    install_hook(folder)
    return act(lambda: git("commit", "--allow-empty", "-m", message, **causal_environ()))


def by_hook_after_an_editor(git, folder, message):
    install_hook(folder)
    return act(lambda: git("commit", "--allow-empty", "--edit", "-m", message, **causal_environ()))


def by_both(git, folder, message):
    install_hook(folder)
    return act(lambda: commit(git, message, **causal_environ()))


WAYS = [by_arguments, by_hook, by_hook_after_an_editor, by_both]
MESSAGES = {
    "an ordinary one": "Change it\n\nBecause.",
    "a divider": "Change it\n\nBody\n---\nmore",
    "a divider at the end": "Change it\n\nBody\n\n---",
    "two dividers": "Change it\n\n---\nBody\n--- \nmore\n",
    "a diff": "Change it\n\n--- a/file\n+++ b/file\n",
    "trailers of others": "Change it\n\nBug: 43\nSigned-off-by: ada <ada@localhost>",
    "a forged trailer": f"Change it\n\nCausal-Tag: {FORGED}",
    "a forged pair": f"Change it\n\nCausal-Tag: {FORGED}\nCausal-Root: {FORGED}",
    "a mention": f"Change it\n\nAs did\nCausal-Tag: {FORGED}\nlast week.",
    "a mention above": f"Change it\n\nCausal-Tag: {FORGED}\n\nwas wrong.",
    "a colon": "fix: change it",
    "not ASCII": "Ändere es\n\nÖl: jä",
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
@pytest.mark.parametrize("way", WAYS)
def test_the_stamp_is_found_in_any_commit_message(git, tmp_path, way, message):
    assert way(git, tmp_path, message) == causal_tag_of("HEAD", tmp_path)


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_nothing_of_the_message_is_lost(git, tmp_path, message):
    by_hook(git, tmp_path, message)

    written = git("log", "-1", "--format=%B").splitlines()
    assert [line for line in message.splitlines() if line.rstrip() not in written] == []


@pytest.mark.parametrize("message", ["Change it", MESSAGES["a mention"], MESSAGES["a mention above"]])
def test_a_commit_outside_any_action_has_no_stamp_even_if_its_text_mentions_one(git, tmp_path, message):
    commit(git, message)

    assert causal_tag_of("HEAD", tmp_path) is None


# Configuration --------------------------------------------------------------------------------------------

CONFIGURED = {
    "where=start": {"trailer.where": "start"},
    "where=start for ours": {"trailer.Causal-Tag.where": "start", "trailer.causal-root.where": "before"},
    "ifExists=doNothing": {"trailer.ifExists": "doNothing"},
    "ifExists=doNothing for ours": {"trailer.Causal-Tag.ifExists": "doNothing"},
    "ifExists=replace": {"trailer.ifExists": "replace"},
    "ifMissing=doNothing": {"trailer.ifMissing": "doNothing"},
    "ifMissing=doNothing for ours": {"trailer.causal-tag.ifMissing": "doNothing"},
    "another name": {"trailer.Causal-Tag.key": "Foo", "trailer.Causal-Root.key": "Bar "},
    "other separators": {"trailer.separators": "#="},
    "a comment is C": {"core.commentChar": "C"},
    "UTF-16": {"i18n.logOutputEncoding": "UTF-16"},
    "Latin-1": {"i18n.logOutputEncoding": "ISO-8859-1", "i18n.commitEncoding": "ISO-8859-1"},
    "colours": {"color.ui": "always"},
    "signatures": {"log.showSignature": "true"},
}


def configure(git, settings):
    for name, value in settings.items():
        git("config", name, value)


# If comments begin with C, git keeps added trailers above a forged pair, which it reads as a comment.
CASES = [
    (name, message)
    for name in CONFIGURED
    for message in ["an ordinary one", "a forged pair", "a divider"]
    if (name, message) != ("a comment is C", "a forged pair")
]


@pytest.mark.parametrize(("name", "message"), CASES)
def test_the_hook_stamps_under_any_git_configuration(git, tmp_path, name, message):
    configure(git, CONFIGURED[name])

    assert by_hook(git, tmp_path, MESSAGES[message]) == causal_tag_of("HEAD", tmp_path)


@pytest.mark.parametrize("settings", CONFIGURED.values(), ids=CONFIGURED)
@pytest.mark.parametrize("way", [by_arguments, by_hook])
def test_a_stamp_is_read_under_any_later_git_configuration(git, tmp_path, way, settings):
    tag = way(git, tmp_path, "Ändere es\n\nBody\n---\nmore")
    configure(git, settings)

    assert causal_tag_of("HEAD", tmp_path) == tag


def test_a_stamp_among_prose_is_found_where_git_takes_the_paragraph_for_trailers(git, tmp_path):
    configure(git, {"trailer.issue.key": "Issue: "})
    tag = by_hook(git, tmp_path, "Change it\n\nSome text\nIssue: 43")

    assert git("log", "-1", "--format=%B").startswith("Change it\n\nSome text\nIssue: 43\nCausal-Tag: ")
    assert causal_tag_of("HEAD", tmp_path) == tag


@pytest.mark.parametrize("name", ["other separators", "a comment is C", "UTF-16", "Latin-1", "colours"])
def test_the_arguments_stamp_where_the_configuration_does_not_speak_of_trailers(git, tmp_path, name):
    configure(git, CONFIGURED[name])

    assert by_arguments(git, tmp_path, "Change it") == causal_tag_of("HEAD", tmp_path)


@pytest.mark.parametrize("name", ["ifMissing=doNothing", "another name"])
def test_the_arguments_do_as_the_configuration_of_trailers_says(git, tmp_path, name):
    configure(git, CONFIGURED[name])
    by_arguments(git, tmp_path, "Change it")

    assert causal_tag_of("HEAD", tmp_path) is None


def test_trailers_of_others_keep_the_separators_that_are_configured(git, tmp_path):
    configure(git, CONFIGURED["other separators"])
    tag = by_hook(git, tmp_path, "Change it\n\nBug #43")

    assert git("log", "-1", "--format=%B").splitlines() == [
        "Change it",
        "",
        "Bug# 43",  # git's own way to write it
        f"Causal-Tag: {tag}",
        f"Causal-Root: {tag}",
    ]
    assert causal_tag_of("HEAD", tmp_path) == tag


@pytest.mark.parametrize("raw", [b"Change it \xff\xfe\n", b"\xff\xfe\n\nCausal-Tag: \xff\n", b""])
def test_a_binary_commit_message_is_not_an_error(git, tmp_path, raw):
    file = tmp_path / "message"
    file.write_bytes(raw)
    tree = git("write-tree")
    made = git("commit-tree", tree, "-F", str(file))

    assert causal_tag_of(made, tmp_path) is None


def test_an_annotated_tag_names_the_commit(git, tmp_path):
    tag = by_arguments(git, tmp_path, "Change it")
    git("tag", "-a", "-m", f"Release\n\nCausal-Tag: {FORGED}", "v1")

    assert causal_tag_of("v1", tmp_path) == tag
