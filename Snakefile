"""The workflow of admmbench, where `snakemake` looks first."""

from importlib.util import find_spec

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

INSTALL = "admmbench is not installed here: run `make env` or `pip install .` first."

if find_spec("admmbench"):

    include: "workflow/Snakefile"

else:
    logger.warning(INSTALL)

    rule all:
        """Nothing, as no other rule can be read; a dry run and `--lint` end well all the same."""
        localrule: True

    onstart:
        raise WorkflowError(INSTALL)


rule everything:
    """What the rule `all` asks for: the default target is a rule of this file."""
    input:
        rules.all.input,
    localrule: True
