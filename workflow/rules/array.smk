"""Jobs of a Slurm array: each its own.

The plugin starts every member of an array with the first member's target and a table of the others' commands, runs a
member's command, and then looks for the first member's output: a member that ends before the first, or whose first
fails, is taken for failed (snakemake-executor-plugin-slurm issue 447). Here a member becomes its own command instead.
"""

import base64
import zlib

TABLE = "--slurm-jobstep-array-execs"
for place, word in enumerate(sys.argv):
    if word.partition("=")[0] == TABLE:
        table = word.partition("=")[2] or sys.argv[place + 1]
        own = json.loads(base64.b64decode(table)).get(os.environ["SLURM_ARRAY_TASK_ID"])
        command = (
            zlib.decompress(bytes.fromhex(own)).decode()
            if own
            else shlex.join([sys.executable, "-m", "snakemake", *sys.argv[1:place]])
        )
        os.execv("/bin/sh", ["sh", "-c", command])
