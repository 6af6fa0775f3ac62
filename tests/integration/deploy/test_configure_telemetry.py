"""`configure_telemetry` against real OTLP receivers: signals, names and refused settings."""

from __future__ import annotations

from functools import cache

import pytest

from integration._otlp import RECEIVERS, Program, attributes_of, black_hole, http_receiver

CONFIGURE = "telemetry = deltaspan.configure_telemetry()\n"
ONE_ACTION = CONFIGURE + "create_flow()\n"
NOTHING_ELSE = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}


def environ(endpoint, **more):
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "DELTASPAN_EVENT_SIGNAL": "both", **more}


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_traces_metrics_and_logs_arrive_at_exit(protocol):
    with RECEIVERS[protocol]() as (endpoint, received):
        program = Program(ONE_ACTION, **environ(endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)).end()

    assert (program.status, program.err) == (0, "")
    assert received.span_names == ["execute_tool create_flow"]
    assert received.metric_names == {
        "deltaspan.checks",
        "gen_ai.execute_tool.duration",
        "deltaspan.verification.duration",
    }
    assert received.log_names == ["deltaspan.check.result"]
    assert received.protocol == protocol.partition("/")[0]


def test_the_verdict_arrives_with_its_types():
    with http_receiver() as (endpoint, received):
        Program(ONE_ACTION, **environ(endpoint)).end()
    attributes = attributes_of(received.spans[0])

    assert {
        name: attributes[f"deltaspan.{name}"]
        for name in ("action.outcome", "post_state.flows", "check.count")
    } == {"action.outcome": "pass", "post_state.flows": 1, "check.count": 1}


def test_the_default_protocol_is_http():
    with http_receiver() as (endpoint, received):
        Program(ONE_ACTION, **environ(endpoint)).end()

    assert received.span_names == ["execute_tool create_flow"]


def test_each_signal_may_have_its_own_protocol():
    with RECEIVERS["grpc"]() as (grpc_endpoint, by_grpc), http_receiver() as (http_endpoint, by_http):
        variables = environ(
            http_endpoint,
            OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="grpc",
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=grpc_endpoint,
        )
        Program(ONE_ACTION, **variables).end()

    assert (by_grpc.span_names, by_grpc.log_names) == (["execute_tool create_flow"], [])
    assert (by_http.span_names, by_http.log_names) == ([], ["deltaspan.check.result"])


def test_only_the_transport_in_use_is_loaded():
    body = CONFIGURE + "print(sorted({'grpc', 'requests'} & set(sys.modules)))"
    with http_receiver() as (endpoint, _):
        program = Program(body, **environ(endpoint)).end()

    assert program.out.strip() == "['requests']"


@pytest.mark.parametrize(
    ("argument", "variables", "name"),
    [
        ("'import'", {}, "import"),
        ("'import'", {"OTEL_SERVICE_NAME": "deployed"}, "deployed"),
        ("'import'", {"OTEL_RESOURCE_ATTRIBUTES": "service.name=deployed"}, "deployed"),
        ("'import'", {"OTEL_RESOURCE_ATTRIBUTES": "team=flows"}, "import"),
        ("", {"OTEL_SERVICE_NAME": "deployed"}, "deployed"),
    ],
)
def test_the_deployment_names_the_service_before_the_program_does(argument, variables, name):
    body = f"deltaspan.configure_telemetry({argument})\ncreate_flow()"
    with http_receiver() as (endpoint, received):
        Program(body, **environ(endpoint, **variables)).end()

    assert received.service_names == {name}


def test_a_service_without_a_name_is_unknown_service():
    with http_receiver() as (endpoint, received):
        Program(ONE_ACTION, **environ(endpoint)).end()

    assert [name.partition(":")[0] for name in received.service_names] == ["unknown_service"]


@pytest.mark.parametrize("other", ["trace", "metrics", "_logs"])
def test_an_existing_sdk_is_left_unchanged(other):
    body = f"""
        from opentelemetry import _logs, metrics, trace
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.trace import TracerProvider

        if {other!r} == "trace":
            trace.set_tracer_provider(TracerProvider())
        if {other!r} == "metrics":
            metrics.set_meter_provider(MeterProvider())
        if {other!r} == "_logs":
            _logs.set_logger_provider(LoggerProvider())
        before = trace.get_tracer_provider(), metrics.get_meter_provider(), _logs.get_logger_provider()
        handler = signal.getsignal(signal.SIGTERM)
        telemetry = deltaspan.configure_telemetry()
        create_flow()
        after = trace.get_tracer_provider(), metrics.get_meter_provider(), _logs.get_logger_provider()
        print(telemetry, before == after, signal.getsignal(signal.SIGTERM) == handler)
    """
    with http_receiver() as (endpoint, received):
        program = Program(body, **environ(endpoint)).end()

    assert (program.out.strip(), program.err) == ("Telemetry(configured=False) True True", "")
    assert received.requests == []


def test_a_second_call_changes_nothing():
    body = "print(deltaspan.configure_telemetry(), deltaspan.configure_telemetry())\ncreate_flow()"
    with http_receiver() as (endpoint, received):
        program = Program(body, **environ(endpoint)).end()

    assert program.out.strip() == "Telemetry(configured=True) Telemetry(configured=False)"
    assert received.span_names == ["execute_tool create_flow"]


