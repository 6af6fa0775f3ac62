"""Files that `.gitignore` excludes from a tree, compared with git itself."""

import os
import shutil
import subprocess
import sys

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deltaspan.probes.files import tree

GIT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
NAMES = st.sampled_from(["a", "b", "a.log", "keep", "build"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
PATTERNS = """
*.log|!a.log|!keep|build/|/a|a/*|!a/keep|a/**|!a/keep/|**/b|!b/|#a|b/a|/*|!/a|*|!*/|a/**/b|[ab]||keep |\\#a
"""
RULES = st.lists(st.sampled_from(PATTERNS.strip("\n").split("|")), max_size=4)


def written(root, files):
    for path, content in files.items():
        file = root / path
        if any(parent.is_file() for parent in file.parents) or file.is_dir():
            continue  # a name is a file or a folder
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)


def seen_by_git(root):
    git = [shutil.which("git"), "-C", root]
    subprocess.run([*git, "init", "-q"], check=True, env=GIT)
    done = subprocess.run(
        [*git, "ls-files", "-z", "--others", "--exclude-standard"], check=True, capture_output=True, env=GIT
    )
    return {os.fsdecode(path) for path in done.stdout.split(b"\0") if path}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PATHS, min_size=1, max_size=8), RULES, st.dictionaries(NAMES, RULES, max_size=2))
@example(["a/keep", "a/b"], ["a/**", "!a/keep"], {})
@example(["a/keep/b", "a/b"], ["a/**", "!a/keep/"], {})
@example(["a/a.log", "a.log"], ["*.log"], {"a": ["!a.log"]})
@example(["keep/a/a"], ["[ab]"], {"a": [], "keep": ["!/a"]})
@example(["a/a", "a/b"], ["a", "!/a"], {})
def test_a_tree_shows_what_git_would_add(tmp_path_factory, paths, rules, nested):
    root = tmp_path_factory.mktemp("tree")
    files = dict.fromkeys(paths, "")
    files[".gitignore"] = "\n".join(rules)
    files.update({f"{folder}/.gitignore": "\n".join(rules) for folder, rules in nested.items()})
    written(root, files)

    assert set(tree(root, gitignore=True)()) == seen_by_git(root)


def test_a_link_named_gitignore_is_not_followed(tmp_path):
    (tmp_path / "rules").write_text("a\n")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a").touch()
    (tmp_path / "root" / ".gitignore").symlink_to(tmp_path / "rules")

    assert set(tree(tmp_path / "root", gitignore=True)()) == {".gitignore", "a"}


def test_what_git_keeps_for_itself_is_left_out(tmp_path):
    written(tmp_path, {".git/HEAD": "", "module/.git": "gitdir: ..", "a": ""})

    assert set(tree(tmp_path, gitignore=True)()) == {"a"}
    assert set(tree(tmp_path)()) == {".git/HEAD", "module/.git", "a"}


def test_without_pathspec_it_says_which_extra_to_install():
    source = "import sys; sys.modules['pathspec'] = None\nimport deltaspan.probes.files as f; f.tree('.')()\n"
    done = subprocess.run(
        [sys.executable, "-c", source + "f.tree('.', gitignore=True)"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr.splitlines()[-1] == (
        "deltaspan.exceptions.DefinitionError: gitignore=True needs pathspec; "
        "install it with: pip install 'deltaspan[files]'"
    )
