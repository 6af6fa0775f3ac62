"""Cost of a decorated call, as a ratio to hand-written OpenTelemetry.

Run with `make bench` or `python benchmarks/overhead.py [--rounds N]`. Both sides
alternate in many short rounds, and medians are compared, so that other load affects both alike.

The hand-written side emits the same telemetry: the same span with the
same attributes, one event a check, the three metrics, the tag in baggage, and both reads of the state.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import wrapt
from opentelemetry import baggage, context, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler

from deltaspan import change, configure, expects
from deltaspan._process import reset
from deltaspan._telemetry import Instruments, install

CALLS_A_ROUND = 100
STATE = [0]


class Discard(SpanExporter):
    """An exporter that discards batches, so that sending costs both sides the same."""

    def export(self, spans: Any) -> SpanExportResult:
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Do nothing."""


def count() -> int:
    return STATE[0]


def act(name: str) -> str:
    STATE[0] += 1
    return name


async def act_async(name: str) -> str:
    STATE[0] += 1
    return name


@dataclass
class HandWritten:
    """The same telemetry, written by hand for one action and `checks` metrics."""

    instruments: Instruments
    checks: int

    def begin(self) -> tuple[Any, Any, str, list[int]]:
        tag = str(uuid4())
        ctx = baggage.set_baggage("deltaspan.causal_tag.id", tag)
        ctx = baggage.set_baggage("deltaspan.causal_tag.root_id", tag, ctx)
        span = self.instruments.tracer.start_span(
            "execute_tool act",
            context=ctx,
            kind=trace.SpanKind.INTERNAL,
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "act",
                "code.function.name": "__main__.act",
                "deltaspan.action.name": "act",
                "deltaspan.causal_tag.id": tag,
                "deltaspan.causal_tag.root_id": tag,
            },
        )
        token = context.attach(trace.set_span_in_context(span, ctx))
        return span, token, tag, [count() for _ in range(self.checks)]

    def finish(self, span: Any, token: Any, before: list[int], seconds: float, began: float) -> None:
        after = [count() for _ in range(self.checks)]
        instruments = self.instruments
        recording = span.is_recording()
        outcome = "pass"
        attributes: dict[str, Any] = {}
        failed = []
        for i, (pre, post) in enumerate(zip(before, after, strict=True)):
            metric = f"m{i}"
            delta = post - pre
            if delta != 1:
                failed.append(metric)
                outcome = "fail"
            if recording:
                span.add_event(
                    "deltaspan.check.result",
                    {
                        "deltaspan.check.metric": metric,
                        "deltaspan.check.outcome": outcome,
                        "deltaspan.check.expected_delta": 1,
                        "deltaspan.check.actual_delta": delta,
                        "deltaspan.check.attribution": "window",
                        "deltaspan.check.origin": "this_action",
                        "deltaspan.check.explanation": (
                            f"{metric} changed by {delta}, as expected ({pre} → {post})"
                        ),
                        "deltaspan.check.probe.duration": seconds,
                    },
                )
                attributes[f"deltaspan.pre_state.{metric}"] = pre
                attributes[f"deltaspan.post_state.{metric}"] = post
                attributes[f"deltaspan.expected_delta.{metric}"] = 1
                attributes[f"deltaspan.actual_delta.{metric}"] = delta
            instruments.checks.add(
                1,
                {
                    "deltaspan.action.name": "act",
                    "deltaspan.check.metric": metric,
                    "deltaspan.check.outcome": outcome,
                    "deltaspan.check.origin": "this_action",
                },
            )
        action = {"deltaspan.action.name": "act"}
        tool = {"gen_ai.tool.name": "act", "gen_ai.tool.type": "function"}
        instruments.execute_tool_duration.record(seconds, tool)
        instruments.verification_duration.record(time.perf_counter() - began - seconds, action)
        if recording:
            attributes |= {
                "deltaspan.action.outcome": outcome,
                "deltaspan.check.count": self.checks,
            }
            if failed:
                attributes["deltaspan.check.failed_metrics"] = failed
            span.set_attributes(attributes)
        span.end()
        context.detach(token)

    def call(self, name: str) -> str:
        began = time.perf_counter()
        span, token, _, before = self.begin()
        started = time.perf_counter()
        result = act(name)
        self.finish(span, token, before, time.perf_counter() - started, began)
        return result

    async def call_async(self, name: str) -> str:
        began = time.perf_counter()
        span, token, _, before = self.begin()
        started = time.perf_counter()
        result = await act_async(name)
        self.finish(span, token, before, time.perf_counter() - started, began)
        return result


