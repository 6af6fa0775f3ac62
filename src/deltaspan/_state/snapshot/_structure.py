"""The structure of arrays and frames as text: types, names and shape."""

from __future__ import annotations

from typing import Any


def structure_of_array(value: Any) -> str:
    """Describe an array: class, type of items, and shape without length."""
    kind = type(value)
    found = (getattr(value, name, None) for name in ("dtype", "type", "typecode", "format"))
    of = next((_type_text(item) for item in found if item is not None and not callable(item)), "")
    shape, names = getattr(value, "shape", None), getattr(value, "names", None)
    text = f"{kind.__module__}.{kind.__qualname__}{f' of {of}' if of else ''}"
    if isinstance(shape, tuple) and len(shape) > 1:
        text += f", each of shape {tuple(map(int, shape[1:]))}"
    if names is not None and not isinstance(names, str):  # of an index
        text += f", named {_names(names)}"
    return text


def structure_of_series(series: Any) -> str:
    """Describe a series: its type, its name, and its index."""
    return f"{_type_text(series.dtype)}, named {series.name!r}, {_index_text(series.index)}"


def structure_of_frame(frame: Any) -> str:
    """Describe a frame: columns in order with types and names, and index."""
    columns = ", ".join(
        f"{column!r}: {_type_text(dtype)}" for column, dtype in zip(frame.columns, frame.dtypes, strict=True)
    )
    names = list(frame.columns.names)
    named = "" if names == [None] else f" named {_names(names)}"
    return f"columns ({columns}){named}, {_index_text(frame.index)}"


def _index_text(index: Any) -> str:
    types = getattr(index, "dtypes", None) if index.nlevels > 1 else None
    of = _type_text(index.dtype) if types is None else ", ".join(map(_type_text, types))
    names = list(index.names)
    return f"index of {of}" + ("" if names == [None] * len(names) else f" named {_names(names)}")


def _names(names: Any) -> str:
    return f"({', '.join(map(repr, names))})"


def _type_text(dtype: Any) -> str:
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return str(dtype)
    order = "ordered " if getattr(dtype, "ordered", False) else ""
    return f"{order}{dtype} of ({', '.join(map(repr, categories))})"
