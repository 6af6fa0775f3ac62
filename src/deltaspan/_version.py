"""The version, in one place for the build, the telemetry scope and `deltaspan.__version__`."""

__version__ = "0.1.0"
