"""Have agents scale up over an HTTP API, and see which is believed: `python examples/infrastructure`.

Each says `done`, and each call was answered with success. One of the four is honest. The exit status is 0
when deltaspan believed that one alone.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable

from agents import astray, careless, honest, repeating
from cloud import running_cloud

from deltaspan import change, collect_reports, expects, unchanged
from deltaspan.probes import http


def main() -> int:
    """Give each agent a cloud of its own; return the exit status."""
    believed = []
    for agent in (honest, repeating, careless, astray):
        with running_cloud() as cloud, collect_reports() as reports:
            api = f"{cloud.url}/teams/{{team}}"

            @expects(
                change("servers", http.count(f"{api}/servers", items="/servers", cursor="/next")).by(1),
                unchanged("firewall", http.json(f"{api}/firewall")).showing(),
            )
            def scale_up(team: str, agent: Callable[[str, str], str] = agent, url: str = cloud.url) -> str:
                """Have an agent order one more server for a team, and return what it says."""
                return agent(url, team)

            print(f"{agent.__name__}: “{scale_up('red')}”")
            report = reports[0]
            for check in report:
                if not check.passed:
                    words = f"{check.outcome}: {check.explanation}"
                    print(textwrap.fill(words, 100, initial_indent=" " * 4, subsequent_indent=" " * 10))
            if report.passed:
                print("    pass: one server more, and the firewall as it was")
                believed.append(agent)
    return 0 if believed == [honest] else 1


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # a terminal that knows no “ shows a ? and goes on
    sys.exit(main())
