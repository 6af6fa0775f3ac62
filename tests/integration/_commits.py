"""A real git repository that ignores the configuration of the user and the system."""

from __future__ import annotations

import os
import subprocess

from deltaspan import current_causal_tag, expects, observe
from deltaspan.stamps.git import HOOK, trailer_arguments
from integration._git import WHO


def new_repository(folder):
    """Make one, and return what runs git in it; variables of the environment as keywords."""

    def run(*arguments, **variables):
        command = ["git", "-C", str(folder), *arguments]
        environ = {**os.environ, **WHO, **variables}
        done = subprocess.run(command, env=environ, check=True, capture_output=True)
        return done.stdout.decode(errors="replace").strip()

    run("init", "--quiet")
    return run


def install_hook(folder):
    path = folder / ".git" / "hooks" / "prepare-commit-msg"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HOOK)
    path.chmod(0o755)


@expects(observe("nothing", lambda: 0))
def act(do):
    """Do something as an action, and return its tag."""
    do()
    return current_causal_tag()


def commit(git, message="Change it", **variables):
    git("commit", "--allow-empty", "-m", message, *trailer_arguments(), **variables)
