"""Reports: the results of runs, for people, programs and telemetry.

Reports are read-only values. A sentence is made when it is read, because most runs pass and their sentences
are never read. For the same reason a report is cheap to make.

`_check.py` reports one check, `_action.py` a whole run.
"""

from deltaspan._reports._action import ActionReport
from deltaspan._reports._check import CheckReport
from deltaspan._reports._collect import collect_reports, is_collecting, publish_report
from deltaspan._reports._content import hide_content, outline
from deltaspan._reports._hints import HintedExpectation
from deltaspan._reports._redaction import REDACTED, redact_report, redact_state

__all__ = [
    "REDACTED",
    "ActionReport",
    "CheckReport",
    "HintedExpectation",
    "collect_reports",
    "hide_content",
    "is_collecting",
    "outline",
    "publish_report",
    "redact_report",
    "redact_state",
]
