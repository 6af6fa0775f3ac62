"""OpenTelemetry's threading instrumentation carries the tag into threads without a context.

Run by `make services PYTHON=python3.10 VENV=build/py3.10`: from Python 3.11 on, other packages that we test
with ask for a newer OpenTelemetry than its releases pin.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deltaspan import current_causal_tag, expects, observe

instrumentation = pytest.importorskip("opentelemetry.instrumentation.threading")

pytestmark = pytest.mark.services


@pytest.fixture(autouse=True)
def _instrumented():
    instrumentation.ThreadingInstrumentor().instrument()
    yield
    instrumentation.ThreadingInstrumentor().uninstrument()


def in_pool():
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(current_causal_tag).result()


def in_thread():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(current_causal_tag()))
    thread.start()
    thread.join()
    return seen[0]


@pytest.mark.parametrize("do", [in_pool, in_thread])
def test_a_bare_thread_has_the_tag_of_the_action_that_started_it(do):
    own, seen = expects(observe("nothing", lambda: 0))(lambda: (current_causal_tag(), do()))()

    assert seen == own
