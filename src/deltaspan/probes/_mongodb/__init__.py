"""Parts of the MongoDB probes."""
