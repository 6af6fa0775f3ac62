"""A state that settles some reads after its action."""

import asyncio

from deltaspan import collect_reports


class Queue:
    """A state that changes some reads after the action."""

    def __init__(self, *states):
        self.states = list(states)
        self.reads = 0
        self.runs = 0

    def read(self):
        self.reads += 1
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, Exception):
            raise state
        return state

    async def read_later(self):
        await asyncio.sleep(0)
        return self.read()

    def act(self):
        self.runs += 1
        return "queued"

    async def act_later(self):
        return self.act()


def run(action):
    with collect_reports() as reports:
        found = action()
    (report,) = reports
    return found, report


async def run_async(action):
    with collect_reports() as reports:
        found = await action()
    (report,) = reports
    return found, report
