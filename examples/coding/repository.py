"""A repository with a bug, a test that fails, and a remote."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

BUG = "def total(prices):\n    return sum(prices) + 1\n"
FIX = "def total(prices):\n    return sum(prices)\n"
TEST = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"

# Without the user's git configuration, and without a repository that a git hook would name.
_ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
_ENVIRON |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
_ENVIRON |= {f"GIT_{role}_NAME": "agent" for role in ("AUTHOR", "COMMITTER")}
_ENVIRON |= {f"GIT_{role}_EMAIL": "agent@localhost" for role in ("AUTHOR", "COMMITTER")}


class Repository:
    """Runs git in a folder, as a shell tool of an agent would."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, folder: Path) -> Repository:
        """Create the repository and its remote in a folder."""
        origin, repository = cls(folder / "origin.git"), cls(folder / "shop")
        for made, options in ((origin, ["--bare"]), (repository, [])):
            made.path.mkdir(parents=True)
            made.git("init", "--quiet", "--initial-branch=main", *options)
        repository.git("remote", "add", "origin", str(origin.path))
        repository.write("src/shop.py", BUG)
        repository.write("tests/test_shop.py", TEST)
        repository.commit("Add up prices")
        repository.git("push", "--quiet", "origin", "main")
        return repository

    def git(self, *arguments: str) -> str:
        """Run git, and return what it prints."""
        command = ["git", "-C", str(self.path), *arguments]
        done = subprocess.run(  # noqa: S603  # git, as this example calls it
            command, env=_ENVIRON, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def commit(self, message: str, *options: str) -> str:
        """Commit all changes, and return the id of the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message, *options)
        return self.git("rev-parse", "HEAD")
