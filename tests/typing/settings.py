"""Types of settings: each setting has its type, and an unknown one is an error."""

from opentelemetry._logs import LoggerProvider
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from deltaspan import configure, override

configure(
    enabled=True,
    on_failure="raise",
    on_inconclusive="warn",
    strict=False,
    capture_state="summary",
    max_state_chars=64,
    event_signal="both",
    events=("check", "evaluation"),
    action_duration="all",
    propagate=False,
    probe_spans=True,
    capture_arguments=True,
    sampling_key="of the fleet",
)
with override(strict=True), override(capture_state="none"):
    pass


def hand_in(tracers: TracerProvider, meters: MeterProvider, loggers: LoggerProvider) -> None:
    configure(tracer_provider=tracers, meter_provider=meters, logger_provider=loggers)
    configure(tracer_provider=meters)  # type: ignore[arg-type]


async def act() -> None:
    with override(on_failure="raise"):
        pass


configure(on_failure="rise")  # type: ignore[arg-type]
configure(on_failur="raise")  # type: ignore[call-arg]
override(max_state_chars="64")  # type: ignore[arg-type]
