"""Causal tags in log records and in events of structlog."""

from __future__ import annotations

import logging
import threading

import pytest
import structlog

from deltaspan import adopt, current_causal_tag, expects, observe
from deltaspan.stamps.files import object_metadata
from deltaspan.stamps.logging import CausalTagFilter, add_causal_tag

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)

    @property
    def stamps(self):
        return [(record.causal_tag, record.causal_root) for record in self.records]


@pytest.fixture
def handler():
    kept = Kept()
    kept.addFilter(CausalTagFilter())
    log = logging.getLogger("shop")
    log.addHandler(kept)
    yield kept
    log.removeHandler(kept)


@expects(observe("nothing", lambda: 0))
def act(do):
    do()
    return current_causal_tag()


def test_a_record_of_a_logger_below_carries_tag_and_root(handler):
    inner = []
    outer = act(lambda: inner.append(act(lambda: logging.getLogger("shop.orders").warning("placed"))))

    assert handler.stamps == [(inner[0], outer)]


def test_a_record_outside_any_action_carries_no_tag(handler):
    logging.getLogger("shop").warning("opened")

    assert handler.stamps == [(None, None)]


def test_a_record_outside_any_action_carries_the_adopted_tag(handler):
    with adopt({"baggage": f"deltaspan.causal_tag.id={TAG}"}):
        logging.getLogger("shop").warning("opened")

    assert handler.stamps == [(TAG, TAG)]


def test_a_record_that_is_handled_again_in_another_thread_keeps_its_stamp(handler):
    tag = act(lambda: logging.getLogger("shop").warning("placed"))
    thread = threading.Thread(target=handler.handle, args=handler.records)
    thread.start()
    thread.join()

    assert handler.stamps == [(tag, tag), (tag, tag)]


@pytest.fixture
def events():
    kept = structlog.testing.LogCapture()
    before = structlog.get_config()
    structlog.configure(processors=[add_causal_tag, kept])
    yield kept.entries
    structlog.configure(**before)


def test_an_event_of_structlog_carries_tag_and_root(events):
    inner = []
    outer = act(lambda: inner.append(act(lambda: structlog.get_logger().info("placed"))))

    assert [(each["causal_tag"], each["causal_root"]) for each in events] == [(inner[0], outer)]


def test_an_event_of_structlog_outside_any_action_is_unchanged(events):
    structlog.get_logger().info("opened")

    assert events == [{"event": "opened", "log_level": "info"}]


def test_a_tag_that_was_set_by_hand_leaves_no_format_without_its_root():
    record = logging.LogRecord("shop", logging.INFO, __file__, 1, "closed", (), None)
    record.causal_tag = "by hand"
    CausalTagFilter().filter(record)

    assert logging.Formatter("%(causal_tag)s %(causal_root)s").format(record) == "by hand None"


# Files ------------------------------------------------------------------------------------------------------


@expects(observe("nothing", lambda: 0))
def act_and_tell(do):
    return current_causal_tag(), do()


def test_metadata_holds_tag_and_root():
    outer, (inner, metadata) = act_and_tell(lambda: act_and_tell(object_metadata))

    assert metadata == {"causal-tag": inner, "causal-root": outer}


def test_object_metadata_outside_any_action_is_empty():
    assert object_metadata() == {}
