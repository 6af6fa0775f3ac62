"""Reports: what one run of one action came to, read-only, for people, programs and telemetry.

Sentences are made when they are asked for: most runs pass and nobody reads theirs. For the same reason
reports are cheap to build: a frozen dataclass would cost more than judging the delta.

`_check.py` reports one check, `_action.py` a whole run.
"""

from deltaspan._reports._action import ActionReport
from deltaspan._reports._check import CheckReport

__all__ = ["ActionReport", "CheckReport"]
