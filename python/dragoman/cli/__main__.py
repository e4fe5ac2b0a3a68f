"""`python -m dragoman.cli` is `dragoman`."""

import sys

from dragoman.cli import main

sys.exit(main())
