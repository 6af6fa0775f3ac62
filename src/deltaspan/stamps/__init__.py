"""Stamps: the causal tag written on what an action makes, by the hook that each ecosystem has for it.

Import the module that you need; none is imported for you. What an action makes is stamped with its tag and
its root, what is made for a caller elsewhere with the tag that came in, and what is made outside of both
gets no stamp.
"""
