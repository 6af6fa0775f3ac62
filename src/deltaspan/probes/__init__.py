"""Probes: the state of the systems that agents touch, each source in a module of its own.

Import the module that you need; none is imported for you, and one that needs a library says which extra
installs it. A probe is made where a check is written, `change("flows", sql.rows(engine, "flows")).by(1)`, and
read before and after the action. What it needs of the action's arguments it names, and is given.

What cannot be read raises ProbeError with the system's own words and none of its secrets, and the check is
inconclusive. `combine` makes probes of the parts of one read.
"""

from deltaspan.probes._base.combine import combine

__all__ = ["combine"]
