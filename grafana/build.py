"""Write grafana/dashboards/*.json from panels/: `make dashboards`, or `python grafana/build.py [FOLDER]`."""

import json
import sys
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from panels import action, overview, verification

FOLDER = Path(__file__).parent / "dashboards"


def main(folder: Path) -> None:
    """Write each dashboard to a file named after its uid."""
    folder.mkdir(exist_ok=True)
    for module in (overview, action, verification):
        dashboard = module.dashboard()
        text = json.dumps(dashboard, cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False)
        (folder / f"{dashboard.uid}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
