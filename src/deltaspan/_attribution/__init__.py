"""Whose change a delta is: contention, locks, tagged rows and credit."""

from deltaspan._attribution._contention import close_window, open_window, retire_window
from deltaspan._attribution._counters import Entry, Scope
from deltaspan._attribution._credit import credit_problem, credit_problem_beside_others
from deltaspan._attribution._locks import Locks, LockSource
from deltaspan._attribution._overlap import ALONE, Overlap, Rival
from deltaspan._attribution._places import Doubt, folders_above, place_of
from deltaspan._attribution._tagged import Tagged, tagged, tagged_rows
from deltaspan._attribution._unverified_writers import warn_of_unverified_writers

__all__ = [
    "ALONE",
    "Doubt",
    "Entry",
    "LockSource",
    "Locks",
    "Overlap",
    "Rival",
    "Scope",
    "Tagged",
    "close_window",
    "credit_problem",
    "credit_problem_beside_others",
    "folders_above",
    "open_window",
    "place_of",
    "retire_window",
    "tagged",
    "tagged_rows",
    "warn_of_unverified_writers",
]
