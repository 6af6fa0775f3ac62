"""Actions in threads whose windows are open at the same time."""

import threading
from functools import partial

from deltaspan import collect_reports


def run_in_threads(*calls):
    """Call functions at once, each in a thread of its own, and wait for all of them."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def together(*actions):
    """Run actions in threads; return their reports in the order of the actions."""
    reports = [None] * len(actions)

    def run(index):
        with collect_reports() as collected:
            actions[index]()
        reports[index] = collected[-1]

    run_in_threads(*[partial(run, index) for index in range(len(actions))])
    return reports


class Overlap:
    """Two parties whose windows are open at the same time: both wait inside for the other."""

    def __init__(self, parties=2):
        self.barrier = threading.Barrier(parties)
        self.count = 0
        self.by_tenant = {}

    def wait(self):
        self.barrier.wait(60)

    def read(self):
        return self.count

    def act(self, *, adds=0):
        self.wait()
        self.count += adds
        self.wait()
