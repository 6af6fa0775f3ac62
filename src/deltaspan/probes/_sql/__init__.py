"""What `deltaspan.probes.sql` is made of.

`_text.py` finds the parameters of SQL, `_readers.py` runs a statement, `_sources.py` knows what may be read,
`_transactions.py` reads over a connection of our own or inside the caller's, `_drivers.py` knows DB-API
drivers, `_values.py` makes plain values of what a driver returns, `_asking.py` makes a probe of all this,
`_whole.py` and `_postgresql.py` read whole databases.
"""
