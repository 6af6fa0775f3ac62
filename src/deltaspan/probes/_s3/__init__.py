"""Parts of the S3 probes."""
