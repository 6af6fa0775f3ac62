"""Which words fit what a git probe reads."""

from pathlib import Path

from typing_extensions import assert_type

from deltaspan import change, tagged, unchanged
from deltaspan.checks import Change
from deltaspan.probes import git

assert_type(change("x", git.commits(".")), Change[int])
assert_type(change("x", git.history("{repo}", "main", remote="origin")), Change[set[str]])
assert_type(change("x", git.files(Path(), ref="HEAD")), Change[dict[str, str]])

change("x", git.commits(".")).by(1)
change("x", git.commits(".")).adding("a")  # type: ignore[misc]
change("x", git.history(".")).adding(count=1)
change("x", git.history(".")).by(1)  # type: ignore[misc]
change("x", git.files(".")).only("src/*.py")
change("x", git.branches(".", remote="origin")).modifying("main")
change("x", git.branches(".")).by(1)  # type: ignore[misc]
change("x", git.tags(".")).adding("v1")
unchanged("x", git.status(".")).ignoring("build/**")
change("x", tagged(git.log("."), key="id", tag="causal_tag", root="causal_root")).by(1)
git.commits(3)  # type: ignore[arg-type]
git.history(".", "main", "origin")  # type: ignore[call-arg]
