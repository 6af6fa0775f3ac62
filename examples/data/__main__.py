"""Let four data agents do one task, and check their results.

    python examples/data

Each works in a new workspace in a temporary folder. A naive check at the end finds every task done: the files
exist, and the lake has rows, if only those of May.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from agents import hollow, honest, thorough, tidy
from lake import count_rows, create

from deltaspan import collect_reports

if __name__ == "__main__":
    for agent in (honest, hollow, tidy, thorough):
        with tempfile.TemporaryDirectory() as folder, collect_reports() as reports:
            workspace = Path(folder)
            create(workspace)
            claim = agent(workspace)
            files = len(list((workspace / "lake").glob("month=june/**/*.parquet")))
            naive = "done" if files == claim["files"] and count_rows(workspace) > 0 else "not done"
        [report] = reports
        print(f"{agent.__name__}: {agent.__doc__}")
        print(f"  says:   wrote {claim['rows']} rows in {claim['files']} files (a naive look: {naive})")
        print(f"  deltas: {report.outcome}")
        for check in report:
            if not check.passed:
                print(f"    {check.explanation}")
