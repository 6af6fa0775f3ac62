"""Sampling, redaction and durable queues of the real collector, with the shipped configuration."""

from __future__ import annotations

import json
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from uuid import uuid4

import pytest
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import Status, StatusCode, format_trace_id, set_span_in_context

from deltaspan import semconv
from e2e._servers import binary, until
from e2e._stack import DEPLOY, Collector, StoringJaeger

pytestmark = pytest.mark.usefixtures("built")

TOKEN = "ghp_" + "a1B2" * 10


class Sender(SpanProcessor):
    """Sends each span when it ends, and remembers what was acknowledged."""

    def __init__(self, collector, timeout=60):
        self.service = f"collector-{uuid4()}"
        self.acknowledged = set()
        self._exporter = OTLPSpanExporter(endpoint=collector.grpc_endpoint, insecure=True, timeout=timeout)
        self._provider = TracerProvider(
            resource=Resource({"service.name": self.service}), shutdown_on_exit=False
        )
        self._provider.add_span_processor(self)
        self._tracer = self._provider.get_tracer("test")
        self._held = None

    def on_end(self, span):
        if self._held is None:
            self._export([span])
        else:
            self._held.append(span)

    def _export(self, spans):
        if self._exporter.export(spans) is SpanExportResult.SUCCESS:
            self.acknowledged |= {format_trace_id(span.context.trace_id) for span in spans}

    @contextmanager
    def in_one_request(self):
        """Send what ends in the block together, however slow the machine is."""
        self._held = []
        yield
        self._export(self._held)
        self._held = None

    def shutdown(self):
        self._exporter.shutdown()

    def send(self, outcome, *, name="execute_tool act", parent=None, error=None, seconds=0, **attributes):
        """Send one span and return it."""
        now = time.time_ns()
        span = self._tracer.start_span(
            name,
            context=set_span_in_context(parent) if parent else None,
            attributes={semconv.ACTION_OUTCOME: outcome, **attributes} if outcome else attributes,
            start_time=now - int(seconds * 1e9),
        )
        if error:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end(now)
        return span


@pytest.fixture
def sender():
    made = []

    def make(collector, **options):
        made.append(Sender(collector, **options))
        return made[-1]

    yield make
    for each in made:
        each.shutdown()


def trace_id(span):
    return format_trace_id(span.get_span_context().trace_id)


@pytest.fixture(scope="module")
def collector(jaeger, tmp_path_factory):
    address = jaeger.grpc_endpoint.removeprefix("http://")
    folder = tmp_path_factory.mktemp("collector")
    with Collector(folder, jaeger=address, KEEP_PERCENT="0", DECISION_WAIT="1s") as server:
        yield server


def names(trace):
    return sorted(span.name for span in trace.spans)


def test_the_configuration_that_ships_is_valid(collector):
    command = [binary("collector"), "validate", "--config", DEPLOY / "collector" / "config.yaml"]

    checked = subprocess.run(command, check=False, capture_output=True, text=True)

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_verdicts_errors_and_slow_traces_are_kept_and_the_rest_is_not(collector, jaeger, sender):
    agent = sender(collector)
    dropped = [agent.send(outcome) for outcome in ("pass", "observed", "skipped", None)]
    dropped.append(agent.send("pass", **{semconv.VERIFICATION_DURATION: 4.9}))
    kept = [
        agent.send("fail"),
        agent.send("inconclusive"),
        agent.send("fail", name="verify act"),
        agent.send(None, error="it broke"),
        agent.send("pass", seconds=6),
        agent.send("pass", **{semconv.VERIFICATION_DURATION: 5.1}),
    ]
    assert agent.acknowledged == {trace_id(span) for span in dropped + kept}

    jaeger.find_traces(agent.service, at_least=len(kept))
    kept.append(agent.send("pass", seconds=6))  # decided after all of the above
    found = jaeger.find_traces(agent.service, at_least=len(kept))

    assert {trace.trace_id for trace in found} == {trace_id(span) for span in kept}


