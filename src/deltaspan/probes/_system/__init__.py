"""Parts of `deltaspan.probes.system`.

- `_interpreters.py`: packages installed for an interpreter.
"""
