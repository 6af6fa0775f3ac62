"""Read the target of each signal from the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from deltaspan._telemetry import SIGNALS, protocol_of

_DEFAULTS: Final = {
    "grpc": "http://localhost:4317",
    "http/protobuf": "http://localhost:4318",
    "http/json": "http://localhost:4318",
}
_SHORTEST: Final = 4
"""The fewest characters of a secret. Hiding a shorter header, such as a tenant's number, would hide parts of
addresses."""
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Target:
    """The target of one signal.

    Attributes:
        signal: `traces`, `metrics` or `logs`.
        protocol: `grpc`, `http/protobuf` or `http/json`.
        variable: the environment variable that sets it, or would.
        scheme: `http` or `https`.
        host: its name or address.
        port: its port.
        path: the path of the URL.
    """

    signal: str
    protocol: str
    variable: str
    scheme: str
    host: str
    port: int
    path: str = ""

    @property
    def address(self) -> str:
        """Scheme, host and port, without credentials and path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def targets() -> list[Target]:
    """Return the targets of the signals that leave over OTLP.

    Raises:
        DefinitionValueError: a protocol is unknown.
        ValueError: an endpoint is not a URL. The message names the variable.
    """
    return [_target(signal) for signal in SIGNALS if "otlp" in _exporters_of(signal)]


def _exporters_of(signal: str) -> list[str]:
    value = os.environ.get(f"OTEL_{signal}_EXPORTER", "").strip() or "otlp"
    return [kind.strip().lower() for kind in value.split(",")]


def _target(signal: str) -> Target:
    protocol = protocol_of(signal)
    own, common = f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
    variable = own if os.environ.get(own, "").strip() else common
    endpoint = os.environ.get(variable, "").strip() or _DEFAULTS[protocol]
    # gRPC accepts host:port without a scheme, and uses TLS unless a variable says insecure.
    url = endpoint if "://" in endpoint else f"{'http' if _is_insecure(signal) else 'https'}://{endpoint}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port if parts.port is not None else _PORTS.get(parts.scheme)
    except ValueError:
        host = port = None
    if not host or not port or (protocol != "grpc" and "://" not in endpoint):
        raise ValueError(
            f"{variable} is not a URL: write scheme, host and port, such as {_DEFAULTS[protocol]}"
        )
    return Target(signal.lower(), protocol, variable, parts.scheme, host, port, parts.path)


def _is_insecure(signal: str) -> bool:
    common = os.environ.get("OTEL_EXPORTER_OTLP_INSECURE", "")
    return os.environ.get(f"OTEL_EXPORTER_OTLP_{signal}_INSECURE", common).lower() == "true"


def without_secrets(text: str) -> str:
    """Replace the headers, passwords and queries of the environment in a text."""
    for secret in sorted(_secrets(), key=len, reverse=True):
        for form in (secret, repr(secret)[1:-1]):
            text = text.replace(form, "***")
    return text


def _secrets() -> set[str]:
    secrets = {form for value in _values() for form in (value.strip(), unquote(value.strip()))}
    secrets |= {form.partition(" ")[2].strip() for form in secrets}  # without the scheme: `Bearer t0ken`
    return {form for form in secrets if len(form) >= _SHORTEST}


def _values() -> Iterator[str]:
    for name, value in os.environ.items():
        if name.startswith("OTEL_EXPORTER_OTLP_") and name.endswith("_HEADERS"):
            yield from (pair.partition("=")[2] for pair in value.split(","))
        elif name.startswith("OTEL_EXPORTER_OTLP_") and name.endswith("_ENDPOINT"):
            rest, _, query = value.partition("?")
            yield query
            yield rest.partition("://")[2].rpartition("@")[0].partition(":")[2]
