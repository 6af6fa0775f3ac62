"""What the package promises: its public names, and no more."""

from __future__ import annotations

import importlib
import pkgutil
import types

import pytest

import deltaspan

MODULES = [m.name for m in pkgutil.walk_packages(deltaspan.__path__, "deltaspan.")]
PUBLIC_MODULES = [name for name in MODULES if "._" not in name]
OF_NAMES_OR_MODULES_ALONE = {"deltaspan.semconv", "deltaspan.stamps"}


def test_all_is_sorted_and_each_name_is_there():
    assert deltaspan.__all__ == sorted(deltaspan.__all__, key=lambda name: (name[0].islower(), name))
    assert all(hasattr(deltaspan, name) for name in deltaspan.__all__)


def test_the_package_shows_no_name_that_it_does_not_promise():
    shown = {
        name
        for name, value in vars(deltaspan).items()
        if not name.startswith("_") and name != "TYPE_CHECKING" and not isinstance(value, types.ModuleType)
    }

    assert shown <= set(deltaspan.__all__)


def test_the_version_is_the_one_of_the_build():
    from deltaspan._version import __version__  # noqa: PLC0415  # what is compared with

    assert deltaspan.__version__ == __version__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'expect'"):
        deltaspan.expect  # noqa: B018  # the look-up is what is tested


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_module_says_what_it_exports(name):
    module = importlib.import_module(name)

    if name not in OF_NAMES_OR_MODULES_ALONE:
        assert module.__all__
    assert module.__doc__
