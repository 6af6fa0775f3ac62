"""The end of a process: nothing is lost, and no collector delays it."""

from __future__ import annotations

import signal

import pytest

from integration._otlp import RECEIVERS, Program, attributes_of, black_hole, closed_port, http_receiver

ONE_ACTION = "telemetry = deltaspan.configure_telemetry()\ncreate_flow()\n"
WAITING = """
    deltaspan.configure_telemetry()
    with deltaspan.window("nightly_import", deltaspan.observe("flows", lambda: len(flows))):
        create_flow()
        print("ready", flush=True)
        time.sleep(60)
"""
HANDLING = """
    def stop(number, frame):
        os.write(1, b"handled %d" % number)  # print is not made for signal handlers
        os._exit(7)

    signal.signal(signal.SIGTERM, stop)
"""


def environ(endpoint, **more):
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, **more}


def terminated(program):
    assert program.line() == "ready"
    program.process.send_signal(signal.SIGTERM)
    return program.end()


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_sigterm_closes_the_open_window_and_sends_everything(protocol):
    with RECEIVERS[protocol]() as (endpoint, received):
        program = terminated(Program(WAITING, **environ(endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)))

    assert (program.status, program.err) == (143, "")
    assert received.span_names == ["execute_tool create_flow", "verify nightly_import"]
    assert "deltaspan.checks" in received.metric_names


def test_a_window_that_sigterm_closed_says_so():
    with http_receiver() as (endpoint, received):
        terminated(Program(WAITING, **environ(endpoint)))
    attributes = attributes_of(received.spans[-1])

    assert (attributes["error.type"], attributes["deltaspan.post_state.flows"]) == ("SystemExit", 1)


def test_sigterm_ends_an_async_program_too():
    body = """
        import asyncio
        deltaspan.configure_telemetry()

        @deltaspan.expects(deltaspan.observe("flows", lambda: len(flows)))
        async def wait():
            print("ready", flush=True)
            await asyncio.sleep(60)

        asyncio.run(wait())
    """
    with http_receiver() as (endpoint, received):
        program = terminated(Program(body, **environ(endpoint)))

    assert (program.status, received.span_names) == (143, ["execute_tool wait"])


def test_a_second_sigterm_does_not_interrupt_the_last_export():
    with black_hole() as (endpoint, _):
        program = Program(WAITING, **environ(endpoint))
        assert program.line() == "ready"
        program.process.send_signal(signal.SIGTERM)
        with pytest.raises(TimeoutError):
            program.exits_within(2)
        program.process.send_signal(signal.SIGTERM)
        program.end()

    assert (program.status, program.err.count("Traceback")) == (143, 0)


def test_a_signal_handler_of_the_program_decides_the_exit_after_a_flush():
    with http_receiver() as (endpoint, received):
        program = terminated(Program(HANDLING + WAITING, **environ(endpoint)))

    assert (program.status, program.out.strip()) == (7, "handled 15")
    assert received.span_names == ["execute_tool create_flow"]


def test_a_handler_that_is_set_later_stands_alone():
    body = WAITING.replace(
        "with deltaspan", "signal.signal(signal.SIGTERM, lambda *_: os._exit(9))\n    with deltaspan"
    )
    with http_receiver() as (endpoint, _):
        assert terminated(Program(body, **environ(endpoint))).status == 9


