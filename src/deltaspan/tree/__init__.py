"""The causal tree: runs and their causes, rebuilt from spans of any process.

    >>> from deltaspan.tree import causal_tree
    >>> str(causal_tree([]))
    'no actions'

`read_files` reads spans from OTLP/JSON files, `read_jaeger` from a Jaeger. `causal_tree` is pure and takes
spans from any source. The command `deltaspan tree` does all three.
"""

from deltaspan.tree._build import causal_tree
from deltaspan.tree._checks import CheckVerdict
from deltaspan.tree._files import read_files
from deltaspan.tree._jaeger import read_jaeger
from deltaspan.tree._model import CausalTree, Finding, FindingKind, Run, Span, Summary
from deltaspan.tree._otlp import Reading

__all__ = [
    "CausalTree",
    "CheckVerdict",
    "Finding",
    "FindingKind",
    "Reading",
    "Run",
    "Span",
    "Summary",
    "causal_tree",
    "read_files",
    "read_jaeger",
]
