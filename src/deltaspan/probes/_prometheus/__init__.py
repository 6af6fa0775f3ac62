"""What `deltaspan.probes.prometheus` is made of, beside `_http`.

`_promql.py` fills the fields of a query, `_query.py` asks it, `_counted.py` counts on across resets.
"""
