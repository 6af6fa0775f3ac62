"""Parts of `deltaspan.probes.mongodb`.

- `_values.py`: filters with fields, and documents as plain values.
"""
