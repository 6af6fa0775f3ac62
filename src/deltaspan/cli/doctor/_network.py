"""Check that collectors answer, accept samples, and have the same time."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Final

from deltaspan.cli.doctor._diagnosis import Diagnosis
from deltaspan.cli.doctor._endpoints import Target
from deltaspan.cli.doctor._sending import send_sample

_SECONDS: Final = 3.0
"""The longest wait for an answer."""
_SKEW_SECONDS: Final = 2.0
"""The allowed difference of two clocks. A Date header is exact to a second, and an answer takes time."""
_HTTP_PORT: Final = 4318
_SIGNAL_PATH: Final = re.compile(r"/v1/(traces|metrics|logs)/?$")
_FRAME_HEADER: Final = 9
_HTTP2_SETTINGS: Final = b"\x04\x00"
"""Type and flags of the first HTTP/2 frame, from the fourth byte on."""
_HTTP2_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + _HTTP2_SETTINGS + bytes(4)


def network_diagnoses(
    targets: Sequence[Target], exporters: Mapping[str, Sequence[Any]]
) -> Iterator[Diagnosis]:
    """Connect to each target, and send a sample of each signal."""
    is_answering = {}
    for address in dict.fromkeys(target.address for target in targets):
        target = next(each for each in targets if each.address == address)
        fault = _connection_fault(target)
        is_answering[address] = fault is None
        yield fault or Diagnosis("well", f"{address} answers")
    reachable = [target for target in targets if is_answering[target.address]]
    # If one variable is used for several signals, it is reported once.
    yield from dict.fromkeys(fault for fault in map(_path_fault, reachable) if fault)
    reachable = [target for target in reachable if _path_fault(target) is None]
    for target in reachable:
        yield send_sample(target, exporters[target.signal.upper()][0])
    for address in dict.fromkeys(target.address for target in reachable):
        yield _clock(next(target for target in reachable if target.address == address))


def _connection_fault(target: Target) -> Diagnosis | None:
    try:
        socket.create_connection((target.host, target.port), _SECONDS).close()
    except (socket.gaierror, UnicodeError):  # UnicodeError: not a valid name
        problem = f"the name {target.host} is not known here"
        remedy = f"correct {target.variable}, or the DNS of this machine"
    except ConnectionRefusedError:
        problem = f"nothing listens on {target.address}"
        remedy = f"start the collector, or correct {target.variable}"
    except TimeoutError:
        problem = f"{target.address} did not answer within {_SECONDS:g} s"
        remedy = f"look for a firewall in between, or correct {target.variable}"
    except OSError as error:
        problem = f"{target.address} cannot be reached: {error.strerror or error}"
        remedy = f"correct {target.variable}"
    else:
        return _tls_fault(target) if target.scheme == "https" else None
    return Diagnosis("wrong", problem, remedy)


def _path_fault(target: Target) -> Diagnosis | None:
    ending = _SIGNAL_PATH.search(target.path)
    if target.protocol == "grpc" or target.variable != "OTEL_EXPORTER_OTLP_ENDPOINT" or not ending:
        return None
    problem = (
        f"{target.variable} ends in {ending[0]}, and /v1/traces, /v1/metrics and /v1/logs are appended to it"
    )
    own = f"OTEL_EXPORTER_OTLP_{ending[1].upper()}_ENDPOINT"
    return Diagnosis("wrong", problem, f"leave {ending[0]} out, or set {own}, to which nothing is appended")


def _tls_fault(target: Target) -> Diagnosis | None:
    """Detect a port without TLS for an https URL. Exports show other TLS faults."""
    try:
        with (
            socket.create_connection((target.host, target.port), _SECONDS) as plain,
            _unverified_tls().wrap_socket(plain, server_hostname=target.host),
        ):
            return None
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or ""):
            return None  # an alert is TLS: the server requires something, such as a certificate
    except OSError:
        pass
    if not _speaks_plainly(target):
        return None
    problem = f"{target.address} does not use TLS, but {target.variable} requires it"
    return Diagnosis("wrong", problem, f"write {target.address.replace('https', 'http', 1)} there")


def _speaks_plainly(target: Target) -> bool:
    request = _HTTP2_PREFACE if target.protocol == "grpc" else b"GET / HTTP/1.0\r\n\r\n"
    answer = b""
    try:
        with socket.create_connection((target.host, target.port), _SECONDS) as plain:
            plain.sendall(request)
            while len(answer) < _FRAME_HEADER and (more := plain.recv(_FRAME_HEADER - len(answer))):
                answer += more
    except OSError:
        return False
    return answer.startswith(b"HTTP/") or answer[3:5] == _HTTP2_SETTINGS


def _clock(target: Target) -> Diagnosis:
    port = target.port if target.protocol != "grpc" else _HTTP_PORT
    server_time = _date_of(target, port)
    if server_time is None:
        problem = f"the clock at {target.address} could not be compared: it sends no Date over HTTP"
        return Diagnosis("note", problem, "check that both machines use NTP")
    skew = time.time() - server_time
    if abs(skew) <= _SKEW_SECONDS:
        return Diagnosis("well", f"the clocks of this machine and {target.address} agree")
    which = "ahead of" if skew > 0 else "behind"
    problem = f"the clock of this machine is {abs(skew):.0f} s {which} that of {target.address}"
    return Diagnosis("wrong", problem, "use NTP on both: spans, samples and alerts depend on these clocks")


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
    # No data is sent. The exporter verifies the certificate.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
