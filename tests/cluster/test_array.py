"""What a job array runs, without a cluster."""

import base64
import json
import zlib

import pytest

from tests.workflow.project import Project


@pytest.mark.slow
@pytest.mark.parametrize(("member", "shown"), [("2", "the second"), ("1", "This was a dry-run")])
def test_every_member_of_an_array_is_its_own_job(tmp_path, monkeypatch, member, shown):
    project = Project(tmp_path / "project")
    table = {"2": zlib.compress(b"echo the second").hex()}
    coded = base64.b64encode(json.dumps(table).encode()).decode()
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", member)
    done = project.snakemake("--dry-run", "--slurm-jobstep-array-execs", coded)
    assert done.returncode == 0, done.stdout
    assert shown in done.stdout
    assert done.stdout.count("Building DAG") == (member == "1")
