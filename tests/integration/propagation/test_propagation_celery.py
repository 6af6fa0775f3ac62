"""The tag through a message queue: a real Celery worker behind a real Redis."""

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


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory):
    import redis  # noqa: PLC0415  # installed for these tests alone

    number = free_port()
    command = [program("redis-server", "redis-server"), "--port", str(number), "--bind", HOST, "--save", ""]
    with running(command, redis.Redis(HOST, number).ping, tmp_path_factory.mktemp("redis")):
        yield f"redis://{HOST}:{number}/"


@pytest.fixture(scope="module", params=["by hand", "by OpenTelemetry"])
def seen(request, redis_url, tmp_path_factory):
    """Values recorded by the tasks, from one worker and for each way to carry the tag."""
    way = {"TRACED": "yes"} if request.param == "by OpenTelemetry" else {}
    url = redis_url + str(len(way))
    environ = {**os.environ, **way, "PYTHONPATH": str(TESTS), "REDIS_URL": url}
    celery = [sys.executable, "-m", "celery", "-A", "integration._tasks"]

    def is_ready():
        subprocess.run(
            [*celery, "inspect", "ping", "--timeout", "2"], env=environ, check=True, capture_output=True
        )

    worker = ["env", *[f"{key}={environ[key]}" for key in (*way, "PYTHONPATH", "REDIS_URL")], *celery]
    with running(
        [*worker, "worker", "--concurrency=2", "--loglevel=WARNING"], is_ready, tmp_path_factory.mktemp("w")
    ):
        command = [sys.executable, "-m", "integration._call_tasks"]
        out = subprocess.run(command, env=environ, check=True, capture_output=True, text=True, timeout=180)
    return json.loads(out.stdout)


@pytest.mark.parametrize("how", ["called", "sent by name", "run again"])
def test_an_action_in_a_task_is_the_child_of_the_action_that_called_it(seen, how):
    tag, parent, root = seen[how]["action"]
    inner, outer = seen["tags"]

    assert (parent, root) == (inner, outer)
    assert tag not in (parent, root)


def test_a_task_outside_any_action_stamps_for_its_caller(seen):
    assert seen["called"]["outside"] == seen["tags"]


def test_a_task_called_by_an_action_in_a_task_is_of_the_same_root(seen):
    assert seen["below"]["action"][1:] == [seen["by"][0], seen["tags"][1]]


def test_a_task_called_outside_any_action_starts_a_new_root(seen):
    tag, parent, root = seen["nobody"]["action"]

    assert (seen["nobody"]["outside"], parent, root) == ([None, None], None, tag)
