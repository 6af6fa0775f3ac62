"""The parts of a tagged delta, and the movements that a part makes possible."""

from itertools import chain, combinations
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspan import change
from deltaspan._attribution._credit import holds, might_hold
from deltaspan._state.diff import MappingDelta, TaggedDelta, difference, split
from deltaspan.causal_tag._descendants import DescendantTracker

ME = DescendantTracker("me", ["my child"], root="me")


tags = st.sampled_from([None, "me", "my child", "another", "a third"])


states = st.dictionaries(st.integers(0, 12) | st.text(max_size=1), tags, max_size=12)


rooted = st.dictionaries(st.integers(0, 12), st.tuples(tags, tags), max_size=12)


def divided(pre, post, *, counted=False):
    return split(difference(MappingProxyType(pre), MappingProxyType(post)), ME, counted=counted)


def merged(parts, kind):
    """Return the entries of all parts, and fail where two parts share one."""
    found = {}
    for part in parts:
        entries = getattr(part, kind)
        assert not entries.keys() & found.keys()
        found.update(entries)
    return found


@given(states | rooted, states | rooted)
def test_mine_others_and_untagged_are_the_whole_delta_and_share_nothing(pre, post):
    whole = difference(MappingProxyType(pre), MappingProxyType(post))
    parts = split(whole, ME, counted=False)
    assert isinstance(parts, TaggedDelta)

    for kind in ("added", "removed", "modified"):
        assert merged((parts.mine, parts.others, parts.untagged), kind) == getattr(whole, kind)


@given(states, states)
def test_counts_add_up_to_the_growth_of_the_whole(pre, post):
    delta = divided(pre, post, counted=True)

    assert delta.value + sum(delta.others_and_untagged) == len(post) - len(pre)


@given(states, states)
def test_the_tally_counts_each_entry_once(pre, post):
    delta = divided(pre, post)
    changed = sum(1 for key in {*pre, *post} if pre.get(key, "absent") != post.get(key, "absent"))

    assert sum(int(word) for word in delta.tally.partition(":")[0].split() if word.isdigit()) == changed


@given(states, states)
def test_nothing_that_changed_by_me_is_with_others(pre, post):
    delta = divided(pre, post)

    assert not {"me", "my child"} & {*delta.others.added.values(), *delta.untagged.added.values()}
    assert all(after not in ("me", "my child") for _, after in delta.others.modified.values())
    assert None not in delta.others.added.values()
    assert not delta.others.removed


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("absent", "me", "mine"),
        ("absent", "my child", "mine"),
        ("absent", "another", "others"),
        ("absent", None, "untagged"),
        ("me", "absent", "mine"),
        ("my child", "absent", "mine"),
        ("another", "absent", "untagged"),
        (None, "absent", "untagged"),
        ("another", "me", "mine"),
        (None, "me", "mine"),
        ("me", "my child", "mine"),
        ("me", "another", "others"),
        ("me", None, "untagged"),
        ("another", None, "untagged"),
        ("absent", ("another", "me"), "mine"),
        ("absent", (None, "me"), "mine"),
        ("absent", ("another", "my child"), "others"),
        ("absent", (None, "another"), "untagged"),
    ],
)
def test_each_entry_is_whose_its_tag_says(before, after, part):
    pre, post = ({} if value == "absent" else {7: value} for value in (before, after))

    delta = divided(pre, post)

    changed = [name for name in ("mine", "others", "untagged") if getattr(delta, name).changed]
    assert changed == [part]


def test_the_root_counts_for_nothing_where_the_run_is_not_the_outermost():
    nested = DescendantTracker("me", root="the outermost")

    assert nested.is_ours("another", "me") is False
    assert nested.is_ours("me", "another") is True


def test_a_delta_of_other_states_stays_as_it_is():
    delta = difference(3, 5)

    assert split(delta, ME, counted=True) is delta


# Possible movements -------------------------------------------------------------------------------------


OF_CHILD = DescendantTracker("me", root="the outermost")


stamps = st.sampled_from(
    [(None, None), ("me", None), ("another", None), ("unknown", "the outermost"), ("another", "their root")]
)


rows_by_key = st.dictionaries(st.sampled_from("abcdef"), stamps, max_size=6)


amounts = st.integers(-4, 4)


members = st.lists(st.sampled_from(["a", "b", "c", "d", "[ab]", "*"]), max_size=3, unique=True)


KINDS = ["adding", "removing", "modifying"]


ROWS = change("rows", dict)


@st.composite
def between(draw):
    low = draw(amounts)
    return ROWS.by_between(low, low + draw(st.integers(0, 3)))


@st.composite
def naming(draw):
    check = ROWS
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True)):
        some = draw(members)
        count = draw(st.none() | st.integers(max(1, len(some)), 4))
        check = getattr(check, kind)(*some, **({} if count is None else {"count": count}))
    return check.allowing_others() if draw(st.booleans()) else check


checks = st.one_of(
    st.just(ROWS),
    amounts.map(ROWS.by),
    amounts.map(ROWS.by_at_most),
    between(),
    amounts.map(ROWS.resizing),
    members.map(lambda some: ROWS.only("a", *some)),
    naming(),
)


def parts(delta):
    """Return every part of a delta."""
    entries = [(kind, path) for kind in ("added", "removed", "modified") for path in getattr(delta, kind)]
    for chosen in chain.from_iterable(combinations(entries, n) for n in range(len(entries) + 1)):
        yield MappingDelta(
            *(
                MappingProxyType(
                    {path: item for path, item in getattr(delta, kind).items() if (kind, path) in chosen}
                )
                for kind in ("added", "removed", "modified")
            )
        )


@given(checks, rows_by_key, rows_by_key)
def test_it_finds_the_part_that_would_make_it_true_if_there_is_one(check, pre, post):
    both = MappingProxyType(pre), MappingProxyType(post)
    delta = split(difference(*both), OF_CHILD, counted=False)
    movement = check._expectation.movement

    tried = any(holds(movement, delta.credited(part), both) for part in parts(delta.unattributable))

    assert might_hold(movement, delta, both) == tried
