"""Reports of the runs in a call."""

from deltaspan import collect_reports


def reports_of(call, *args, **kwargs):
    """Call a function, and return the reports of all runs that ended in it."""
    with collect_reports() as reports:
        call(*args, **kwargs)
    return reports
