"""`admmbench plan` and `admmbench gc` in a project that was run, as a user calls them."""

import re

import pytest
import xarray as xr

from tests.workflow.project import RUNS, STUDY, assert_same

pytestmark = pytest.mark.slow


def test_the_plan_counts_snakemakes_jobs_and_compares_finished_runs(project):
    shown = project.admmbench("plan", "--configfile", "config/tiny.yaml", "--cores", "2")
    total = re.search(r"│ all +│ +(\d+) │.*│ +(\d+) │.*│ +([\d.]+) │$", shown, re.MULTILINE)
    assert total, shown
    dry = project.run("--dry-run", "--forceall")
    jobs = re.search(r"^total +(\d+)$", dry, re.MULTILINE)
    assert jobs is not None
    # It fits on a screen, the plan's summary included.
    assert re.search(rf"^run +{len(RUNS)}$", dry, re.MULTILINE)
    assert "rule " not in dry
    assert re.search(r"^tiny takes about .* on 2 cores", dry, re.MULTILINE)
    assert re.search(r"^About .* on 2 cores", shown, re.MULTILINE)
    assert total[1] == jobs[1]
    assert int(total[2]) == len(RUNS)
    assert float(total[3]) > 0


def test_a_gpu_makes_what_it_can_and_nothing_again(project):
    device = ["--config", "device=cuda"]
    assert project.planned(*device) == set()
    dry = project.run("--dry-run", "--printshellcmds", "--forceall", *device)
    assert re.findall(r" --device (\w+) ", dry) == ["cuda"] * len(RUNS)
    assert dry.count("device=cuda, cuda=1, gres=gpu:1") == len(RUNS)


def test_a_plan_reads_the_words_of_the_command_line(project):
    changes = ["--config", "overrides={tiny: {epsilon: [7, 8]}}"]
    plans = [
        project.admmbench("plan", "--configfile", "config/tiny.yaml", *each)
        for each in ([], changes)
    ]
    less, more = (
        int(number) for each in plans for number in re.findall(r"│ tiny +│ +(\d+) │", each)
    )
    assert more - less == len(RUNS)


def test_garbage_is_what_no_configuration_asks_for(project):
    assert "0 that no configuration asks for" in project.admmbench("gc")
    project.configure(algorithms=STUDY["algorithms"][:2])
    before = project.files()
    shown = project.admmbench("gc")
    assert re.findall(r"results/runs/digits/(\w+)-\S+\.nc", shown) == ["outp"]
    assert "--delete removes them" in shown
    assert_same(project.files(), before)
    assert "removed" in project.admmbench("gc", "--delete")
    gone = before.keys() - project.files().keys()
    assert re.fullmatch(r"runs/digits/outp-\S+\.nc", "".join(gone))
    project.run("--", "results")
    assert "rule run_" not in project.log
    with xr.open_dataset(project.folder / "results/tiny/results.nc") as results:
        assert list(results.algorithm.values) == ["ObjP", "ObjT"]
