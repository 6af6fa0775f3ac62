"""From a definition to a run and its verdict."""

from deltaspan._engine._drivers import go_on, is_result, keep_open, step, step_async
from deltaspan._engine._handoff import WindowRun, checked_age, refuse_unfit, refuse_unlike
from deltaspan._engine._handoff_format import Handed, checked_key, read, write_unopened
from deltaspan._engine._plan import Options, Plan, make_plan
from deltaspan._engine._run import Run
from deltaspan._engine._skipped import SKIPPED, unverified

__all__ = [
    "SKIPPED",
    "Handed",
    "Options",
    "Plan",
    "Run",
    "WindowRun",
    "checked_age",
    "checked_key",
    "go_on",
    "is_result",
    "keep_open",
    "make_plan",
    "read",
    "refuse_unfit",
    "refuse_unlike",
    "step",
    "step_async",
    "unverified",
    "write_unopened",
]
