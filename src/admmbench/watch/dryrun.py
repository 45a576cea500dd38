"""What a dry run shows: a table of jobs that fits on a screen; `snakemake -n -p` shows each job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from admmbench.study.address import rule_name
from admmbench.study.config import Study


def table(counts: Mapping[str, int], study: Study) -> str:
    """Lay out the numbers of jobs, with one row for all runs on a data set.

    Parameters
    ----------
    counts
        Jobs of each rule.
    study
        The configuration; a Snakefile of the user's may put a word before the names of its rules.
    """
    runs = {
        rule_name("run", folder): f"runs on {folder.partition('/')[0]}" for folder in study.shared
    }
    rows: Counter[str] = Counter()
    for rule, count in counts.items():
        rows[next((row for name, row in runs.items() if rule.endswith(name)), rule)] += count
    width = max(map(len, rows), default=0)
    return "\n".join(f"{job:{width}}  {count:6}" for job, count in rows.items())
