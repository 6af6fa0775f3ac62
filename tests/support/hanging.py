"""A probe that blocks until it is released."""

import threading

from deltaspan import collect_reports


class Hanging:
    """A probe that hangs in the given reads until it is released."""

    def __init__(self, *hangs):
        self.hangs = hangs
        self.reads = 0
        self.let_go = threading.Event()
        self.answered = threading.Event()

    def read(self):
        self.reads += 1
        if self.reads in self.hangs:
            self.let_go.wait(30)
            self.answered.set()
            return 99
        return 0


def threads_of(pool):
    return [thread.name for thread in threading.enumerate()].count(pool._name)


def run(action):
    with collect_reports() as reports:
        found = action()
    return found, reports[0]
