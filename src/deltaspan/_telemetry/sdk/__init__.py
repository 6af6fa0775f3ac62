"""What needs the OpenTelemetry SDK: exporters and baggage processors."""
