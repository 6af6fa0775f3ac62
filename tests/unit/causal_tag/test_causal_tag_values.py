"""A causal tag as a value: equal by id, hashable, picklable, read-only."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import pytest

from deltaspan.causal_tag import CausalTag, attempt_of

ROOT = CausalTag("a" * 8, "a" * 8)
TAG = CausalTag("b" * 8, "a" * 8, "a" * 8, ROOT)


def test_two_tags_are_equal_if_their_ids_are():
    same = CausalTag(TAG.id, "another root")

    assert same == TAG
    assert hash(same) == hash(TAG)
    assert TAG != ROOT
    assert TAG.id != TAG
    assert {TAG, same, ROOT} == {TAG, ROOT}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_tag_keeps_its_ids_and_those_above(protocol):
    attempt_of(TAG, "act")
    restored = pickle.loads(pickle.dumps(TAG, protocol))  # noqa: S301  # our own bytes

    assert restored == TAG
    assert (restored.id, restored.root_id, restored.parent_id) == (TAG.id, TAG.root_id, TAG.parent_id)
    assert restored.above == TAG.above
    assert restored.parent == ROOT


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_tag_is_the_tag(copied):
    assert copied(TAG) is TAG


@pytest.mark.parametrize("name", ["id", "root_id", "parent_id", "parent", "attempt_counters", "above", "new"])
def test_a_tag_cannot_be_changed(name):
    with pytest.raises(FrozenInstanceError):
        setattr(TAG, name, "other")


def test_a_tag_is_not_a_tuple():
    assert not isinstance(TAG, tuple)
    with pytest.raises(TypeError):
        iter(TAG)


def test_the_repr_of_a_tag_shows_its_ids_alone():
    assert repr(TAG) == f"CausalTag(id={TAG.id!r}, root_id={TAG.root_id!r}, parent_id={TAG.parent_id!r})"
