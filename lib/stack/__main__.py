"""`python -m lib.stack`."""

import sys

from lib.stack.cli import main

sys.exit(main())
