"""Objects carry the tag as metadata, and files as extended attributes."""

from __future__ import annotations

from deltaspan import current_causal_tag, expects, observe
from deltaspan.stamps.files import object_metadata


@expects(observe("nothing", lambda: 0))
def act(do):
    return current_causal_tag(), do()


def test_metadata_holds_tag_and_root():
    outer, (inner, metadata) = act(lambda: act(object_metadata))

    assert metadata == {"causal-tag": inner, "causal-root": outer}


def test_outside_any_action_there_is_no_metadata():
    assert object_metadata() == {}
