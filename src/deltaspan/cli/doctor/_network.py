"""Whether a collector is there, takes what is sent, and agrees on what time it is."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final

from deltaspan.cli.doctor._endpoints import Target
from deltaspan.cli.doctor._finding import Finding
from deltaspan.cli.doctor._sending import sent

__all__ = ["network_findings"]

_SECONDS: Final = 3.0
"""How long to wait for an answer."""
_SKEW_SECONDS: Final = 2.0
"""What two clocks may differ by; a Date header is exact to a second, and an answer takes its time."""
_HTTP_PORT: Final = 4318
_SIGNAL_PATH: Final = re.compile(r"/v1/(traces|metrics|logs)/?$")
_FRAME_HEADER: Final = 9
_HTTP2_SETTINGS: Final = b"\x04\x00"
"""Type and flags of the frame with which HTTP/2 begins, at the fourth byte."""
_HTTP2_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + _HTTP2_SETTINGS + bytes(4)


def network_findings(targets: Sequence[Target], exporters: Mapping[str, Sequence[Any]]) -> Iterator[Finding]:
    """Look whether each target answers, and try each signal where it does."""
    answering = {}
    for address in dict.fromkeys(target.address for target in targets):
        target = next(each for each in targets if each.address == address)
        fault = _connection_fault(target)
        answering[address] = fault is None
        yield fault or Finding("well", f"{address} answers")
    reachable = [target for target in targets if answering[target.address]]
    # One variable speaks for several signals, and is wrong once.
    yield from dict.fromkeys(fault for fault in map(_path_fault, reachable) if fault)
    reachable = [target for target in reachable if _path_fault(target) is None]
    for target in reachable:
        yield sent(target, exporters[target.signal.upper()][0])
    for address in dict.fromkeys(target.address for target in reachable):
        yield _clock(next(target for target in reachable if target.address == address))


def _connection_fault(target: Target) -> Finding | None:
    try:
        socket.create_connection((target.host, target.port), _SECONDS).close()
    except (socket.gaierror, UnicodeError):  # the latter of what could be no name anywhere
        said = f"the name {target.host} is not known here"
        cure = f"correct {target.variable}, or the DNS of this machine"
    except ConnectionRefusedError:
        said = f"nothing listens on {target.address}"
        cure = f"start the collector, or correct {target.variable}"
    except TimeoutError:
        said = f"{target.address} did not answer within {_SECONDS:g} s"
        cure = f"look for a firewall in between, or correct {target.variable}"
    except OSError as error:
        said = f"{target.address} cannot be reached: {error.strerror or error}"
        cure = f"correct {target.variable}"
    else:
        return _tls_fault(target) if target.scheme == "https" else None
    return Finding("wrong", said, cure)


def _path_fault(target: Target) -> Finding | None:
    found = _SIGNAL_PATH.search(target.path)
    if target.protocol == "grpc" or target.variable != "OTEL_EXPORTER_OTLP_ENDPOINT" or not found:
        return None
    said = (
        f"{target.variable} ends in {found[0]}, and /v1/traces, /v1/metrics and /v1/logs are appended to it"
    )
    own = f"OTEL_EXPORTER_OTLP_{found[1].upper()}_ENDPOINT"
    return Finding("wrong", said, f"leave {found[0]} out, or say it in {own}, to which nothing is appended")


def _tls_fault(target: Target) -> Finding | None:
    """Say so where https is asked of a port that speaks without TLS; what else is amiss an export tells."""
    try:
        with (
            socket.create_connection((target.host, target.port), _SECONDS) as plain,
            _unverified_tls().wrap_socket(plain, server_hostname=target.host),
        ):
            return None
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or ""):
            return None  # that is TLS, which wants something of us
    except OSError:
        pass
    if not _speaks_plainly(target):
        return None
    said = f"{target.address} speaks no TLS, and {target.variable} asks for it"
    return Finding("wrong", said, f"write {target.address.replace('https', 'http', 1)} there")


def _speaks_plainly(target: Target) -> bool:
    asked = _HTTP2_PREFACE if target.protocol == "grpc" else b"GET / HTTP/1.0\r\n\r\n"
    answer = b""
    try:
        with socket.create_connection((target.host, target.port), _SECONDS) as plain:
            plain.sendall(asked)
            while len(answer) < _FRAME_HEADER and (more := plain.recv(_FRAME_HEADER - len(answer))):
                answer += more
    except OSError:
        return False
    return answer.startswith(b"HTTP/") or answer[3:5] == _HTTP2_SETTINGS


def _clock(target: Target) -> Finding:
    port = target.port if target.protocol != "grpc" else _HTTP_PORT
    there = _date_of(target, port)
    if there is None:
        said = f"the clock at {target.address} could not be compared: it sends no Date over HTTP"
        return Finding("note", said, "see that both machines keep their time by NTP")
    skew = time.time() - there
    if abs(skew) <= _SKEW_SECONDS:
        return Finding("well", f"the clocks of this machine and {target.address} agree")
    which = "ahead of" if skew > 0 else "behind"
    said = f"the clock of this machine is {abs(skew):.0f} s {which} that of {target.address}"
    return Finding("wrong", said, "keep both by NTP: spans, samples and alerts are placed by these clocks")


def _date_of(target: Target, port: int) -> float | None:
    kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
    options: dict[str, Any] = {}
    if target.scheme == "https":
        options["context"] = _unverified_tls()
    connection = kind(target.host, port, timeout=_SECONDS, **options)
    try:
        connection.request("GET", "/")
        date = connection.getresponse().getheader("Date")
        return parsedate_to_datetime(date).timestamp() if date else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def _unverified_tls() -> ssl.SSLContext:
    # Nothing is told to it; whether the certificate is trusted is for the exporter to say.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
