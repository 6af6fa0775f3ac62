"""Cost of reading a file tree, compared with a bare `os.scandir` walk.

Run with `make bench` or `python benchmarks/files_tree.py [--files N]`. The tree is built in a temporary
folder, a hundred files a folder, and is in the system's cache when it is read. Both give path → (size, mtime
in ns).
The two alternate. The best time of each and their ratio are shown.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from deltaspan._state.snapshot import freeze
from deltaspan.probes.files import count, tree

A_FOLDER = 100
TURNS = 3


def build(root: Path, files: int) -> None:
    for number in range(files):
        folder = root / f"{number // (A_FOLDER * A_FOLDER):03}" / f"{number // A_FOLDER % A_FOLDER:03}"
        if number % A_FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"part-{number:06}.csv").write_bytes(b"1,2,3\n")


def bare(path: str, prefix: str, found: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                bare(entry.path, f"{prefix}{entry.name}/", found)
            else:
                status = entry.stat(follow_symlinks=False)
                found[prefix + entry.name] = (status.st_size, status.st_mtime_ns)
    return found


def seconds(read: Callable[[], object]) -> float:
    gc.collect()
    began = time.perf_counter()
    read()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    files = parser.parse_args().files
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), files)
        reads: dict[str, Callable[[], object]] = {
            "bare walk": lambda: bare(folder, "", {}),
            "tree": tree(folder),
            "tree, frozen": lambda: freeze(tree(folder)()),
            "tree, glob": tree(folder, glob="**/*.csv"),
            "count": count(folder),
            "tree, content": tree(folder, content=True),
        }
        assert tree(folder)() == bare(folder, "", {})  # noqa: S101  # both read the same
        best = dict.fromkeys(reads, float("inf"))
        for _ in range(TURNS):
            for name, read in reads.items():
                best[name] = min(best[name], seconds(read))
    print(f"{f'{files} files':16}{'ms':>8}{'ratio':>8}")
    for name, took in best.items():
        print(f"{name:16}{took * 1e3:>8.0f}{took / best['bare walk']:>8.2f}")


if __name__ == "__main__":
    main()
