"""`python -m snakemake`, which asks every second how its jobs are.

Slurm's executor waits ten seconds longer after each answer that no job has finished, whatever its options say. The
tests copy this file into a project's folder, and run it as a module.
"""

import asyncio

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor


async def _second(executor: RemoteExecutor) -> None:
    await asyncio.sleep(1)


if __name__ == "__main__":
    RemoteExecutor.sleep = _second
    main()
