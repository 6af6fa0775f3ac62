"""Parts of `deltaspan.probes.sql`.

- `_tables.py`, `_queries.py`, `_database.py`: the public probes.
- `_probe.py`: makes a probe of a source and a query.
- `_sources.py`: validates a source, and reads over it.
- `_transactions.py`: reads in a transaction of its own, or in the caller's.
- `_readers.py`: runs a statement over a connection of SQLAlchemy or of a driver.
- `_drivers.py`: facts about DB-API drivers.
- `_parameters.py`: parses the parameters of SQL.
- `_table_reads.py`: statements over one table.
- `_digests.py`, `_postgresql.py`: read whole databases.
- `_values.py`: plain values and digests of rows.
"""
