"""Values in, values out: freezing, differencing, rendering and encoding of states."""

from deltaspan._state.codec import Unreadable, Unwritable, canonical, decode, encode

__all__ = [
    "Unreadable",
    "Unwritable",
    "canonical",
    "decode",
    "encode",
]
