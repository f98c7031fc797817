"""`python -m lib.cost`; see `lib.cost.cli`."""

import sys

from lib.cost.cli import main

if __name__ == "__main__":
    sys.exit(main())
