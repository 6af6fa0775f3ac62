"""Parts that every probe family shares, and the pattern of a probe.

A family is one public module, `elasticsearch.py`, and one private folder, `_elasticsearch/`, with its
requests and values. Copy `mongodb.py` and `_mongodb/`. Each public function does four things:

1. Check the arguments. Raise `DefinitionTypeError` or `DefinitionValueError` at once.
2. Write the read: a function that takes the needed arguments by keyword, and returns the state.
3. Render the call as source, which is the `repr()` of the probe and the start of its errors.
4. Return a probe: `StateProbe(read, call, needs, secrets)`. If the client library has an async twin,
   write the read once, as a generator that yields each request, and return `request_probe(...)`.
   Pass `content=True` if the state holds rows, documents or texts of the user, and not only counts or
   digests. Reports then hide its values.

What each module gives:

- `probe.py`: `StateProbe` and `AsyncStateProbe`. They name what they need, turn errors into `ProbeError`, and
  hide secrets.
- `requests.py`: `RequestSteps` and `request_probe`, one read for a sync client and for an async client.
- `secrets.py`: `secrets_of` finds the password of a URL, `without` hides secrets in a text.
- `patterns.py`: checks that an argument can be quoted at its place in a regular expression or glob.
- `combine.py`: `combine`, several metrics out of one read.

`deltaspan._templates` fills `{name}` in a text with the action's argument of that name.
"""