def test_flush_sends_pending_telemetry():
    body = ONE_ACTION + "telemetry.flush(); os._exit(0)"
    with http_receiver() as (endpoint, received):
        Program(body, **environ(endpoint)).end()

    assert (received.span_names, received.log_names) == (
        ["execute_tool create_flow"],
        ["deltaspan.check.result"],
    )
    assert "deltaspan.checks" in received.metric_names


def test_the_exit_after_a_manual_shutdown_is_quiet():
    body = ONE_ACTION + "telemetry.shutdown(); telemetry.shutdown(); telemetry.flush(); create_flow()"
    with http_receiver() as (endpoint, received):
        program = Program(body, **environ(endpoint)).end()

    assert (program.status, program.err) == (0, "")
    assert received.span_names == ["execute_tool create_flow"]


def test_pending_telemetry_is_sent_if_the_program_fails():
    with http_receiver() as (endpoint, received):
        program = Program(ONE_ACTION + "raise SystemExit(3)", **environ(endpoint)).end()

    assert (program.status, received.span_names) == (3, ["execute_tool create_flow"])


def test_a_forked_child_sends_its_own_telemetry():
    body = (
        ONE_ACTION.replace("create_flow", "print")
        + """
if os.fork() == 0:
    create_flow()
    sys.exit(0)
os.wait()
"""
    )
    with http_receiver() as (endpoint, received):
        program = Program(body, **environ(endpoint)).end()

    assert (program.err, received.span_names) == ("", ["execute_tool create_flow"])
    assert program.seconds < 60


@pytest.mark.parametrize("signal_name", ["TRACES", "METRICS", "LOGS"])
def test_a_signal_set_to_none_is_not_sent(signal_name):
    with http_receiver() as (endpoint, received):
        Program(ONE_ACTION, **environ(endpoint, **{f"OTEL_{signal_name}_EXPORTER": "none"})).end()
    arrived = {"TRACES": received.span_names, "METRICS": received.metric_names, "LOGS": received.log_names}

    assert [name for name, items in arrived.items() if not items] == [signal_name]


def test_console_prints_spans():
    program = Program(ONE_ACTION, **{**NOTHING_ELSE, "OTEL_TRACES_EXPORTER": "console"}).end()

    assert (program.status, program.err) == (0, "")
    assert '"name": "execute_tool create_flow"' in program.out


def test_console_needs_no_transport():
    body = CONFIGURE + "print({'grpc', 'requests'} & set(sys.modules))"
    console = dict.fromkeys(NOTHING_ELSE, "console")

    assert Program(body, **console).end().out.startswith("set()")


def test_several_exporters_stand_with_commas_between():
    with http_receiver() as (endpoint, received):
        program = Program(ONE_ACTION, **environ(endpoint, OTEL_TRACES_EXPORTER="console, otlp")).end()

    assert '"name": "execute_tool create_flow"' in program.out
    assert received.span_names == ["execute_tool create_flow"]


def test_an_exporter_that_a_package_offers_is_found_by_its_name(tmp_path):
    variables = {
        **dict.fromkeys(NOTHING_ELSE, "otlp_json_file"),
        "OTEL_EXPORTER_OTLP_FILE_PATH": str(tmp_path / "telemetry.jsonl"),
    }
    program = Program(ONE_ACTION + "telemetry.shutdown()", **variables).end()

    assert (program.status, program.err) == (0, "")
    assert '"name":"execute_tool create_flow"' in program.out.replace(": ", ":")


def test_a_pull_metric_reader_of_another_package_can_be_scraped():
    body = ONE_ACTION + "import prometheus_client; print(prometheus_client.generate_latest().decode())"
    variables = {**NOTHING_ELSE, "OTEL_METRICS_EXPORTER": "prometheus", "OTEL_EXPORTER_PROMETHEUS_PORT": "0"}
    program = Program(body, **variables).end()

    assert (program.status, program.err) == (0, "")
    assert "deltaspan_checks_total{" in program.out


