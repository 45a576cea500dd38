"""``python -m admmbench``."""

import gc
import sys

# Imports make a million objects that stay: to look for garbage among them takes a seventh of a small job's time.
# Commands that work for long turn it on again.
gc.disable()

from admmbench.cli import main  # noqa: E402

sys.exit(main())
