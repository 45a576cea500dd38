"""Worker of a study, which carries out commands for the processes of jobs; `admmbench.jobs.warm` starts it."""

import gc
import socket
import sys
from pathlib import Path

from admmbench.cli import main
from admmbench.jobs.warm import work

if __name__ == "__main__":
    gc.disable()  # see `admmbench.__main__`
    work(main, Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
