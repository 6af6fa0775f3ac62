"""The examination behind `deltaspan doctor`: what would keep verdicts from arriving, in words.

`_settings.py` reads the environment, `_endpoints.py` finds where telemetry goes, `_network.py` tries it
with `_sending.py`, `_answer.py` reads what comes back, `_propagation.py` looks after the causal tag.
"""

from __future__ import annotations

from collections.abc import Iterator

from deltaspan._telemetry import exporters
from deltaspan.cli.doctor._endpoints import targets
from deltaspan.cli.doctor._finding import Finding
from deltaspan.cli.doctor._network import network_findings
from deltaspan.cli.doctor._propagation import propagation_findings
from deltaspan.cli.doctor._settings import settings_findings
from deltaspan.exceptions import DefinitionValueError

__all__ = ["Finding", "examine"]


def examine() -> Iterator[Finding]:
    """Look at the environment, try what it says, and yield what is found as it is found."""
    yield from settings_findings()
    yield from propagation_findings()
    try:
        found, made = targets(), exporters(only="otlp")
    except (DefinitionValueError, ValueError) as error:
        yield Finding("wrong", str(error), "correct it; nothing can be sent until then")
        return
    yield from network_findings(found, made)
