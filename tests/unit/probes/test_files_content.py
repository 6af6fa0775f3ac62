"""The text of a file, and the lines appended to a log."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from deltaspan import change, expects, observe, unchanged, window
from deltaspan.exceptions import DefinitionError, DefinitionValueError, ProbeError
from deltaspan.probes import files
from deltaspan.probes._files import _lines
from deltaspan.probes.files import lines, text


def append(log, *added, end="\n"):
    with log.open("ab") as file:
        file.write("".join(f"{line}{end}" for line in added).encode())


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "app.log"
    file.write_text("one\ntwo\n")
    return file


# text -----------------------------------------------------------------------------------------------------


def test_text_is_the_whole_text_with_its_line_ends(tmp_path):
    (tmp_path / "a").write_bytes("é\r\nb\n".encode())

    assert text(tmp_path / "a")() == "é\r\nb\n"


def test_a_missing_text_is_an_error_unless_it_may_be_missing(tmp_path):
    with pytest.raises(ProbeError, match="No such file or directory"):
        text(tmp_path / "a")()

    assert text(tmp_path / "a", missing_ok=True)() is None


def test_a_file_that_is_made_and_one_that_is_empty_are_two_states(tmp_path):
    with window("make", change("a", text(tmp_path / "a", missing_ok=True)).from_(None).to("")) as w:
        (tmp_path / "a").touch()

    assert w.report.passed


def test_a_file_in_another_encoding_is_an_error(tmp_path):
    (tmp_path / "a").write_bytes(b"caf\xe9")
    with pytest.raises(ProbeError, match="can't decode byte 0xe9"):
        text(tmp_path / "a")()

    assert text(tmp_path / "a", encoding="latin-1")() == "café"


def test_a_text_over_its_limit_names_another_probe(tmp_path):
    (tmp_path / "a").write_text("abc")
    assert text(tmp_path / "a", limit=3)() == "abc"
    with pytest.raises(ProbeError, match=r"more than 2 bytes: raise limit=, .* tree\(folder, glob=name"):
        text(tmp_path / "a", limit=2)()


@pytest.mark.parametrize("probe", [text, lines])
@pytest.mark.parametrize("path", ["/dev/zero", "{pipe}", "{folder}"])
def test_a_path_that_is_not_a_regular_file_is_an_error_without_blocking(tmp_path, probe, path):
    os.mkfifo(tmp_path / "pipe")
    path = path.format(pipe=tmp_path / "pipe", folder=tmp_path)
    with pytest.raises(ProbeError, match=r"not a file|Is a directory"):
        probe(Path(path))()


def test_an_encoding_that_does_not_exist_is_rejected():
    with pytest.raises(DefinitionValueError, match="unknown encoding: utf-9"):
        text("a", encoding="utf-9")


@pytest.mark.parametrize("probe", [text, lines])
def test_a_limit_that_is_invalid_is_rejected(probe):
    with pytest.raises(DefinitionError, match="limit=0"):
        probe("a", limit=0)


# lines ----------------------------------------------------------------------------------------------------


def judged(log, check, *added, **options):
    with window("run", check) as w:
        append(log, *added, **options)
    return w.report


def test_appended_lines_are_the_added_members(log):
    check = change("log", lines(log)).adding("three", "four")

    assert judged(log, check, "three", "four").passed
    assert judged(log, check, "three", "four").passed
    assert judged(log, check, "four").outcome == "fail"


def test_lines_can_be_counted(log):
    assert judged(log, change("log", lines(log)).adding(count=2), "same", "same").passed
    assert judged(log, change("log", lines(log)).resizing(3), "a", "b", "c").passed


def test_a_delta_shows_the_lines(log):
    report = judged(log, change("log", lines(log)).adding("x").showing(), "y")

    assert report["log"].actual_delta["added"] == ("y",)
    assert report["log"].explanation == (
        "expected log to change by adding 'x', but it did not add 'x' and it added 'y', which was not "
        "declared ([range(0, 8)] → [range(0, 8), 'y'])"
    )


def test_line_ends_of_either_kind_are_not_part_of_a_line(log):
    assert judged(log, change("log", lines(log)).adding("a", ""), "a", "", end="\r\n").passed


def test_a_line_without_an_end_is_seen_as_it_grows(log):
    assert judged(log, change("log", lines(log)).adding("half"), "half", end="").passed

    report = judged(log, change("log", lines(log)).removing("half").adding("half a line"), " a line")
    assert report.passed


def test_a_log_that_stays_is_unchanged_and_one_more_line_is_a_change(log):
    assert judged(log, unchanged("log", lines(log))).passed
    assert judged(log, unchanged("log", lines(log)), "x").outcome == "fail"


def test_lines_with_bytes_that_are_not_utf_8_are_escaped(log):
    with window("run", change("log", lines(log)).adding(r"caf\xe9")) as w, log.open("ab") as file:
        file.write(b"caf\xe9\n")

    assert w.report.passed


def test_each_of_two_overlapping_windows_sees_the_lines_since_its_own_baseline(log):
    probe = lines(log)
    outer = window("outer", observe("log", probe).showing())
    outer.capture_baseline()
    append(log, "a")
    inner = window("inner", observe("log", probe).showing())
    inner.capture_baseline()
    append(log, "b")

    assert outer.verify()["log"].actual_delta["added"] == ("a", "b")
    append(log, "c")
    assert inner.verify()["log"].actual_delta["added"] == ("b", "c")


def test_a_nested_action_has_its_own_baseline(log):
    probe = lines(log)

    @expects(change("log", probe).adding("inner"), on_failure="raise")
    def inner():
        append(log, "inner")

    @expects(change("log", probe).adding("outer", "inner"), on_failure="raise")
    def outer():
        append(log, "outer")
        inner()

    outer()


def test_many_threads_read_one_probe(log):
    failed = []

    @expects(change("log", lines("{path}")).adding(lambda name: f"{name}"), on_report=failed.append)
    def act(path, name):
        append(Path(path), name)

    def run(number):
        own = log.with_name(f"{number}.log")
        own.touch()
        for turn in range(20):
            act(own, f"{number}-{turn}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {report.outcome for report in failed} == {"pass"}
    assert len(failed) == 160


async def test_an_async_action_reads_a_log_in_a_thread_from_its_own_baseline(log):
    @expects(change("log", lines(log)).adding("late").eventually(5, every=0.01), on_failure="raise")
    async def act():
        asyncio.get_running_loop().call_later(0.05, append, log, "late")

    await act()


def test_a_log_that_is_missing_is_an_error_unless_it_may_be(tmp_path):
    log = tmp_path / "new.log"
    with pytest.raises(ProbeError, match="No such file or directory"):
        lines(log)()

    assert judged(log, change("log", lines(log, missing_ok=True)).adding("first"), "first").passed


def rotated(log):
    log.rename(log.with_suffix(".1"))
    append(log, "much longer than what was there before")


def removed(log):
    log.unlink()


def truncated(log):
    log.write_text("one\n")


def rewritten(log):
    log.write_text("eno\nowt\nthree\n")


@pytest.mark.parametrize(
    ("happening", "said"),
    [
        (rotated, "another file in its place"),
        (removed, "No such file or directory"),
        (truncated, "become shorter"),
        (rewritten, "been rewritten"),
    ],
)
def test_a_log_that_is_another_one_than_at_the_baseline_is_inconclusive(log, happening, said):
    with window("run", unchanged("log", lines(log, missing_ok=True))) as w:
        append(log, "unseen")
        happening(log)

    assert w.report["log"].reason == "probe_failed"
    assert said in w.report["log"].explanation


def test_more_than_the_limit_is_inconclusive(log):
    report = judged(log, unchanged("log", lines(log, limit=10)), "0123456789")

    assert "found more than 10 bytes appended: raise limit=" in report["log"].explanation


def test_a_file_without_line_ends_is_an_error(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 70_000)
    with pytest.raises(ProbeError, match="no line end in the last 65536 bytes"):
        lines(tmp_path / "a")()


def test_a_window_that_goes_to_another_process_is_rejected(log):
    open_regular = window("run", observe("log", lines(log)).showing())
    open_regular.capture_baseline()

    with pytest.raises(DefinitionValueError, match="a range at 0"):
        open_regular.to_json()
    open_regular.verify()


def test_the_beginnings_that_are_remembered_are_bounded(log, monkeypatch):
    monkeypatch.setattr(_lines, "MAX_RUNS", 3)
    probe = lines(log)
    for _ in range(5):
        assert judged(log, change("log", probe).adding("x"), "x").passed

    assert len(probe._read.__closure__[0].cell_contents._ends) == 3


def bytes_read():
    """Return the bytes that this process has read, as the system counts them."""
    counted = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counted["rchar"])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="only Linux counts them")
def test_old_lines_are_not_read_again_nor_even_once(tmp_path):
    log = tmp_path / "large.log"
    with log.open("wb") as file:
        for _ in range(100):
            file.write(b"an old line that nobody wants to read!!!\n"[-40:] * 25_000)
    assert log.stat().st_size == 100_000_000

    before = bytes_read()
    report = judged(log, change("log", lines(log)).adding("new"), "new")

    assert report.passed
    assert bytes_read() - before < 500_000


@pytest.mark.parametrize("tenant", ["*", "?", "[a]", "**", "a*", "{tenant}", "-"])
def test_a_hostile_argument_reads_only_its_own_files(tmp_path, tenant):
    for folder in (tenant, "a", "acme", "other"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "1").write_text("1")
    glob = files.tree(tmp_path, glob="{tenant}/*", content=True)

    assert list(glob(tenant=tenant)) == [f"{tenant}/1"]
    assert list(files.tree(f"{tmp_path}/{{tenant}}")(tenant=tenant)) == ["1"]


@pytest.mark.parametrize("tenant", ["", "..", "../..", "/", "/etc", ".", "acme/..", "acme/../.."])
def test_an_argument_that_would_name_another_folder_has_no_state(tmp_path, tenant):
    (tmp_path / "acme").mkdir()

    with pytest.raises(ProbeError, match=r"the field \{tenant\}"):
        files.count(f"{tmp_path}/{{tenant}}")(tenant=tenant)


@pytest.mark.parametrize("make", [files.text, files.lines])
def test_the_content_of_a_file_is_shown_only_on_request(tmp_path, make):
    file = tmp_path / "note"
    file.write_text("canary-before\n")
    with window("act", change("x", make(file)), change("y", make(file)).showing()) as w:
        file.write_text("canary-before\ncanary-after\n")

    assert "canary" not in str(w.report["x"])
    assert "canary-after" in str(w.report["y"])
