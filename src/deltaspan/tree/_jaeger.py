"""Spans from a Jaeger, over the query API that answers in OTLP: `/api/v3`."""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from deltaspan import semconv
from deltaspan.causal_tag import is_tag
from deltaspan.exceptions import DefinitionValueError, SourceError
from deltaspan.tree._otlp import Reading, holds_spans, spans_in

__all__ = ["read_jaeger"]

_TRACE_ID: Final = re.compile(r"[0-9a-f]{1,32}")
_AHEAD: Final = timedelta(hours=1)
"""How far clocks of other machines may be ahead of ours."""


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
    """Read spans from a Jaeger: of one run, of one trace, or of one service.

    Args:
        url: where its UI is, such as `http://localhost:16686`.
        root: the causal tag of an outermost run; every trace that holds a span of it, in whatever service.
        trace: a trace id.
        service: a service; every trace that it has a span in, whole. With `root`, only its traces.
        since: how far back to look for a run or a service.
        limit: how many traces to ask for at most.
        timeout: seconds to wait for each answer.

    Raises:
        DefinitionValueError: it does not say what to look for, or says it wrongly.
        SourceError: nothing answers there, or not as a Jaeger does.
    """
    if urlsplit(url).scheme not in {"http", "https"}:
        raise DefinitionValueError(f"{url!r} is no URL of a Jaeger: it begins with http:// or https://")
    asked = _Jaeger(url.rstrip("/"), timeout)
    if trace is not None:
        if root is not None or service is not None:
            raise DefinitionValueError("a trace id names one trace: leave root and service out")
        if not _TRACE_ID.fullmatch(trace.lower()):
            raise DefinitionValueError(f"{trace!r} is no trace id: it has 32 hexadecimal digits")
        return asked.trace(trace.lower().rjust(32, "0"))
    if root is None and service is None:
        raise DefinitionValueError("say what to look for: root, trace or service")
    if root is not None and not is_tag(root):
        raise DefinitionValueError(f"{root!r} is no causal tag: it is a UUID in lower case, with hyphens")
    now = datetime.now(timezone.utc)
    query = {
        "query.start_time_min": (now - since).isoformat(),
        "query.start_time_max": (now + _AHEAD).isoformat(),
        "query.num_traces": str(limit),
    }
    if root is not None:
        query["query.attributes"] = json.dumps({semconv.CAUSAL_TAG_ROOT_ID: root})
    return asked.search(query, service, limit)


class _Jaeger:
    def __init__(self, url: str, timeout: float) -> None:
        self._url, self._timeout = url, timeout

    def trace(self, trace_id: str) -> Reading:
        return self._reading([self._get(f"/api/v3/traces/{quote(trace_id)}", raw_traces="true")])

    def search(self, query: Mapping[str, str], service: str | None, limit: int) -> Reading:
        if service is not None:
            documents = [self._find(query, service)]
        else:
            try:
                documents = [self._get("/api/v3/traces", **query)]
            except _RefusedError:
                # Some of Jaeger's stores search within one service only.
                documents = [self._find(query, each) for each in self._services()]
        reading = self._reading(documents)
        if any(len(traces) >= limit for traces in map(_traces, documents)):
            more = f"{self._url} gave as many traces as were asked for, {limit}: there may be more"
            return reading._replace(complaints=(*reading.complaints, more))
        return reading

    def _find(self, query: Mapping[str, str], service: str) -> Any:
        return self._get("/api/v3/traces", **query, **{"query.service_name": service})

    def _services(self) -> list[str]:
        answer = self._get("/api/v3/services")
        found = answer.get("services") if isinstance(answer, dict) else None
        return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []

    def _reading(self, documents: Iterable[Any]) -> Reading:
        read = [span for document in documents for span in spans_in(document)]
        spans = tuple(span for span in read if span is not None)
        if len(spans) == len(read):
            return Reading(spans, ())
        return Reading(spans, (f"{self._url}: spans without valid ids, left out: {len(read) - len(spans)}",))

    def _get(self, path: str, **query: str) -> Any:
        """Return what it answers; nothing when it has found nothing."""
        address = f"{self._url}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            with urllib.request.urlopen(address, timeout=self._timeout) as response:  # noqa: S310  # http(s) only
                body = response.read()
        except urllib.error.HTTPError as error:
            with error:
                return self._refused(error.code, error.read(65536))
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise SourceError(f"no Jaeger answers at {self._url}: {reason}") from error
        answer = _parsed(body)
        result = answer.get("result", answer) if isinstance(answer, dict) else None
        if holds_spans(result) or (isinstance(result, dict) and "services" in result) or result == {}:
            return result
        raise SourceError(f"what answers at {self._url} is no Jaeger with /api/v3: name the URL of its UI")

    def _refused(self, status: int, body: bytes) -> Any:
        answer = _parsed(body)
        said = answer.get("error") if isinstance(answer, dict) else None
        message = said.get("message") if isinstance(said, dict) else None
        if message is None:
            raise SourceError(f"what answers at {self._url} is no Jaeger with /api/v3: it says {status}")
        if status == http.client.NOT_FOUND:
            return {}
        raise _RefusedError(f"the Jaeger at {self._url} refused the search: {message}")


class _RefusedError(SourceError):
    """A Jaeger answered that it would not."""


def _traces(document: Any) -> set[str]:
    return {span.trace_id for span in spans_in(document) if span is not None}


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
