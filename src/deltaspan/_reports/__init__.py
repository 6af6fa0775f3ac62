"""Reports: what one run of one action came to, read-only, for people, programs and telemetry.

Sentences are made when they are asked for: most runs pass and nobody reads theirs. For the same reason
reports are cheap to build: a frozen dataclass would cost more than judging the delta.

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
