"""Parts of `deltaspan.probes.redis`.

- `_values.py`: commands that list keys and read their values.
"""
