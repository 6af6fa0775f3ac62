"""Actions in threads whose windows are open at the same time."""

import threading

from deltaspan import collect_reports


def together(*actions):
    """Run actions in threads; return their reports in the order of the actions."""
    reports = [None] * len(actions)

    def run(index):
        with collect_reports() as collected:
            actions[index]()
        reports[index] = collected[-1]

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return reports


class Overlap:
    """Two parties whose windows are open at the same time: both wait inside for the other."""

    def __init__(self, parties=2):
        self.barrier = threading.Barrier(parties)
        self.count = 0
        self.by_tenant = {}

    def wait(self):
        self.barrier.wait(10)

    def read(self):
        return self.count

    def act(self, *, adds=0):
        self.wait()
        self.count += adds
        self.wait()