def test_a_trace_with_a_failed_check_is_kept_whole_and_no_span_of_it_twice(collector, jaeger, sender):
    agent = sender(collector)
    with agent.in_one_request():
        root = agent.send(None, name="agent turn")
        agent.send("pass", name="execute_tool read", parent=root)
        failed = agent.send("fail", name="execute_tool write", parent=root, error="expected rows to change")
        agent.send(None, name="INSERT", parent=failed)

    [at_once] = jaeger.find_traces(agent.service)
    until(lambda: len(jaeger.trace(at_once.trace_id).spans) >= 4)
    agent.send("pass", seconds=6)
    jaeger.find_traces(agent.service, at_least=2)  # decided after the first, which is complete by then

    whole = jaeger.trace(at_once.trace_id)
    assert names(whole) == ["INSERT", "agent turn", "execute_tool read", "execute_tool write"]


def test_a_verdict_is_stored_before_its_trace_is_decided(jaeger, sender, tmp_path):
    address = jaeger.grpc_endpoint.removeprefix("http://")
    with Collector(tmp_path, jaeger=address, DECISION_WAIT="1h") as slow:
        agent = sender(slow)
        agent.send(None, name="agent turn")
        agent.send("fail")

        [trace] = jaeger.find_traces(agent.service)

        assert names(trace) == ["execute_tool act"]


def test_a_share_of_all_traces_is_everything(jaeger, sender, tmp_path):
    address = jaeger.grpc_endpoint.removeprefix("http://")
    with Collector(tmp_path, jaeger=address, KEEP_PERCENT="100", DECISION_WAIT="1s") as generous:
        agent = sender(generous)
        for _ in range(20):
            agent.send("pass")

        assert len(jaeger.find_traces(agent.service, at_least=20)) == 20


def test_credentials_are_hidden_on_spans_in_events_and_in_the_sentence_of_an_error(collector, jaeger, sender):
    agent = sender(collector)
    span = agent._tracer.start_span("execute_tool act", attributes={semconv.ACTION_OUTCOME: "fail"})
    span.set_attributes(
        {
            semconv.PRE_STATE_PREFIX + "settings": '{"user": "ann", "password": "hunter2"}',
            semconv.POST_STATE_PREFIX + "api_key": "harmless to look at",
            semconv.POST_STATE_PREFIX + "passwords": 3,
            "url.full": "postgresql://ann:hunter2@db/shop",
            "nested": ["a", {"header": f"Bearer {TOKEN}"}],
            "harmless": "the password was changed, and 12 tokens counted",
        }
    )
    span.add_event(
        semconv.EVENT_CHECK_RESULT,
        {semconv.CHECK_METRIC: "login", semconv.CHECK_ACTUAL_DELTA: TOKEN, semconv.CHECK_OUTCOME: "fail"},
    )
    span.set_status(Status(StatusCode.ERROR, f"expected token to change to {TOKEN}, but it did not"))
    span.end()

    [trace] = jaeger.find_traces(agent.service)
    [stored] = trace.spans

    assert stored.tags == {
        semconv.ACTION_OUTCOME: "fail",
        "deltaspan.pre_state.settings": '{"user": "ann", ****}',
        "deltaspan.post_state.api_key": "****",
        "deltaspan.post_state.passwords": 3,
        "url.full": "postgresql****db/shop",
        "nested": '["a",{"header":"****"}]',
        "harmless": "the password was changed, and 12 tokens counted",
    }
    assert stored.events[0].fields[semconv.CHECK_ACTUAL_DELTA] == "****"
    assert stored.status_message == "expected token to change to ****, but it did not"


