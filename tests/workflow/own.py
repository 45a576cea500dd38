"""A folder of one's own, driven as by a user who has the suite from a wheel."""

import subprocess
from pathlib import Path

from tests.workflow.project import Project


class OwnFolder(Project):
    """What `admmbench init` writes, with the workflow of an installed wheel."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder, self.python = folder, python
        self.calls("init", str(folder), directory=folder.parent)

    def calls(self, *words: str, directory: Path | None = None) -> str:
        """What `admmbench` prints in the folder."""
        return subprocess.run(
            [self.python.with_name("admmbench"), *words],
            cwd=directory or self.folder,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    @property
    def packages(self) -> Path:
        """Where the suite is installed."""
        (found,) = self.python.parents[1].glob("lib/*/site-packages")
        return found

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "PYTHONPATH": str(self.packages)}

    def command(self, *options: str) -> list[str]:
        return [str(self.python), "-m", "snakemake", "--cores", "2", *options]

    def made(self) -> dict[str, int]:
        """Runs that there are, and when they were made."""
        found = self.folder.glob("results/runs/*/*/*.nc")
        return {str(path): path.stat().st_mtime_ns for path in found}

    def begun(self) -> list[Path]:
        """The logs of runs that were begun, finished or not."""
        return list(self.folder.glob("results/runs/*/*/logs/*.log"))

    def page(self) -> str:
        """The report."""
        return (self.folder / "results/report/config/index.html").read_text()
