"""Whose change a delta is: contention, locks, tagged rows and credit."""
