"""Read spans from a Jaeger over `/api/v3`, which answers in OTLP.

Over HTTP `/api/v3` cannot search by attribute (Jaeger 1.76 ignores the parameter). So the traces of a run are
found over `/api/traces`, as Jaeger's UI finds them, and then read over `/api/v3`.
"""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from deltaspan import semconv
from deltaspan.causal_tag import is_tag
from deltaspan.exceptions import DefinitionValueError, SourceError
from deltaspan.tree._model import printable
from deltaspan.tree._otlp import Reading, holds_spans, spans_in

_TRACE_ID: Final = re.compile(r"[0-9a-f]{1,32}")
_AHEAD: Final = timedelta(hours=1)
"""The largest lead of another machine's clock."""


def read_jaeger(
    url: str,
    *,
    root: str | None = None,
    trace: str | None = None,
    service: str | None = None,
    since: timedelta = timedelta(days=1),
    limit: int = 1000,
    timeout: float = 30,
) -> Reading:
    """Read the spans of a run, a trace or a service from a Jaeger.

    Args:
        url: the URL of its UI, such as `http://localhost:16686`.
        root: the causal tag of an outermost run. Selects every trace with a span of it, in any service.
        trace: a trace id.
        service: a service. Selects every trace with a span of it, as a whole. With `root`, the run's traces
            in this service.
        since: the age of the oldest traces of a run or a service.
        limit: the largest number of traces.
        timeout: seconds to wait for each answer.

    Raises:
        DefinitionValueError: none of `root`, `trace` and `service` is given, or one of them is invalid.
        SourceError: no Jaeger answers there.
    """
    if urlsplit(url).scheme not in {"http", "https"}:
        raise DefinitionValueError(f"{url!r} is not the URL of a Jaeger: begin with http:// or https://")
    jaeger = _Jaeger(url.rstrip("/"), timeout)
    if trace is not None:
        if root is not None or service is not None:
            raise DefinitionValueError("a trace id selects one trace: leave root and service out")
        if not _TRACE_ID.fullmatch(trace.lower()):
            raise DefinitionValueError(f"{trace!r} is not a trace id: write 32 hexadecimal digits")
        return jaeger.read_trace(trace.lower().rjust(32, "0"))
    if root is None and service is None:
        raise DefinitionValueError("nothing is selected: give root, trace or service")
    if root is not None and not is_tag(root):
        raise DefinitionValueError(f"{root!r} is not a causal tag: write a UUID in lower case, with hyphens")
    now = datetime.now(timezone.utc)
    between = now - since, now + _AHEAD
    if root is None:
        return jaeger.read_service(str(service), between, limit)
    return jaeger.read_run(root, service, between, limit)


class _Jaeger:
    def __init__(self, url: str, timeout: float) -> None:
        self._url, self._timeout = url, timeout

    def read_trace(self, trace_id: str) -> Reading:
        return self._parse_spans([self._get_trace(trace_id)])

    def read_service(self, service: str, between: tuple[datetime, datetime], limit: int) -> Reading:
        query = {
            "query.service_name": service,
            "query.start_time_min": between[0].isoformat(),
            "query.start_time_max": between[1].isoformat(),
            "query.num_traces": str(limit),
            "query.raw_traces": "true",
        }
        reading = self._parse_spans([self._get("/api/v3/traces", **query)])
        is_full = len({span.trace_id for span in reading.spans}) >= limit
        return self._with_limit_complaint(reading, limit) if is_full else reading

    def read_run(
        self, root: str, service: str | None, between: tuple[datetime, datetime], limit: int
    ) -> Reading:
        query = {
            "tags": json.dumps({semconv.CAUSAL_TAG_ROOT_ID: root}),
            "start": str(int(between[0].timestamp() * 1e6)),
            "end": str(int(between[1].timestamp() * 1e6)),
            "limit": str(limit),
        }
        is_full = False
        trace_ids: dict[str, None] = {}
        for name in self._services() if service is None else [service]:
            traces = self._get("/api/traces", **query, service=name)
            ids = [each["traceID"] for each in traces if isinstance(each, dict) and "traceID" in each]
            is_full = is_full or len(ids) >= limit
            trace_ids |= dict.fromkeys(
                each for each in ids if isinstance(each, str) and _TRACE_ID.fullmatch(each)
            )
        reading = self._parse_spans([self._get_trace(trace_id.rjust(32, "0")) for trace_id in trace_ids])
        return self._with_limit_complaint(reading, limit) if is_full else reading

    def _with_limit_complaint(self, reading: Reading, limit: int) -> Reading:
        more = f"{self._url} returned as many traces as the limit, {limit}: there may be more"
        return reading._replace(complaints=(*reading.complaints, more))

    def _get_trace(self, trace_id: str) -> Any:
        return self._get(f"/api/v3/traces/{trace_id}", raw_traces="true")

    def _services(self) -> list[str]:
        return [each for each in self._get("/api/services") if isinstance(each, str)]

    def _parse_spans(self, documents: Iterable[Any]) -> Reading:
        read = [span for document in documents for span in spans_in(document)]
        spans = tuple(span for span in read if span is not None)
        if len(spans) == len(read):
            return Reading(spans, ())
        return Reading(spans, (f"{self._url}: spans without valid ids, left out: {len(read) - len(spans)}",))

    def _get(self, path: str, **query: str) -> Any:
        """Return the answer. It is empty if nothing was found."""
        address = f"{self._url}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            with urllib.request.urlopen(address, timeout=self._timeout) as response:  # noqa: S310  # http(s) only
                body = response.read()
        except urllib.error.HTTPError as error:
            with error:
                return self._handle_refusal(error.code, error.read(65536))
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise SourceError(f"no Jaeger answers at {self._url}: {reason}") from error
        answer = _parse(body)
        if isinstance(answer, dict):
            if holds_spans(answer.get("result")):
                return answer["result"]
            if "data" in answer and "errors" in answer:
                return answer["data"] if isinstance(answer["data"], list) else []
        raise SourceError(f"the server at {self._url} is not a Jaeger with /api/v3: give the URL of its UI")

    def _handle_refusal(self, status: int, body: bytes) -> Any:
        answer = _parse(body)
        fault = answer.get("error") if isinstance(answer, dict) else None  # of /api/v3
        errors = answer.get("errors") if isinstance(answer, dict) else None  # of the other paths
        if isinstance(errors, list) and errors and isinstance(errors[0], dict):
            fault = {"message": errors[0].get("msg")}
        if not isinstance(fault, dict):
            raise SourceError(f"the server at {self._url} is not a Jaeger with /api/v3: it answers {status}")
        if status == http.client.NOT_FOUND:
            return {}
        raise SourceError(f"the Jaeger at {self._url} refused: {printable(fault.get('message'))}")


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
