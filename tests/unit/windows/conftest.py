"""Fixtures for tests of windows."""

import asyncio

import pytest


class Rows(list):
    """A table that is read at once or later."""

    def count(self):
        return len(self)

    async def count_later(self):
        await asyncio.sleep(0)
        return len(self)


@pytest.fixture
def rows():
    """A table of three rows."""
    return Rows([1, 2, 3])
