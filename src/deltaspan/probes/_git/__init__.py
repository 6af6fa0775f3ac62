"""What `deltaspan.probes.git` is made of.

`_command.py` runs git, whatever a configuration says, `_reading.py` reads references and what they reach,
`_status.py` puts the state of a working tree in words.
"""
