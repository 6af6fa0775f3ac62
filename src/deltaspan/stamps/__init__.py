"""Stamps: write the causal tag on rows, commits, objects and log records.

Import the module that you need. None is imported automatically. Inside an action the stamp is the action's
tag and root. While a request of another process is handled, it is the tag of that request. Otherwise there is
no stamp.
"""
