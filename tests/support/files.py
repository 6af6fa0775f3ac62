"""Trees of small files, and what a probe finds in them."""

from deltaspan.probes.files import tree


def make(root, *files):
    """Write files, each with its own path for content."""
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(file)


def paths(root, **options):
    """Return the paths of a tree."""
    return set(tree(root, **options)())
