"""Four agents with one task: write the cleaned sales of June into the lake.

Each region has a file of its own.

All of them report success in good faith, and none raises.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
from lake import CHECKS, Written, clean, read_sales, write
from pyarrow import csv, parquet

from deltaspan import expects


def said(workspace: Path, files: int, rows: int) -> Written:
    """Log the result, and return it."""
    with (workspace / "agent.log").open("a") as log:
        log.write(f"june: wrote {rows} rows\n")
    return {"files": files, "rows": rows}


@expects(*CHECKS)
def honest(workspace: Path) -> Written:
    """Do the task."""
    sales = clean(read_sales(workspace))
    return said(workspace, write(workspace, sales, "june"), len(sales))


@expects(*CHECKS)
def hollow(workspace: Path) -> Written:
    """Write files without rows, and report the number of rows that were read."""
    sales = clean(read_sales(workspace))
    files = write(workspace, sales, "june")
    for file in (workspace / "lake").glob("month=june/*/*.parquet"):
        parquet.write_table(parquet.read_table(file, partitioning=None).slice(0, 0), file)
    return said(workspace, files, len(sales))


@expects(*CHECKS)
def tidy(workspace: Path) -> Written:
    """Drop refunds as outliers, and report the rows that were written."""
    sales = clean(read_sales(workspace))
    sales = sales.filter(pc.greater(sales["cents"], 0))
    return said(workspace, write(workspace, sales, "june"), len(sales))


@expects(*CHECKS)
def thorough(workspace: Path) -> Written:
    """Do the task, and also overwrite the source."""
    sales = clean(read_sales(workspace))
    csv.write_csv(sales, workspace / "raw" / "june.csv")
    return said(workspace, write(workspace, sales, "june"), len(sales))
