"""Write the page that links all reports."""

from __future__ import annotations

import argparse

from admmbench.cli import start
from admmbench.cli.options import Command


@Command
def overview(options: argparse.Namespace) -> None:
    """Write the page that links all reports.

    FOLDER         folder with a report for each configuration
    --output FILE  HTML file to write (required)
    """
    from admmbench.report import overview

    overview.write(options.folder, options.output)


if __name__ == "__main__":
    start(overview)
