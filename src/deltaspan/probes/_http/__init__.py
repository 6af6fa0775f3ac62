"""Parts of the probes that read over HTTP.

- `_source.py`: the URL and the options of a request.
- `_request.py`: sends requests, and makes the probe.
- `_answer.py`: the answer of a server.
- `_pointer.py`: finds a part of a document.
"""
