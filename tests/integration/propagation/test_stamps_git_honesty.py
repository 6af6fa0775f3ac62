"""A commit's stamp is written and found whatever the message says and however git is configured."""

from __future__ import annotations

import pytest

from deltaspan import causal_environ
from deltaspan.stamps.git import causal_tag_of
from integration._commits import act, commit, install_hook, new_repository

FORGED = "7c1f0f5e-2222-4333-8444-555566667777"


@pytest.fixture
def git(tmp_path):
    return new_repository(tmp_path)


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
def test_the_stamp_is_found_whatever_the_message_says(git, tmp_path, way, message):
    assert way(git, tmp_path, message) == causal_tag_of("HEAD", tmp_path)


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_nothing_of_the_message_is_lost(git, tmp_path, message):
    by_hook(git, tmp_path, message)

    written = git("log", "-1", "--format=%B").splitlines()
    assert [line for line in message.splitlines() if line.rstrip() not in written] == []


@pytest.mark.parametrize("message", ["Change it", MESSAGES["a mention"], MESSAGES["a mention above"]])
def test_a_commit_outside_any_action_has_no_stamp_even_where_its_text_mentions_one(git, tmp_path, message):
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


# Where C begins a comment, git keeps what it adds above a forged pair, which it takes for one.
CASES = [
    (name, message)
    for name in CONFIGURED
    for message in ["an ordinary one", "a forged pair", "a divider"]
    if (name, message) != ("a comment is C", "a forged pair")
]


@pytest.mark.parametrize(("name", "message"), CASES)
def test_the_hook_stamps_however_git_is_configured(git, tmp_path, name, message):
    configure(git, CONFIGURED[name])

    assert by_hook(git, tmp_path, MESSAGES[message]) == causal_tag_of("HEAD", tmp_path)


@pytest.mark.parametrize("settings", CONFIGURED.values(), ids=CONFIGURED)
@pytest.mark.parametrize("way", [by_arguments, by_hook])
def test_a_stamp_is_read_however_git_is_configured_afterwards(git, tmp_path, way, settings):
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
def test_a_message_that_is_no_text_is_no_error(git, tmp_path, raw):
    file = tmp_path / "message"
    file.write_bytes(raw)
    tree = git("write-tree")
    made = git("commit-tree", tree, "-F", str(file))

    assert causal_tag_of(made, tmp_path) is None


def test_an_annotated_tag_names_the_commit(git, tmp_path):
    tag = by_arguments(git, tmp_path, "Change it")
    git("tag", "-a", "-m", f"Release\n\nCausal-Tag: {FORGED}", "v1")

    assert causal_tag_of("v1", tmp_path) == tag
