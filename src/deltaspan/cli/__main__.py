"""Run `python -m deltaspan.cli` if the command is not on the path."""

import sys

from deltaspan.cli._main import main

if __name__ == "__main__":
    sys.exit(main())
