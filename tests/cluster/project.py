"""The project with a smaller study still: on a cluster, each job starts Python three times."""

from tests.workflow import forked
from tests.workflow.project import STUDY, Project, runs

OBJP, _, OUTP = STUDY["algorithms"]
# Two runs of one method, which are a job array, and one of another.
CHANGES = {"epsilon": [0.5, 1], "algorithms": [OBJP, {**OUTP, "epsilon": 0.5}]}
ARRAY = [
    f"results/runs/{run}.nc" for run in sorted(runs(epsilon=CHANGES["epsilon"], algorithms=[OBJP]))
]


class SmallProject(Project):
    """A copy of the project with the smaller study."""

    def configure(self, **changes):
        super().configure(**{**CHANGES, **changes})

    def locally(self, *targets):
        """Make files on this machine, whatever the project's command is."""
        words = Project.command(self, *targets)[3:]
        status, output = forked.snakemake(self.folder, words, self.environment)
        assert status == 0, output
