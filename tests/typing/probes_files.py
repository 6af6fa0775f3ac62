"""Which words fit what the probes of files return."""

from pathlib import Path

from typing_extensions import assert_type

from deltaspan import change, unchanged
from deltaspan.checks import Change, Unchanged
from deltaspan.probes.files import count, lines, text, tree

assert_type(change("x", tree(".")), Change[dict[str, tuple[int, int]]])
assert_type(change("x", tree(Path(), content=False)), Change[dict[str, tuple[int, int]]])
assert_type(change("x", tree(".", content=True)), Change[dict[str, tuple[int, str]]])
assert_type(change("x", count(".")), Change[int])
assert_type(change("x", text("a")), Change[str])
assert_type(change("x", text("a", missing_ok=True)), Change[str | None])
assert_type(unchanged("x", lines("a")), Unchanged[tuple[range | str, ...]])

change("x", tree("{workspace}/out")).adding("a.csv").removing("b.csv").ignoring("*.tmp")
change("x", tree(".", glob=["*.a", "*.b"], ignore="c/**", gitignore=True, limit=10)).only("a/**")
change("x", count(".")).by(3)
change("x", text("a")).from_("old").to("new")
change("x", text("a", missing_ok=True)).from_(None)
change("x", lines("a")).adding("one", "two", count=3)
change("x", lines("a")).resizing(2)

change("x", tree(".")).by(1)  # type: ignore[misc]
change("x", count(".")).adding("a")  # type: ignore[misc]
change("x", text("a")).by(1)  # type: ignore[misc]
change("x", text("a", missing_ok=True)).adding("a")  # type: ignore[misc]
change("x", lines("a")).by(3)  # type: ignore[misc]
tree(b"bytes")  # type: ignore[call-overload]
tree(".", "*.csv")  # type: ignore[call-overload]
tree(".", limit="1")  # type: ignore[call-overload]
lines("a", encoding="utf-8")  # type: ignore[call-arg]