HIDDEN = {
    'a {"db_password" : "hunter2", "n": 1} b': 'a {****, "n": 1} b',
    r'{"inner": "{\"token\": \"hunter2\"}"}': r'{"inner": "{****}"}',
    "{'secret': 'hunter 2'}": "{****}",
    "https://shop/?page=2&api_key=hunter2&size=3": "https://shop/?page=2&****&size=3",
    "Authorization: Basic aHVudGVyMg==": "****",
    "redis://:hunter2@cache:6379/0 and s3://k:hunter2@b": "redis****cache:6379/0 and s3****b",
    "-----BEGIN PRIVATE KEY-----\nMIIhunter2\n-----END PRIVATE KEY-----": "****",
    "AKIA" + "A1B2" * 4: "****",
    "AIza" + "a1B2c" * 7: "****",
    "xoxb-12345-hunter2": "****",
    "sk-ant-" + "a1B2" * 6: "****",
    "sk_live_" + "a1B2" * 6: "****",
    "eyJhbGciOiJI.eyJzdWIiOiIx.hunter2": "****",
    "eyJhbGciOiJI.a1B2c3D4.e5F6.a7B8.hunter2": "****",
    # A delta and a sentence that show a changed key.
    '{"modified":{"db/password":["rosebud","hun]ter2"],"n":[1,2]}}': '{"modified":{****,"n":[1,2]}}',
    r'{"inner": "{\"token\":[\"rosebud\",\"hunter2\"],\"n\":[1,2]}"}': r'{"inner": "{****,\"n\":[1,2]}"}',
    "it modified 'password' ('rosebud' → 'hunter2'), 'n' (1 → 2)": "it modified ****, 'n' (1 → 2)",
    "it modified 'db/password' (b'rosebud' → None), which": "it modified ****, which",
    "it modified 'password' ('rosebud' → 'hunt… 9 more chars": "it modified ****",
    '{"credential": {"user": "ann", "key": "hunter2"}, "n": 1}': '{****, "n": 1}',
    # Credentials beside quotes, in bytes, and cut off.
    r'{"password":"hun\"ter2","n":1}': '{****,"n":1}',
    r'{"inner":"{\"password\":\"hun\\\"ter2\",\"n\":1}"}': r'{"inner":"{****,\"n\":1}"}',
    "{'password': b'hunter2', 'n': 1}": "{****, 'n': 1}",
    "{'password': \"it's hunter2\", 'n': 1}": "{****, 'n': 1}",
    '{"n":1,"password":"hunt… 300 more chars': '{"n":1,****',
    # Other names.
    '{"aws_secret_access_key":"hunter2","n":1}': '{****,"n":1}',
    "SECRET_KEY=hunter2 and PGPASSWORD=hunter2": "**** and ****",
    "AccountName=shop;AccountKey=aHVudGVyMg==;n=1": "AccountName=shop;****;n=1",
    "passphrase: hunter2": "****",
    "mysql --user ann --password hunter2 shop": "mysql --user ann **** shop",
    # Other forms.
    "it sent Basic aHVudGVyMTpodW50ZXIy": "it sent ****",
    "-----BEGIN EC PRIVATE KEY-----\nDEK-Info: AES-128-CBC,A1\n\nhunter2\n-----END EC PRIVATE KEY-----\nb": (
        "****\nb"
    ),
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nhunter2": "****",
    "npm_" + "a1B2" * 9: "****",
}
PLAIN = [
    "pk_customer_addresses_of_2026",
    "3 tokens: 5",
    "the tokenizer = sentencepiece",
    "basic authentication, as the secret keyword says",
    "expected 'tokens' to change by 1, but it changed by 0 (3 → 3)",
    "expected settings to change by modifying 'user', but it did not modify 'user' ('password' → 'changed')",
    '{"primary_key":7,"token_count":3,"keys":["a","b"]}',
    "git commit --amend --message 'the password is elsewhere'",
    "5f0c1d8e-6f7e-4a55-9d8c-0f1f2a3b4c5d",
    "expected active_flows to change by 1, but it changed by 0 (3 → 3)",
]


def test_credentials_are_hidden_and_nothing_else(collector, jaeger, sender):
    agent = sender(collector)
    texts = {f"text.{number}": text for number, text in enumerate([*HIDDEN, *PLAIN])}
    agent.send("fail", **texts)

    [trace] = jaeger.find_traces(agent.service)

    stored = {text: trace.spans[0].tags[name] for name, text in texts.items()}
    assert stored == HIDDEN | {text: text for text in PLAIN}


