"""Errors of deltaspan as text."""

import pytest

from deltaspan import DeltaspanError


def refusal(call, *args, without=(), **options):
    """Return the error of a call, as `ValueError: the message`; it must not show the texts `without`."""
    with pytest.raises(DeltaspanError) as caught:
        call(*args, **options)
    (kind,) = [kind for kind in (TypeError, ValueError) if isinstance(caught.value, kind)]
    assert caught.value.__cause__ is None
    assert not [text for text in without if text in repr(caught.value)]
    return f"{kind.__name__}: {caught.value}"
