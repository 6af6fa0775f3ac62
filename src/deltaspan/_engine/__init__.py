"""From a definition to a run and its verdict."""
