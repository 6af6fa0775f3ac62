"""Reports: the results of runs, for people, programs and telemetry.

Reports are read-only values. A sentence is made when it is read, because most runs pass and their sentences
are never read. For the same reason a report is cheap to make.

`_check.py` reports one check, `_action.py` a whole run.
"""

from deltaspan._reports._action import ActionReport
from deltaspan._reports._check import CheckReport
from deltaspan._reports._collect import collect_reports, hand_out, is_collecting
from deltaspan._reports._content import outline, without_content
from deltaspan._reports._hints import Hinted
from deltaspan._reports._redaction import redact_state, redacted

__all__ = [
    "ActionReport",
    "CheckReport",
    "Hinted",
    "collect_reports",
    "hand_out",
    "is_collecting",
    "outline",
    "redact_state",
    "redacted",
    "without_content",
]
