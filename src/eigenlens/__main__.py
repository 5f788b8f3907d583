"""`python -m eigenlens`: the command line."""

import sys

from eigenlens.cli import main

if __name__ == "__main__":
    sys.exit(main())
