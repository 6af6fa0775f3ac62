"""The durations of a window that another process captured."""

import time

from deltaspan import Window, unchanged, window


def read_slowly():
    time.sleep(0.05)
    return 1


def test_the_action_begins_when_the_baselines_have_been_read(monkeypatch):
    check = unchanged("rows", read_slowly)
    captured = window("load", check)
    captured.capture_baseline()
    text = captured.to_json()
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 100)

    report = Window.from_json(text, check).verify()

    opening_seconds = report["rows"].baseline_age_ms / 1000 - report.action_seconds
    assert opening_seconds >= 0.049
    assert report.action_seconds >= 100
