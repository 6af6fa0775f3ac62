"""Errors of deltaspan as text."""

import pytest

from deltaspan import DeltaspanError


def refusal(call, *args, without=(), **options):
    """Return the error that a call raises, as text: `ValueError: the message`.

    Args:
        call: the function to call.
        *args: its arguments.
        without: texts that the error must not show.
        **options: its keyword arguments.
    """
    with pytest.raises(DeltaspanError) as caught:
        call(*args, **options)
    (kind,) = [kind for kind in (TypeError, ValueError) if isinstance(caught.value, kind)]
    assert caught.value.__cause__ is None
    assert not [text for text in without if text in repr(caught.value)]
    return f"{kind.__name__}: {caught.value}"
