# PYTHON_ARGCOMPLETE_OK: argcomplete's hook for all commands looks for this mark.
"""``python -m admmbench``."""

import gc
import sys

from admmbench.jobs import interrupts, warm

# Imports make a million objects that stay: searching them for garbage takes a seventh of a small job's time.
# Commands that run for long turn garbage collection on again.
gc.disable()


def main() -> int:
    """Import the command line and call it; Ctrl-C may come before it is there."""
    try:
        with interrupts.raised():
            if (status := warm.call(sys.argv[1:])) is not None:
                return status
            from admmbench.cli import main as command
        return command()
    except KeyboardInterrupt:
        return interrupts.said()


if __name__ == "__main__":
    sys.exit(main())
