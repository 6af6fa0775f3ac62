"""A real git repository for a test, with an author and without configuration files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WHO = {
    "GIT_AUTHOR_NAME": "agent",
    "GIT_AUTHOR_EMAIL": "agent@localhost",
    "GIT_COMMITTER_NAME": "agent",
    "GIT_COMMITTER_EMAIL": "agent@localhost",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_EDITOR": "true",
}


class Repository:
    """Runs git in a folder: `repository("commit", "-m", "Say why")`."""

    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self("init", "--quiet", "--initial-branch=main", *options)

    def __call__(self, *arguments: str, **variables: str) -> str:
        command = ["git", "-C", str(self.path), *arguments]
        environ = {**os.environ, **WHO, **variables}
        done = subprocess.run(command, env=environ, check=True, capture_output=True)
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, name: str, text: str = "text\n") -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, **files: str) -> str:
        """Commit all that there is, with these files; return the name of the commit."""
        for name, text in files.items():
            self.write(name, text)
        self("add", "--all")
        self("commit", "--quiet", "--allow-empty", "--message", "Change it")
        return self("rev-parse", "HEAD")
