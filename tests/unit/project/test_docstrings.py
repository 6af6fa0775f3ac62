"""Every example in a docstring runs as it stands."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import deltaspan

MODULES = [deltaspan.__name__, *(m.name for m in pkgutil.walk_packages(deltaspan.__path__, "deltaspan."))]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)

    assert result.failed == 0
