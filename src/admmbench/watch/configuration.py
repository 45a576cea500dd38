"""Former home of `legible`, from which Snakefiles of older study folders import it."""

from snakemake.logging import logger

from admmbench.watch.configfiles import legible as legible

logger.warning(
    "Snakefile: admmbench.watch.configuration is a former name; "
    "write `from admmbench.installed import SNAKEFILE, legible` instead."
)