VERDICT = {
    semconv.CHECK_OUTCOME: "fail",
    semconv.CHECK_ORIGIN: "this_action",
    semconv.CHECK_PROBE_DURATION: 0.0005,
    semconv.CHECK_ATTEMPT_COUNT: 2,
}
READ_STATES = {
    semconv.CHECK_EXPECTED_DELTA: "a change",
    semconv.CHECK_ACTUAL_DELTA: "rosebud → orson",
    semconv.CHECK_EXPLANATION: "it is rosebud still",
}
EVALUATION = {semconv.GEN_AI_EVALUATION_SCORE_LABEL: "fail", semconv.GEN_AI_EVALUATION_SCORE_VALUE: 0.0}


@pytest.mark.parametrize("metric", ["db.password", "api-key"])
def test_states_of_a_secret_metric_are_dropped_and_the_verdict_stays(collector, jaeger, sender, metric):
    agent = sender(collector)
    key = re.sub("[^a-z0-9]", "_", metric)
    span = agent._tracer.start_span("execute_tool rotate", attributes={semconv.ACTION_OUTCOME: "fail"})
    span.set_attributes(
        {semconv.CHECK_FAILED_METRICS: ["users", metric], semconv.PRE_STATE_PREFIX + key: "rosebud"}
    )
    secret = {semconv.CHECK_METRIC: metric}
    read = {semconv.GEN_AI_EVALUATION_EXPLANATION: "it is rosebud still"}
    span.add_event(semconv.EVENT_CHECK_RESULT, {**secret, **VERDICT, **READ_STATES})
    span.add_event(semconv.EVENT_GEN_AI_EVALUATION_RESULT, {**secret, **EVALUATION, **read})
    span.add_event(semconv.EVENT_CHECK_RESULT, {semconv.CHECK_METRIC: "users", **READ_STATES})
    span.set_status(Status(StatusCode.ERROR, f"expected {metric} to change, but it is rosebud still"))
    span.end()

    [trace] = jaeger.find_traces(agent.service)
    [stored] = trace.spans

    assert stored.tags[semconv.PRE_STATE_PREFIX + key] == "****"
    assert [event.fields for event in stored.events] == [
        {**secret, **VERDICT},
        {**secret, **EVALUATION},
        {semconv.CHECK_METRIC: "users", **READ_STATES},
    ]
    assert (stored.status, stored.status_message) == ("ERROR", "****")


def test_only_log_records_of_deltaspan_are_kept_in_a_file_without_credentials(collector):
    provider = LoggerProvider(resource=Resource({"service.name": "agent"}))
    exporter = OTLPLogExporter(endpoint=collector.grpc_endpoint, insecure=True)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("test")
    events = {
        semconv.EVENT_CHECK_RESULT: {semconv.CHECK_METRIC: "users", semconv.CHECK_POST_STATE: TOKEN},
        semconv.EVENT_GEN_AI_EVALUATION_RESULT: {semconv.CHECK_METRIC: "token", **READ_STATES},
        semconv.EVENT_GEN_AI_EXECUTE_TOOL_EXCEPTION: {"exception.message": f"refused: {TOKEN}"},
        semconv.EVENT_ACTION_EXCEPTION: {"exception.message": "the supplier said no"},
    }
    logger.emit(event_name="something.else", attributes={"text": "chatter"})
    for name, attributes in events.items():
        logger.emit(event_name=name, attributes=attributes)
    provider.shutdown()

    lines = (collector.folder / "events" / "events.jsonl").read_text().splitlines()

    assert [kept(line) for line in lines] == [
        (semconv.EVENT_CHECK_RESULT, {semconv.CHECK_METRIC: "users", semconv.CHECK_POST_STATE: "****"}),
        (semconv.EVENT_GEN_AI_EVALUATION_RESULT, {semconv.CHECK_METRIC: "token"}),
        (semconv.EVENT_GEN_AI_EXECUTE_TOOL_EXCEPTION, {"exception.message": "refused: ****"}),
        (semconv.EVENT_ACTION_EXCEPTION, {"exception.message": "the supplier said no"}),
    ]


def kept(line):
    """Return name and attributes of the one log record in a line of the collector's file."""
    [record] = json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    return record["eventName"], {each["key"]: each["value"]["stringValue"] for each in record["attributes"]}


