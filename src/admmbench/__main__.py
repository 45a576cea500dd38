"""``python -m admmbench``."""

import sys

from admmbench.cli import main

sys.exit(main())
