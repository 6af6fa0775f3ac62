"""A state for actions and generators to act on."""

import asyncio


class Flows:
    """A list of flows that counts its reads; an awaited read lets the event loop go on by `pause`."""

    def __init__(self, pause=lambda: asyncio.sleep(0)):
        self.rows = []
        self.reads = 0
        self.awaited_reads = 0
        self._pause = pause

    def count(self):
        self.reads += 1
        return len(self.rows)

    async def count_later(self):
        self.awaited_reads += 1
        await self._pause()
        return len(self.rows)


async def exhausted(generator):
    return [value async for value in generator]
