"""A soft time limit of a real Celery worker, which ends an action or the read before it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration._services import HOST, free_port, program, running

pytestmark = pytest.mark.services
TESTS = Path(__file__).parents[2]
CALLS = """
import json
from integration._limited_tasks import afterwards, limited
found = {
    "while the probe reads": limited.delay(30, 0).get(timeout=120),
    "while the action runs": limited.delay(0, 30).get(timeout=120),
    "afterwards": afterwards.delay().get(timeout=120),
}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Values recorded by the tasks, which run in one process of one worker."""
    import redis  # noqa: PLC0415  # installed for these tests alone

    number = free_port()
    environ = {"PYTHONPATH": str(TESTS), "REDIS_URL": f"redis://{HOST}:{number}/"}
    server = [program("redis-server", "redis-server"), "--port", str(number), "--bind", HOST, "--save", ""]
    celery = [sys.executable, "-m", "celery", "-A", "integration._limited_tasks"]

    def run(command):
        whole = os.environ | environ
        return subprocess.run(command, env=whole, check=True, capture_output=True, text=True, timeout=150)

    worker = ["env", *[f"{key}={value}" for key, value in environ.items()], *celery, "worker"]
    with (
        running(server, redis.Redis(HOST, number).ping, tmp_path_factory.mktemp("redis")),
        running(
            [*worker, "--concurrency=1", "--loglevel=WARNING"],
            lambda: None,  # the tasks wait in the queue until it is ready
            tmp_path_factory.mktemp("worker"),
        ),
    ):
        return json.loads(run([sys.executable, "-c", CALLS]).stdout)


@pytest.mark.parametrize("when", ["while the probe reads", "while the action runs"])
def test_a_soft_time_limit_reaches_the_task_as_the_same_object(seen, when):
    assert (seen[when]["arrived"], seen[when]["is_same"]) == ("SoftTimeLimitExceeded", True)


def test_an_action_that_was_not_begun_does_not_begin(seen):
    assert seen["while the probe reads"]["rows"] == 0


def test_an_action_that_was_begun_has_no_verdict(seen):
    assert seen["while the action runs"]["rows"] == 1
    assert seen["while the action runs"]["reports"] == [["inconclusive", "action_failed"]]


@pytest.mark.parametrize("when", ["while the probe reads", "while the action runs"])
def test_the_window_is_closed(seen, when):
    assert seen[when]["open"] == 0
    assert seen["afterwards"] == ["pass"]
