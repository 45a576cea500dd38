"""Worker of a study, which carries out commands for the processes of jobs; `admmbench.jobs.warm` starts it."""

import faulthandler
import gc
import socket
import sys
from pathlib import Path

from admmbench.cli import main
from admmbench.jobs.warm import work

if __name__ == "__main__":
    faulthandler.enable()  # the shell that starts a job does not see how its worker ends
    gc.freeze()  # what imports have made stays, and what jobs make does not
    work(main, Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
