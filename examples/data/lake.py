"""The workspace of a data agent: raw sales, a Parquet lake, the checks.

The raw sales are CSV. The lake contains May.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from deltaspan import change, probe, unchanged
from deltaspan.probes.files import lines, tree

REGIONS = ("north", "south", "west")


class Written(TypedDict):
    """The report of an agent about its writing."""

    files: int
    rows: int


def create(workspace: Path) -> None:
    """Create a workspace: sales of June with duplicates and missing amounts."""
    (workspace / "raw").mkdir(parents=True)
    sales = [f"{n},{REGIONS[n % 3]},{'' if n % 20 == 0 else n * 100 - 900}" for n in range(1, 111)]
    (workspace / "raw" / "june.csv").write_text("\n".join(["id,region,cents", *sales, *sales[:7]]) + "\n")
    (workspace / "agent.log").write_text("may: wrote 40 rows\n")
    write(workspace, pa.table({"id": range(40), "region": ["north"] * 40, "cents": [100] * 40}), "may")


def read_sales(workspace: Path) -> pa.Table:
    """Read the raw sales of June."""
    return csv.read_csv(workspace / "raw" / "june.csv")


def clean(sales: pa.Table) -> pa.Table:
    """Drop sales without an amount, and keep one of each duplicate."""
    return sales.filter(pc.is_valid(sales["cents"])).group_by(sales.column_names).aggregate([])


def write(workspace: Path, sales: pa.Table, month: str) -> int:
    """Write sales into the lake, one file a region, and return the count."""
    parquet.write_to_dataset(
        sales.append_column("month", pa.repeat(month, len(sales))),
        workspace / "lake",
        partition_cols=["month", "region"],
        basename_template="part-{i}.parquet",
    )
    return len(sales["region"].unique())


# Probes of the lake and its surroundings --------------------------------------------------------------------


@probe(blocking=True)
def count_rows(workspace: Path) -> int:
    """Count the rows of the lake by the metadata of its files.

    No row is read.
    """
    files = (workspace / "lake").rglob("*.parquet")
    return sum(parquet.read_metadata(file).num_rows for file in files)


@probe(blocking=True)
def sum_cents(workspace: Path) -> int:
    """Sum the amounts in the lake. Only one column is read."""
    files = (workspace / "lake").rglob("*.parquet")
    return sum(pc.sum(parquet.ParquetFile(file).read(["cents"])["cents"]).as_py() or 0 for file in files)


def cents_to_come(workspace: Path) -> int:
    """Sum the raw sales that are missing in the lake, each sale once."""
    sales = read_sales(workspace).to_pydict()
    return sum(cents or 0 for cents in dict(zip(sales["id"], sales["cents"], strict=True)).values())


CHECKS = (
    unchanged("source", tree("{workspace}/raw", content=True)),
    change("lake", tree("{workspace}/lake")).adding(
        "month=june/region=*/*.parquet", count=lambda result: result["files"]
    ),
    change("rows", count_rows).by(lambda result: result["rows"]),
    change("cents", sum_cents).by(cents_to_come),
    change("log", lines("{workspace}/agent.log")).adding(lambda result: f"june: wrote {result['rows']} rows"),
)
