"""Exporters and baggage processors, which need the OpenTelemetry SDK."""
