"""Calls a handler at lines of our own modules, as a signal or a finalizer might."""

import sys


class Interrupting:
    """Calls a handler before each line of some modules that runs in this thread; a context manager.

    Args:
        handler: what to call, without arguments; it is not interrupted itself.
        files: the `__file__` of each module.
        only: the number of the one line to interrupt, counted from 1 as lines run; None for every line.

    Attributes:
        lines: how many lines have run.
    """

    def __init__(self, handler, *files, only=None):
        self._handler = handler
        self._files = files
        self._only = only
        self._before = None
        self.lines = 0

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self._before)

    def _trace(self, frame, event, _):
        if frame.f_code.co_filename not in self._files:
            return None
        if event == "line":
            self.lines += 1
            if self._only is None or self.lines == self._only:
                self._handler()
        return self._trace
