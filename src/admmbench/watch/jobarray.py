"""Members of a Slurm array, each of which runs its own command alone.

Snakemake's Slurm plugin starts every member of an array with the first member's target and a table of the others'
commands, runs a member's command, and then looks for the first member's output: a member that ends before the first
member, or in an array whose first member fails, is taken for failed (snakemake-executor-plugin-slurm issue 447). Here a
member's process is replaced by its own command instead, as soon as Snakemake reads the workflow.
"""

import base64
import json
import os
import shlex
import sys
import zlib

TABLE = "--slurm-jobstep-array-execs"


def become_own_member() -> None:
    """Replace this process, if it is Snakemake for a member of an array, by that member's own command."""
    for place, word in enumerate(sys.argv):
        if word.partition("=")[0] == TABLE:
            table = word.partition("=")[2] or sys.argv[place + 1]
            packed_command = json.loads(base64.b64decode(table)).get(
                os.environ["SLURM_ARRAY_TASK_ID"]
            )
            command = (
                zlib.decompress(bytes.fromhex(packed_command)).decode()
                if packed_command
                else shlex.join([sys.executable, "-m", "snakemake", *sys.argv[1:place]])
            )
            os.execv("/bin/sh", ["sh", "-c", command])
