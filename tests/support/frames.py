"""Frames of deltaspan in tracebacks."""

import traceback
from pathlib import Path

import deltaspan


def count_own_frames(error):
    """Return how many frames of deltaspan and wrapt are in the traceback of an error."""
    package = Path(deltaspan.__file__).parent
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return sum(package in Path(name).parents or "wrapt" in name for name in frames)