def with_sdk(sampler: Sampler) -> Instruments:
    tracer_provider = TracerProvider(sampler=sampler)
    # The queue never fills, so that recording is measured and not dropping.
    batches = BatchSpanProcessor(Discard(), max_queue_size=2**16, schedule_delay_millis=200)
    tracer_provider.add_span_processor(batches)
    return Instruments(tracer_provider, MeterProvider([InMemoryMetricReader()]), LoggerProvider())


def without_sdk() -> Instruments:
    return Instruments()


def compared(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Return the median of one call of each, in microseconds."""
    timings: tuple[list[float], list[float]] = ([], [])
    for round_ in range(rounds + 3):
        for timing, run in zip(timings, (ours, theirs), strict=True):
            # Only the time of this thread, without the exporter's thread and other processes.
            began = time.thread_time()
            run()
            elapsed = (time.thread_time() - began) / CALLS_A_ROUND * 1e6
            if round_ >= 3:  # the first rounds warm caches
                timing.append(elapsed)
    return statistics.median(timings[0]), statistics.median(timings[1])


def repeated(call: Callable[[str], Any]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS_A_ROUND):
            call("flow")

    return run


def repeated_async(call: Callable[[str], Any], loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    async def body() -> None:
        for _ in range(CALLS_A_ROUND):
            await call("flow")

    return lambda: loop.run_until_complete(body())


def no_op_span(tracer: trace.Tracer) -> Callable[[str], str]:
    def call(name: str) -> str:
        with tracer.start_as_current_span("execute_tool act"):
            return act(name)

    return call


def no_op_span_async(tracer: trace.Tracer) -> Callable[[str], Any]:
    async def call(name: str) -> str:
        with tracer.start_as_current_span("execute_tool act"):
            return await act_async(name)

    return call


@wrapt.decorator
def bare_wrapt(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    return wrapped(*args, **kwargs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--only", default="", help="run the rows whose name contains this")
    options = parser.parse_args()
    loop = asyncio.new_event_loop()
    rows: list[tuple[str, str, int, Callable[[], Instruments], str, float]] = []
    for checks in (1, 4, 16):
        rows += [
            ("SDK, batch processor", kind, checks, lambda: with_sdk(ALWAYS_ON), "hand", 1.15)
            for kind in ("sync", "async")
        ]
    for checks in (1, 4, 16):
        rows += [
            ("SDK, sampled out", kind, checks, lambda: with_sdk(ALWAYS_OFF), "hand", 1.5)
            for kind in ("sync", "async")
        ]
    rows += [("no SDK", kind, 1, without_sdk, "no-op span", 2.0) for kind in ("sync", "async")]
    rows += [("disabled", kind, 1, without_sdk, "bare wrapt", 1.2) for kind in ("sync", "async")]

    print(f"{'':22}{'':7}{'checks':>7}{'ours µs':>10}{'other µs':>10}{'ratio':>8}{'target':>8}")
    for mode, kind, checks, make, against, target in rows:
        if options.only not in f"{mode} {kind} {checks}":
            continue
        reset()
        instruments = install(make())
        decorate = expects(*[change(f"m{i}", count).by(1) for i in range(checks)])
        is_async = kind == "async"
        ours: Any = decorate(act_async if is_async else act)  # type: ignore[arg-type]
        hand = HandWritten(instruments, checks)
        theirs: Any = {
            "hand": hand.call_async if is_async else hand.call,
            "no-op span": (no_op_span_async if is_async else no_op_span)(instruments.tracer),
            "bare wrapt": bare_wrapt(act_async if is_async else act),
        }[against]
        if mode == "disabled":
            # The switch is read once from the environment, so it is set before.
            ours = disabled(decorate, is_async=is_async)
        repeat = (lambda call: repeated_async(call, loop)) if is_async else repeated
        mine, other = compared(repeat(ours), repeat(theirs), options.rounds)
        met = "" if mine / other <= target else "  <- over"
        print(
            f"{mode:22}{kind:7}{checks:>7}{mine:>10.2f}{other:>10.2f}{mine / other:>8.2f}{target:>8.2f}{met}"
            f"   against {against}"
        )
    loop.close()
    reset()


def disabled(decorate: Any, *, is_async: bool) -> Any:
    import os  # noqa: PLC0415  # only this row touches the environment

    os.environ["DELTASPAN_ENABLED"] = "false"
    configure()  # reads the environment
    del os.environ["DELTASPAN_ENABLED"]
    return decorate(act_async if is_async else act)


if __name__ == "__main__":
    main()