def test_verdicts_that_were_acknowledged_survive_a_killed_collector(sender, tmp_path_factory):
    with StoringJaeger(tmp_path_factory.mktemp("jaeger")) as jaeger:
        folder = tmp_path_factory.mktemp("killed")
        with Collector(folder, jaeger=jaeger.endpoint, DECISION_WAIT="1h") as collector:
            agent = sender(collector)
            jaeger.kill()
            for _ in range(200):
                agent.send("fail")
            collector.kill()
            jaeger.start()
            collector.start()

            traces = jaeger.api.find_traces(agent.service, at_least=200, timeout=180)

    assert {trace.trace_id for trace in traces} == agent.acknowledged
    assert len(agent.acknowledged) == 200
    assert [len(trace.spans) for trace in traces] == [1] * 200


def test_a_killed_jaeger_keeps_acknowledged_spans_and_receives_the_rest_after_a_restart(
    sender, tmp_path_factory
):
    with StoringJaeger(tmp_path_factory.mktemp("jaeger")) as jaeger:
        folder = tmp_path_factory.mktemp("outage")
        with Collector(folder, jaeger=jaeger.endpoint) as collector:
            agent = sender(collector)
            for number in range(150):
                agent.send("inconclusive")
                if number == 50:
                    jaeger.kill()
            jaeger.start()

            traces = jaeger.api.find_traces(agent.service, at_least=150, timeout=180)

    assert {trace.trace_id for trace in traces} == agent.acknowledged
    assert len(agent.acknowledged) == 150


def test_a_collector_that_is_killed_over_and_over_while_it_sends_loses_no_verdict(sender, tmp_path_factory):
    with (
        StoringJaeger(tmp_path_factory.mktemp("jaeger")) as jaeger,
        Collector(tmp_path_factory.mktemp("mid-stream"), jaeger=jaeger.endpoint) as collector,
    ):
        agents = [sender(collector) for _ in range(4)]
        done = Event()

        def work(agent):
            while not done.is_set():
                agent.send("fail")

        with ThreadPoolExecutor() as pool:
            working = [pool.submit(work, agent) for agent in agents]
            for _ in range(3):
                time.sleep(1)
                collector.kill()
                collector.start()
            time.sleep(1)
            done.set()
            for each in working:
                each.result()

        for agent in agents:
            assert agent.acknowledged
            assert missing_from(jaeger, agent) == set()


def missing_from(jaeger, agent):
    """Return which acknowledged traces are not stored when time is up, or none as soon as all are."""

    def missing():
        return agent.acknowledged - jaeger.api.trace_ids(agent.service)

    until(lambda: not missing(), 180)
    return missing()


def test_a_full_queue_refuses_new_spans_and_loses_no_accepted_ones(sender, tmp_path_factory):
    with StoringJaeger(tmp_path_factory.mktemp("jaeger")) as jaeger:
        folder = tmp_path_factory.mktemp("full")
        settings = {"TRACES_QUEUE_BYTES": "300000", "DECISION_WAIT": "1h"}
        with Collector(folder, jaeger=jaeger.endpoint, **settings) as collector:
            agent = sender(collector, timeout=1)
            jaeger.kill()
            sent = 0
            while not collector.refused_spans:
                agent.send("fail", padding="x" * 20_000)
                sent += 1
            jaeger.start()
            missing = missing_from(jaeger, agent)

    assert 5 < len(agent.acknowledged) < sent
    assert missing == set()


def test_a_full_batch_of_spans_with_states_of_a_kilobyte_is_taken(collector):
    provider = TracerProvider(shutdown_on_exit=False)
    states = {semconv.PRE_STATE_PREFIX + str(number): "x" * 1024 for number in range(10)}
    spans = [provider.get_tracer("test").start_span("act", attributes=states) for _ in range(512)]
    for span in spans:
        span.end()
    exporter = OTLPSpanExporter(endpoint=collector.grpc_endpoint, insecure=True, timeout=180)

    sent = exporter.export(spans)
    exporter.shutdown()

    assert sent is SpanExportResult.SUCCESS
