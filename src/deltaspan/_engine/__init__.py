"""The engine: a plan, its run, and the verdict."""

from deltaspan._engine._baselines import Baseline
from deltaspan._engine._drivers import (
    drive_async_generator,
    drive_generator,
    is_plain_value,
    keep_window_open,
    wrap_pending,
)
from deltaspan._engine._handoff import (
    check_resumable,
    check_same_metrics,
    resume,
    to_document,
    validate_max_age,
)
from deltaspan._engine._handoff_format import Handoff, load, unopened_document, validate_key
from deltaspan._engine._plan import Options, Plan, make_plan
from deltaspan._engine._report import SKIPPED, report_unverified
from deltaspan._engine._run import Run

__all__ = [
    "SKIPPED",
    "Baseline",
    "Handoff",
    "Options",
    "Plan",
    "Run",
    "check_resumable",
    "check_same_metrics",
    "drive_async_generator",
    "drive_generator",
    "is_plain_value",
    "keep_window_open",
    "load",
    "make_plan",
    "report_unverified",
    "resume",
    "to_document",
    "unopened_document",
    "validate_key",
    "validate_max_age",
    "wrap_pending",
]
