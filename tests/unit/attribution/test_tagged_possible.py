"""Whether a movement may have taken place, against trying every part of what cannot say whose it is."""

from itertools import chain, combinations
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from deltaspan import change
from deltaspan._attribution._credit import holds, might_hold
from deltaspan._state.diff import MappingDelta, difference, split
from deltaspan.causal_tag._descendants import DescendantTracker

ME = DescendantTracker("me", root="the outermost")

stamps = st.sampled_from(
    [(None, None), ("me", None), ("another", None), ("unknown", "the outermost"), ("another", "their root")]
)
states = st.dictionaries(st.sampled_from("abcdef"), stamps, max_size=6)
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


@given(checks, states, states)
def test_it_finds_the_part_that_would_make_it_true_if_there_is_one(check, pre, post):
    both = MappingProxyType(pre), MappingProxyType(post)
    delta = split(difference(*both), ME, counted=False)
    movement = check._expectation.movement

    tried = any(holds(movement, delta.credited(part), both) for part in parts(delta.unattributable))

    assert might_hold(movement, delta, both) == tried