def test_an_ignored_sigterm_stays_ignored():
    body = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        telemetry = deltaspan.configure_telemetry()
        print(signal.getsignal(signal.SIGTERM) is signal.SIG_IGN)
    """
    with http_receiver() as (endpoint, _):
        assert Program(body, **environ(endpoint)).end().out.strip() == "True"


def test_a_call_outside_the_main_thread_installs_no_sigterm_handler():
    body = """
        import threading
        thread = threading.Thread(target=deltaspan.configure_telemetry)
        thread.start(); thread.join()
        create_flow()
        print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
    """
    with http_receiver() as (endpoint, received):
        program = Program(body, **environ(endpoint)).end()

    assert (program.out.strip(), program.err) == ("True", "")
    assert received.span_names == ["execute_tool create_flow"]


SAID_ONCE = (
    "telemetry is not arriving; this is said once, actions are not affected; `deltaspan doctor`, run in the "
    "same environment, says why"
)
UNREACHABLE = {"closed port": closed_port, "black hole": black_hole}
each_way = pytest.mark.parametrize("protocol", RECEIVERS)
each_place = pytest.mark.parametrize("place", UNREACHABLE.values(), ids=UNREACHABLE)
ALL_SIGNALS = {
    "DELTASPAN_EVENT_SIGNAL": "both",
    "OTEL_BSP_SCHEDULE_DELAY": "50",
    "OTEL_METRIC_EXPORT_INTERVAL": "50",
}


def unreachable(place, protocol, body):
    with place() as (endpoint, _):
        variables = environ(endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol, **ALL_SIGNALS)
        return Program(body, **variables).end()


@each_way
@each_place
def test_an_unreachable_collector_is_logged_exactly_once(place, protocol):
    program = unreachable(place, protocol, ONE_ACTION + "time.sleep(1); create_flow()")

    assert len(program.err.splitlines()) == 1, program.err
    assert SAID_ONCE in program.err
    assert program.err.split()[0] in ("WARNING", "ERROR")


@each_way
@each_place
def test_an_unreachable_collector_holds_the_process_up_for_five_seconds_at_most(place, protocol):
    body = ONE_ACTION + "time.sleep(0.5); print('end', flush=True)"
    with place() as (endpoint, _):
        program = Program(body, **environ(endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol, **ALL_SIGNALS))
        assert program.line() == "end"
        program.end(timeout=20)  # five seconds, and a busy machine; three exports of ten are thirty

    assert program.status == 0


@each_way
@each_place
def test_an_unreachable_collector_does_not_slow_an_action(place, protocol):
    body = (
        ONE_ACTION
        + """
slowest = 0.0
until = time.monotonic() + 1.5
while time.monotonic() < until:
    began = time.perf_counter()
    create_flow()
    slowest = max(slowest, time.perf_counter() - began)
    time.sleep(0.01)
print(slowest)
"""
    )
    # To wait for an export would take five seconds. A busy machine may stop a process for a second.
    assert float(unreachable(place, protocol, body).out) < 3


def test_a_dead_collector_of_traces_does_not_keep_the_metrics_from_theirs():
    with black_hole() as (dead, _), http_receiver() as (endpoint, received):
        variables = environ(endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=dead + "/v1/traces")
        program = Program(ONE_ACTION, **variables).end()

    assert "deltaspan.checks" in received.metric_names
    assert program.err.splitlines() == [
        f"WARNING deltaspan: traces could not be sent within 5 s ({SAID_ONCE})"
    ]


@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_collector_that_refuses_is_logged_once(status):
    with http_receiver(status) as (endpoint, _):
        program = Program(ONE_ACTION, **environ(endpoint, **ALL_SIGNALS)).end()

    assert len(program.err.splitlines()) == 1, program.err


def test_the_next_outage_is_another_one():
    body = """
        from deltaspan._telemetry.sdk._exporters import Outage

        class Exporter:
            result = "FAILURE"

            def export(self, batch):
                logging.getLogger("opentelemetry.sdk.metrics._internal.export").error("cannot send %s", batch)
                return type("Result", (), {"name": self.result})

        one, other = Exporter(), Exporter()
        outage = Outage()
        outage.watch([one, other])
        good, bad = "SUCCESS", "FAILURE"
        results = [(bad, bad), (good, bad), (good, good), (bad, bad)]
        for batch, (one.result, other.result) in enumerate(results, 1):
            one.export(batch)
            other.export(batch)
    """
    said = [line.partition(" (")[0] for line in Program(body).end().err.splitlines()]
    assert said == [
        "ERROR opentelemetry.sdk.metrics._internal.export: cannot send 1",
        "ERROR opentelemetry.sdk.metrics._internal.export: cannot send 4",
    ]
