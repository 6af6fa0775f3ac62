"""Parts of `deltaspan.probes.s3`.

- `_requests.py`: requests for a list or an object.
"""
