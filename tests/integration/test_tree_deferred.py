"""A verdict that comes after its action has returned is on a span of its own, and of the same run."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from deltaspan.tree import causal_tree, read_files

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
