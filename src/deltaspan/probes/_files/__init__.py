"""What `deltaspan.probes.files` is made of.

`_place.py` says where to read, `_walk.py` walks a tree by `_patterns.py` and `_ignored.py`, `_open.py` opens
what may be anything, `_content.py` reads one file and `_lines.py` what was appended to it.
"""
