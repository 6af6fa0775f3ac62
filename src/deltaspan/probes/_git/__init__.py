"""Parts of `deltaspan.probes.git`.

- `_command.py`: runs git with a configuration of its own.
- `_references.py`: fills and lists references, and the commits that they reach.
- `_status.py`: describes the state of a working tree.
"""
