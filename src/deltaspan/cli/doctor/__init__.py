"""The checks behind `deltaspan doctor`: causes that keep verdicts from arriving.

`_settings.py` reads the environment. `_endpoints.py` finds the target of each signal. `_network.py` connects
to it, `_sending.py` sends samples, and `_answer.py` reads the answers. `_propagation.py` checks that causal
tags are propagated.
"""

from __future__ import annotations

from collections.abc import Iterator

from deltaspan._telemetry import exporters
from deltaspan.cli.doctor._diagnosis import Diagnosis
from deltaspan.cli.doctor._endpoints import targets
from deltaspan.cli.doctor._network import network_diagnoses
from deltaspan.cli.doctor._propagation import propagation_diagnoses
from deltaspan.cli.doctor._settings import settings_diagnoses
from deltaspan.exceptions import DefinitionValueError

__all__ = ["Diagnosis", "examine"]


def examine() -> Iterator[Diagnosis]:
    """Check the environment and the endpoints, and yield each diagnosis at once."""
    yield from settings_diagnoses()
    yield from propagation_diagnoses()
    try:
        otlp_targets, otlp_exporters = targets(), exporters(only="otlp")
    except (DefinitionValueError, ValueError) as error:
        yield Diagnosis("wrong", str(error), "correct it; nothing can be sent until then")
        return
    yield from network_diagnoses(otlp_targets, otlp_exporters)
