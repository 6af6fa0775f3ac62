"""`deltaspan tree`, run as CI runs it, on files that real programs wrote."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from deltaspan.tree import causal_tree, read_files
from support.tree import action, other, tag

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMAND = Path(sys.executable).parent / "deltaspan"
ENVIRON = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "DELTASPAN_"))}


def run(*command, cwd=None, stdin=None, **environ):
    return subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env=ENVIRON | {"PYTHONIOENCODING": "utf-8"} | environ,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )


def tree(*arguments, **options):
    return run(COMMAND, "tree", *arguments, **options)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    assert run(sys.executable, EXAMPLES / "demo", "--output", folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def handover(tmp_path_factory):
    folder = tmp_path_factory.mktemp("handover")
    assert run(sys.executable, EXAMPLES / "handover" / "orchestrator.py", folder).returncode == 0
    return folder


@pytest.fixture
def written(tmp_path):
    """Return what writes spans to a file, as an exporter would."""

    def write(*spans, name="spans.jsonl"):
        exported = [
            {
                "traceId": span.trace_id,
                "spanId": span.span_id,
                "parentSpanId": span.parent_span_id,
                "name": span.name,
                "kind": ("", "internal", "server", "client").index(span.kind),
                "startTimeUnixNano": str(span.start),
                "endTimeUnixNano": str(span.end),
                "attributes": [
                    {"key": key, "value": {"stringValue": value}} for key, value in span.attributes.items()
                ],
            }
            for span in spans
        ]
        file = tmp_path / name
        file.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": exported}]}]}) + "\n")
        return file

    return write


def test_a_failed_check_of_a_passed_action_shows_in_the_status(written):
    done = tree(written(action(0, **{"deltaspan.check.failed_metrics": '["rows"]'})))

    assert (done.returncode, done.stdout[:20]) == (1, "✗ action0 fail: rows")


def test_the_demo_is_drawn_and_its_failures_set_the_exit_status(demo):
    done = tree(demo / "spans.jsonl")

    assert (done.returncode, done.stderr) == (1, "")
    assert [
        line.partition(" in ")[0] for line in done.stdout.splitlines() if line[:1] in {"✓", "✗", "?"}
    ] == [
        "✓ create_flow pass",
        "✗ clone_flow fail: active_flows",
        "✗ request_flow fail: active_flows",
        "✗ publish_flow fail: drafts_of_others",
        "✗ import_flow fail: orphan_steps",
        "? create_flow inconclusive",
        "? create_flow inconclusive",
        *sorted(
            ["✓ create_tagged_flow pass", "✗ clone_tagged_flow fail: active_flows"], key=done.stdout.index
        ),
    ]


def test_each_check_that_did_not_pass_is_explained_and_the_last_line_counts(demo):
    out = tree(demo / "spans.jsonl").stdout.splitlines()

    assert "   fail: expected active_flows to change by 1, but it changed by 0 (3 → 3)" in out
    assert out[-2] == ""
    assert re.fullmatch(r"9 actions: 5 fail, 2 inconclusive, 2 pass; \d+ checks: .*; 0 findings", out[-1])


def test_standard_input_is_read_alone_and_among_files(demo, handover):
    spans = (demo / "spans.jsonl").read_text(encoding="utf-8")

    assert tree("-", stdin=spans).stdout == tree(demo / "spans.jsonl").stdout
    assert "restock" in tree("-", *handover.glob("*.jsonl"), stdin=spans).stdout


@pytest.mark.parametrize(("stdin", "said"), [("", "is empty"), ("nonsense\n", "is not OTLP/JSON")])
def test_standard_input_without_spans_is_an_error_with_a_sentence(stdin, said):
    done = tree("-", stdin=stdin)

    assert done.returncode == 2
    assert f"standard input {said}" in done.stderr


def test_all_that_the_demo_wrote_can_be_named_at_once(demo):
    done, spans_alone = tree("*.jsonl", cwd=demo), tree("spans.jsonl", cwd=demo)

    assert (done.returncode, done.stdout) == (1, spans_alone.stdout)
    assert done.stderr == "deltaspan: metrics.jsonl holds metrics, but no spans\n"


def test_a_file_without_spans_among_others_fails_only_when_strict(written, tmp_path):
    file = written(action(0))
    (tmp_path / "metrics.jsonl").write_text('{"resourceMetrics": []}\n')

    assert tree(file, "metrics.jsonl", cwd=tmp_path).returncode == 0
    assert tree(file, "metrics.jsonl", "--strict", cwd=tmp_path).returncode == 3
    assert tree("metrics.jsonl", cwd=tmp_path).returncode == 2


def test_a_run_over_three_processes_is_put_together_from_their_files(handover):
    done = tree(handover / "*.jsonl")

    assert (done.returncode, done.stderr) == (0, "")
    assert re.sub(r", [\d.]+ ms, [0-9a-f-]{36}", "", done.stdout) == (
        "✓ restock pass in orchestrator\n"
        "└─ · place_orders observed in worker\n"
        "      observed: orders changed by 2 (1 → 3); no claim was made\n"
        "\n"
        "2 actions: 1 pass, 1 observed; 3 checks: 2 pass, 1 observed; 0 findings\n"
    )


def test_json_has_every_run_and_finding(handover):
    done = tree(*sorted(handover.glob("*.jsonl")), "--json")

    told = json.loads(done.stdout)
    restock, place_orders = told["runs"]
    assert (restock["action"], restock["outcome"], restock["depth"]) == ("restock", "pass", 0)
    assert restock["children"] == [place_orders["tag"]]
    assert (place_orders["parent"], place_orders["root"]) == (restock["tag"], restock["tag"])
    assert told["findings"] == []


def test_a_process_whose_spans_are_missing_leaves_an_orphan(handover):
    done = tree(handover / "worker.jsonl")

    assert done.returncode == 3
    assert "! place_orders (" in done.stdout


@pytest.mark.parametrize(
    ("spans", "flags", "status"),
    [
        ([action(0), action(1, 0, outcome="observed"), action(2, 0, outcome="skipped")], [], 0),
        ([action(0, outcome="fail")], [], 1),
        ([action(0, outcome="inconclusive")], [], 1),
        ([action(0, outcome=None)], [], 1),
        ([action(0, 7)], [], 3),
        ([action(0, 7, outcome="fail")], [], 1),
        ([action(0), other(1, "forged")], [], 3),
        ([action(0, outcome="fail"), action(0, end=99)], [], 1),
        ([action(0, outcome="observed"), action(0, end=99)], [], 3),
        ([action(0), action(1, span=0, end=99)], [], 3),
        ([other(1, 0)], [], 3),
        ([action(0), other(1, 0, under=0), other(2, under=0)], [], 0),
        ([action(0), other(1, 0, under=0), other(2, under=0)], ["--strict"], 3),
    ],
)
def test_the_exit_status_reflects_verdicts_and_findings(written, spans, flags, status):
    assert tree(written(*spans), *flags).returncode == status


def test_an_unreadable_line_is_reported_and_fails_only_under_strict(written):
    file = written(action(0))
    file.write_text(file.read_text() + "{cut off")

    done = tree(file)
    assert (done.returncode, done.stderr) == (0, f"deltaspan: {file}, line 2: not JSON; left out\n")
    assert tree(file, "--strict").returncode == 3


def test_only_one_run_is_shown_when_its_root_is_named(written):
    file = written(action(0, root=0), action(1, root=1), action(2, 1, root=1))

    told = json.loads(tree(file, "--root", tag(1), "--json").stdout)
    assert [one["tag"] for one in told["runs"]] == [tag(1), tag(2)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.jsonl"], "deltaspan: missing.jsonl does not exist\n"),
        (["--jaeger", "http://127.0.0.1:1", "--service", "shop"], "Connection refused\n"),
        ([], "deltaspan tree: error: name files of OTLP/JSON, or a Jaeger with --jaeger URL\n"),
        (["f", "--jaeger", "http://x"], "deltaspan tree: error: name files or a Jaeger, not both\n"),
        (["f", "--service", "shop"], "deltaspan tree: error: --service needs --jaeger URL\n"),
        (["--jaeger", "http://x"], "--root UUID, --trace ID or --service NAME\n"),
        (
            ["--jaeger", "x", "--service", "shop"],
            "'x' is not the URL of a Jaeger: begin with http:// or https://\n",
        ),
        (["f", "--root", "ABC"], "'ABC' is not a causal tag: write a UUID in lower case, with hyphens\n"),
        (["f", "--since", "soon"], "'soon' is not a duration: write 90s, 15m, 1h or 7d\n"),
        (["f", "--limit", "0"], "'0' is not a number of traces: write 1 or more\n"),
    ],
)
def test_an_error_is_a_sentence_and_exit_status_2(tmp_path, arguments, sentence):
    done = tree(*arguments, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(sentence)


def test_files_without_an_action_give_status_2(written):
    done = tree(written(other(1)))

    assert (done.returncode, done.stderr) == (
        2,
        "deltaspan: none of 1 spans is of an action: there is nothing to show\n",
    )


def test_a_terminal_that_knows_no_signs_gets_question_marks(written):
    done = tree(written(action(0)), PYTHONIOENCODING="ascii")

    assert (done.returncode, done.stdout[:12], done.stderr) == (0, "? action0 pa", "")


def test_a_closed_pipe_causes_no_traceback(written):
    file = written(*(action(number) for number in range(5000)))
    with subprocess.Popen(
        [COMMAND, "tree", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRON, text=True
    ) as command:
        command.stdout.readline()
        command.stdout.close()
        assert command.stderr.read() == ""


def test_the_help_explains_each_exit_status():
    done = tree("--help")

    assert [line.split()[0] for line in done.stdout.partition("exit status:\n")[2].splitlines()] == [
        "0", "1", "2", "3", "with",
    ]  # fmt: skip


@pytest.mark.parametrize("program", [[COMMAND], [sys.executable, "-m", "deltaspan.cli"]])
def test_the_command_says_its_version(program):
    assert re.fullmatch(r"deltaspan \d+\.\d+\.\d+\S*\n", run(*program, "--version").stdout)


# Deferred verdicts ------------------------------------------------------------------------------------------

PROGRAM = """
    import sys
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.json.file import FileSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from deltaspan import change, expects

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(sys.argv[1])))
    trace.set_tracer_provider(provider)
    rows = []

    @expects(change("rows", lambda: len(rows)).by(2).eventually(0.2), deferred=True)
    def load():
        rows.append(1)
        store()

    @expects(change("rows", lambda: len(rows)).by(1))
    def store():
        rows.append(2)

    load()
"""


def test_a_deferred_verdict_and_its_action_are_one_run(tmp_path):
    file = tmp_path / "spans.jsonl"
    subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM), file], check=True, timeout=180)
    tree = causal_tree(read_files(file).spans)

    assert [(run.action, run.outcome, run.depth, len(run.spans)) for run in tree] == [
        ("load", "pass", 0, 2),
        ("store", "pass", 1, 1),
    ]
    assert tree.findings == ()
