"""Parts of `deltaspan.probes.prometheus`, which reads over `_http`.

- `_promql.py`: fills the fields of a query.
- `_query.py`: sends queries.
- `_totals.py`: continues counters across resets.
"""
