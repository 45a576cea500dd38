"""The generic profile, with a submit command that starts the job beside it and hands on no environment.

But for the processor that products are made for, if the environment names one: another one rounds otherwise.
"""

import sys

import pytest

from tests.workflow.project import Project, assert_same

pytestmark = pytest.mark.cluster


class GenericProject(Project):
    """A copy of the project whose jobs are submitted."""

    def command(self, *options):
        submit = self.folder / "submit.sh"
        submit.write_text(
            'nohup env -i $(env | grep ^OPENBLAS_) PATH="$PATH" HOME="$HOME" PYTHONPATH="$PYTHONPATH" '
            'sh "$1" > "$1.out" 2>&1 &\n'
            "echo $!\n"
        )
        return [
            *(sys.executable, "-m", "snakemake", "--profile", "workflow/profiles/generic"),
            *(
                "--cluster-generic-submit-cmd",
                f"sh '{submit}'",
                "--cluster-generic-cancel-cmd",
                "kill",
            ),
            *("--jobs", "2", "--latency-wait", "10", "--seconds-between-status-checks", "1"),
            *("--configfile", "config/tiny.yaml", *options),
        ]


def test_the_study_gives_the_same_files_as_without_a_cluster(tmp_path):
    local, submitted = Project(tmp_path / "local"), GenericProject(tmp_path / "submitted")
    local.run()
    submitted.run()
    assert_same(submitted.files(), local.files())
