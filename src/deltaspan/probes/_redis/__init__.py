"""Parts of the Redis probes."""
