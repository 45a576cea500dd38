"""Snakemake's logger ``admmbench``: ``snakemake --logger admmbench`` finds it by the name of this package."""

from admmbench.watch.logger import LogHandler

__all__ = ["LogHandler"]
