"""Frozen states as text and plain values: for people, for JSON and for telemetry."""
