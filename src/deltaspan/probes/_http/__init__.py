"""What the probes that read over HTTP are made of.

`_source.py` is what is asked for, `_request.py` asks, once or again, and `_answer.py` is what came; in it
`_pointer.py` finds the part that is meant.
"""
