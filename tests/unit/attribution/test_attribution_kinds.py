"""The table of attributions: every kind is in it, and the strongest one is chosen."""

from itertools import product
from typing import get_args

import pytest

from deltaspan._attribution_kinds import ATTRIBUTION_KINDS, AttributionKind, choose_attribution
from deltaspan.typing import Attribution


def test_every_attribution_has_its_kind():
    assert set(ATTRIBUTION_KINDS) == set(get_args(Attribution))
    assert all(isinstance(kind, AttributionKind) for kind in ATTRIBUTION_KINDS.values())


@pytest.mark.parametrize(
    ("attribution", "tolerates_rivals", "is_known", "includes_unverified"),
    [
        ("causal_tag", True, True, False),
        ("exclusive", False, True, False),
        ("scoped", False, False, True),
        ("window", False, False, True),
    ],
)
def test_the_consequences_of_each_attribution(attribution, tolerates_rivals, is_known, includes_unverified):
    kind = ATTRIBUTION_KINDS[attribution]

    assert kind.tolerates_rivals is tolerates_rivals
    assert kind.is_known_without_verdict is is_known
    assert kind.includes_unverified_writers is includes_unverified


def test_the_strongest_attribution_is_chosen():
    chosen = [
        choose_attribution(uses_tag=tag, is_locked=lock, is_scoped=scope)
        for tag, lock, scope in product((True, False), repeat=3)
    ]

    assert chosen == ["causal_tag"] * 4 + ["exclusive"] * 2 + ["scoped", "window"]
