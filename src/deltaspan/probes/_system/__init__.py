"""Parts of the system probes."""
