"""`python -m lib.measure`."""

import sys

from lib.measure.cli import main

sys.exit(main())
