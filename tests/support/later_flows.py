"""A state for async actions and generators to act on."""

import asyncio


class Flows:
    """A piece of state to act on, read at once or later."""

    def __init__(self):
        self.rows = []
        self.reads = 0

    def count(self):
        return len(self.rows)

    async def count_later(self):
        self.reads += 1
        await asyncio.sleep(0)
        return len(self.rows)


async def exhausted(generator):
    return [value async for value in generator]
