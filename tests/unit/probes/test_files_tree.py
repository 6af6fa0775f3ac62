"""Trees of files: members, changes, and unusual files of an agent."""

import hashlib
import os
import shutil
import socket
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspan import change, unchanged, window
from deltaspan.exceptions import DefinitionError, DefinitionValueError, ProbeError
from deltaspan.probes.files import count, tree
from support.files import make, paths

# Members --------------------------------------------------------------------------------------------------


def test_a_tree_is_path_to_size_and_time(tmp_path):
    make(tmp_path, "a/b/c.txt")
    os.utime(tmp_path / "a/b/c.txt", ns=(1, 1_700_000_000_123_456_789))

    assert tree(tmp_path)() == {"a/b/c.txt": (9, 1_700_000_000_123_456_789)}


def test_a_tree_with_content_maps_paths_to_size_and_digest(tmp_path):
    make(tmp_path, "a")

    assert tree(tmp_path, content=True)() == {"a": (1, hashlib.sha256(b"a").hexdigest())}


def test_a_touch_is_a_change_of_time_and_none_of_content(tmp_path):
    make(tmp_path, "a")
    times, contents = tree(tmp_path), tree(tmp_path, content=True)
    with window("touch", change("t", times).modifying("a"), unchanged("c", contents)) as w:
        os.utime(tmp_path / "a", ns=(1, 1))

    assert w.report.passed


def test_a_write_that_keeps_size_and_time_is_detected_only_by_content(tmp_path):
    make(tmp_path, "a")
    before = (tmp_path / "a").stat()
    with window(
        "forge", change("t", tree(tmp_path)), change("c", tree(tmp_path, content=True)).modifying("a")
    ) as w:
        (tmp_path / "a").write_text("b")
        os.utime(tmp_path / "a", ns=(before.st_atime_ns, before.st_mtime_ns))

    assert [check.outcome for check in w.report] == ["fail", "pass"]


def test_a_chmod_is_not_a_change(tmp_path):
    make(tmp_path, "a")
    with window("chmod", unchanged("t", tree(tmp_path)), unchanged("c", tree(tmp_path, content=True))) as w:
        (tmp_path / "a").chmod(0o400)

    assert w.report.passed


def test_empty_folders_are_not_seen(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)

    assert paths(tmp_path) == set()


CONTENTS = st.binary(max_size=3)
FILES = ["a", "b", "d/a", "d/e/a", "A", "é"]


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(st.sampled_from(FILES), CONTENTS),
    st.lists(st.tuples(st.sampled_from(FILES), st.none() | CONTENTS)),
)
def test_the_delta_of_a_tree_matches_the_changes_of_its_files(tmp_path_factory, before, acts):
    root = tmp_path_factory.mktemp("tree")
    state = dict(before)

    def act(file, content):
        state.pop(file, None)
        (root / file).unlink(missing_ok=True)
        if content is not None:
            state[file] = content
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_bytes(content)

    for file, content in before.items():
        act(file, content)
    with window("acts", change("tree", tree(root, content=True))) as w:
        for file, content in acts:
            act(file, content)
    found = w.report["tree"].actual_delta
    shutil.rmtree(root)

    assert set(found["added"]) == state.keys() - before.keys()
    assert set(found["removed"]) == before.keys() - state.keys()
    assert set(found["modified"]) == {f for f in state.keys() & before.keys() if state[f] != before[f]}


# Selection ------------------------------------------------------------------------------------------------

ALL = ("a.csv", "b.txt", "raw/a.csv", "raw/x/b.csv", "raw/x/b.txt", "out/a.csv")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, set(ALL)),
        ({"glob": "*.csv"}, {"a.csv"}),
        ({"glob": "**/*.csv"}, {"a.csv", "raw/a.csv", "raw/x/b.csv", "out/a.csv"}),
        ({"glob": "raw/**"}, {"raw/a.csv", "raw/x/b.csv", "raw/x/b.txt"}),
        ({"glob": "raw/**/b.*"}, {"raw/x/b.csv", "raw/x/b.txt"}),
        ({"glob": "*/[!o].csv"}, {"raw/a.csv", "out/a.csv"}),
        ({"glob": ["?.txt", "out/*"]}, {"b.txt", "out/a.csv"}),
        ({"glob": "raw"}, set()),
        ({"ignore": "raw"}, {"a.csv", "b.txt", "out/a.csv"}),
        ({"ignore": "**/x"}, {"a.csv", "b.txt", "raw/a.csv", "out/a.csv"}),
        ({"ignore": ["**/a.*", "*.txt"]}, {"raw/x/b.csv", "raw/x/b.txt"}),
        ({"glob": "**/*.csv", "ignore": "raw/**"}, {"a.csv", "out/a.csv"}),
    ],
)
def test_patterns_say_which_files_are_read(tmp_path, options, found):
    make(tmp_path, *ALL)

    assert paths(tmp_path, **options) == found
    assert count(tmp_path, **options)() == len(found)


