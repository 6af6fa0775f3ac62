"""Parts of `deltaspan.probes.files`.

- `_content.py`: the public probes of one file.
- `_paths.py`: paths with fields, and limits.
- `_walk.py`: walks a tree.
- `_patterns.py`, `_gitignore.py`: select its files.
- `_open.py`: opens files that may be anything.
- `_lines.py`: reads the lines appended to a log.
"""
