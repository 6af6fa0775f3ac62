"""Probes that read the systems that agents touch.

Each source has a module of its own. Import the module that you need. If it needs a library that is missing,
the error names the extra that installs it.

Make a probe where you write a check: `change("flows", sql.rows(engine, "flows")).by(1)`. It is read before
the action and after it. It receives the action's arguments that it names.

If a system cannot be read, the probe raises ProbeError with the system's error text, without secrets, and the
check is inconclusive. `combine` makes probes of the parts of one read.
"""

from deltaspan.probes._base.combine import combine

__all__ = ["combine"]
