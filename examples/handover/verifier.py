"""Resume the window, read the state again and print the verdict."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from shop import CHECKS
from spans import write_spans

from deltaspan import Window

if __name__ == "__main__":
    provider = write_spans("verifier", Path(sys.argv[1]))
    job = json.loads(sys.argv[2])
    taken_up = Window.from_json(job["window"], *CHECKS, key=os.environ["HANDOVER_KEY"], max_age=600)
    report = taken_up.verify(result=job["result"])
    print(json.dumps(report.to_dict()))
    provider.shutdown()