@pytest.mark.parametrize("pattern", ["", "/etc/*", "a//b", "../x", "./a", "a/", "raw**", "x/**b"])
@pytest.mark.parametrize("role", ["glob", "ignore"])
def test_a_pattern_that_matches_no_path_is_rejected(role, pattern):
    with pytest.raises(DefinitionValueError, match=f"pattern .* of {role}= matches no path"):
        tree(".", **{role: pattern})


@pytest.mark.parametrize("wrong", [[], [3]])
def test_patterns_of_the_wrong_kind_are_rejected(wrong):
    with pytest.raises(DefinitionError, match="glob="):
        tree(".", glob=wrong)


# Unusual files --------------------------------------------------------------------------------------------


def test_a_symlink_is_an_entry_of_its_own_for_every_target(tmp_path):
    make(tmp_path, "root/a", "elsewhere/secret")
    root = tmp_path / "root"
    for name, target in {"file": "a", "folder": "../elsewhere", "dangling": "none", "loop": "."}.items():
        (root / name).symlink_to(target)
    state = tree(root, content=True)()

    assert {name: state[name] for name in ("file", "folder", "dangling", "loop")} == {
        "file": (1, "link to a"),
        "folder": (12, "link to ../elsewhere"),
        "dangling": (4, "link to none"),
        "loop": (1, "link to ."),
    }
    assert state.keys() == tree(root)().keys() == {"a", "file", "folder", "dangling", "loop"}


def test_a_symlink_with_a_new_target_has_changed(tmp_path):
    (tmp_path / "current").symlink_to("v1")
    with window("deploy", change("current", tree(tmp_path, content=True)).modifying("current")) as w:
        (tmp_path / "current").unlink()
        (tmp_path / "current").symlink_to("v2")

    assert w.report.passed


def test_a_root_that_is_a_symlink_is_followed(tmp_path):
    make(tmp_path, "v1/a")
    (tmp_path / "current").symlink_to("v1")

    assert paths(tmp_path / "current") == {"a"}


def test_pipes_and_sockets_are_entries_and_are_not_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")

        assert tree(".", content=True)() == {"pipe": (0, "fifo"), "socket": (0, "socket")}
        assert paths(".") == {"pipe", "socket"}


def test_names_that_are_not_utf_8_stay_apart_and_can_be_printed(tmp_path):
    names = [b"caf\xe9", b"caf\\xe9", "café".encode(), b"caf\\\xe9", b"caf\xe8"]
    for name in names:
        (tmp_path / os.fsdecode(name)).touch()

    assert paths(tmp_path) == {r"caf\xe9", r"caf\\xe9", "café", r"caf\\\xe9", r"caf\xe8"}


def test_the_forms_of_a_name_and_its_case_stay_apart_as_the_file_system_keeps_them(tmp_path):
    for name in ("\u00e9", "e\u0301", "A", "a"):
        (tmp_path / name).touch()

    assert paths(tmp_path) == set(os.listdir(tmp_path))  # noqa: PTH208  # what the system itself says


@pytest.mark.parametrize("probe", [tree, count])
def test_a_folder_that_becomes_a_link_during_the_walk_leads_nowhere(tmp_path, monkeypatch, probe):
    make(tmp_path, "root/sub/file", "outside/secret")
    scandir = os.scandir

    def swap_and_list(path):
        if os.path.basename(path) == "sub":  # noqa: PTH119  # what the walk gives
            monkeypatch.setattr(os, "scandir", scandir)
            (tmp_path / "root/sub").rename(tmp_path / "gone")
            (tmp_path / "root/sub").symlink_to(tmp_path / "outside")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", swap_and_list)
    with pytest.raises(ProbeError, match="it has become a link since it was listed"):
        probe(tmp_path / "root")()

    assert paths(tmp_path / "root") == {"sub"}


def test_files_that_disappear_during_the_walk_are_not_an_error(tmp_path):
    make(tmp_path, *(f"{folder}/stays" for folder in range(20)))
    done = threading.Event()

    def churn():
        while not done.is_set():
            for folder in range(20):
                (tmp_path / f"{folder}/new").mkdir()
                make(tmp_path, f"{folder}/new/file", f"{folder}/file")
            for folder in range(20):
                shutil.rmtree(tmp_path / f"{folder}/new")
                (tmp_path / f"{folder}/file").unlink()

    writer = threading.Thread(target=churn)
    writer.start()
    try:
        for content in (False, True) * 40:
            found = tree(tmp_path, content=content)()
            assert {path for path in found if path.endswith("stays")} == {f"{n}/stays" for n in range(20)}
    finally:
        done.set()
        writer.join()
