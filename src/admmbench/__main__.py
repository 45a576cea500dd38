"""``python -m admmbench``."""

import gc
import sys

# Imports make a million objects that stay: searching them for garbage takes a seventh of a small job's time.
# Commands that run for long turn garbage collection on again.
gc.disable()

from admmbench.cli import main  # noqa: E402

sys.exit(main())