REFUSED = [
    (
        {"OTEL_TRACES_EXPORTER": "otlp_jsonfile"},
        (
            "OTEL_TRACES_EXPORTER='otlp_jsonfile' needs an exporter that is not installed; there are "
            "console, none, otlp, otlp_json_file, otlp_proto_grpc, otlp_proto_http"
        ),
    ),
    (
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
        (
            "the OTLP protocol 'http/json' of traces needs an exporter that is not installed; there are "
            "console, none, otlp, otlp_json_file, otlp_proto_grpc, otlp_proto_http"
        ),
    ),
    (
        {"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "udp"},
        (
            "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL='udp' is not a protocol of OTLP; "
            "use grpc, http/protobuf, http/json"
        ),
    ),
    (
        {**NOTHING_ELSE, "OTEL_METRICS_EXPORTER": "prometheus", "OTEL_EXPORTER_PROMETHEUS_PORT": "soon"},
        ("the exporter of metrics 'prometheus' cannot start: invalid literal for int() with base 10: 'soon'"),
    ),
    (
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon"},
        (
            "the exporter of traces does not understand one of the OTEL_EXPORTER_OTLP_* environment "
            "variables: could not convert string to float: 'soon'"
        ),
    ),
]


@pytest.mark.parametrize(("variables", "sentence"), REFUSED)
def test_an_unknown_setting_is_refused_by_name(variables, sentence):
    body = """
        from opentelemetry import trace
        try:
            deltaspan.configure_telemetry()
        except ValueError as error:
            print(isinstance(error, deltaspan.DeltaspanError), error)
            print(type(trace.get_tracer_provider()).__name__)
    """
    program = Program(body, **variables).end()

    assert program.out.splitlines() == [f"True {sentence}", "ProxyTracerProvider"]


def test_a_disabled_sdk_sets_up_nothing():
    body = ONE_ACTION + "print(telemetry, signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
    with black_hole() as (endpoint, _):
        program = Program(body, **environ(endpoint, OTEL_SDK_DISABLED="true")).end()

    assert (program.out.strip(), program.err) == ("Telemetry(configured=False) True", "")
    assert program.seconds < 4


@pytest.mark.parametrize("content", ["file_format: '1.0'\ndisabled: true\n", "file_format: '1.0'\n"])
def test_a_configuration_file_of_opentelemetry_stands_above(tmp_path, content):
    path = tmp_path / "otel.yaml"
    path.write_text(content)
    body = ONE_ACTION + "print(telemetry, signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
    with http_receiver() as (endpoint, received):
        program = Program(
            body, **environ(endpoint, OTEL_CONFIG_FILE=str(path), OTEL_TRACES_EXPORTER="not installed")
        ).end()

    assert program.out.strip() == "Telemetry(configured=False) True"
    (line,) = program.err.splitlines()
    assert f"OTEL_CONFIG_FILE={path} configures OpenTelemetry, so configure_telemetry sets up nothing" in line
    assert (received.span_names, received.log_names) == ([], [])


def test_a_sampler_is_read_from_the_environment():
    with http_receiver() as (endpoint, received):
        Program(ONE_ACTION, **environ(endpoint, OTEL_TRACES_SAMPLER="always_off")).end()

    assert (received.span_names, received.log_names) == ([], ["deltaspan.check.result"])


# Baggage ----------------------------------------------------------------------------------------------------

TAG = "3b9d5f6e-0a51-4c3e-9a52-1a2b3c4d5e6f"
BODY = """
    from opentelemetry import trace, _logs
    telemetry = deltaspan.configure_telemetry()

    def work():
        trace.get_tracer("a library").start_span("query").end()
        _logs.get_logger("a library").emit(event_name="queried", severity_number=_logs.SeverityNumber.INFO)

    @deltaspan.expects(deltaspan.observe("nothing", lambda: 0))
    def act():
        print(deltaspan.current_causal_tag())
        work()

"""
KEYS = ("deltaspan.causal_tag.id", "deltaspan.causal_tag.root_id")


@cache
def run(call, before=""):
    with http_receiver() as (endpoint, received):
        program = Program(before + BODY + f"    {call}\n", OTEL_EXPORTER_OTLP_ENDPOINT=endpoint).end()
    [span] = [each for each in received.spans if each.name == "query"]
    [log] = [each for each in received.logs if each.event_name == "queried"]
    return program, attributes_of(span), attributes_of(log)


@pytest.fixture(scope="module")
def inside():
    return run("act()")


@pytest.mark.parametrize("signal", [1, 2], ids=["span", "log record"])
def test_signals_inside_an_action_carry_its_tag_and_root(inside, signal):
    tag = inside[0].out.strip()

    assert [inside[signal][key] for key in KEYS] == [tag, tag]


@pytest.mark.parametrize("signal", [1, 2], ids=["span", "log record"])
def test_signals_outside_an_action_carry_no_tag(signal):
    assert run("work()")[signal].keys() & set(KEYS) == set()


@pytest.mark.parametrize("signal", [1, 2], ids=["span", "log record"])
def test_only_tag_and_root_are_copied_from_baggage(signal):
    headers = {"baggage": f"deltaspan.causal_tag.id={TAG},deltaspan.action.outcome=pass,user=ada"}
    found = run(f"with deltaspan.adopt({headers}): work()")[signal]

    assert {
        key: value for key, value in found.items() if key in (*KEYS, "deltaspan.action.outcome", "user")
    } == {
        "deltaspan.causal_tag.id": TAG,
        "deltaspan.causal_tag.root_id": TAG,
    }


MISSING = """
    logging.basicConfig(level=logging.INFO, force=True, format="%(name)s %(levelname)s %(message)s")
    sys.modules["opentelemetry.processor.baggage"] = None
"""


def test_a_missing_package_is_reported_with_its_extra_and_set_up_continues():
    program, span, _ = run("act()", before=MISSING)

    assert (program.status, span.keys() & set(KEYS)) == (0, set())
    assert (
        "deltaspan INFO only the spans of actions carry the causal tag; for every span and log record inside "
        "them: pip install 'deltaspan[baggage]'"
    ) in program.err.splitlines()
