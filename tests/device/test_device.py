"""What a GPU makes, what it costs, and what happens without one; a simulated one computes a few rounds."""

import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

from admmbench import simulate
from admmbench.audit.solutions import RecordingStrategy
from admmbench.contracts.made_up_data import make_dataset
from admmbench.engine.context import Context
from admmbench.engine.devices import chosen
from admmbench.files.installed import OWN
from admmbench.forecast.cost import LIMITS, estimate, work
from admmbench.forecast.plan import core_seconds
from admmbench.problems.losses.softmax import Softmax
from admmbench.spec.run import RunSpec
from admmbench.study.config import read
from admmbench_cuda import TYPICAL, unsuitable
from tests.base.test_kernel import COMBINED
from tests.device import simulated

DATA = make_dataset()
TWO_CLASSES = make_dataset(n_classes=2)


def spec(algorithm="objp", **given):
    return RunSpec(**{"dataset": DATA, "algorithm": algorithm, "agents": 3, "epsilon": 1, **given})


@pytest.mark.parametrize("name", ["objp", "objt", "outp", "iadmm", "iceadmm"])
def test_a_gpu_makes_what_updates_in_closed_form(name):
    assert unsuitable(spec(name)) == ""
    assert chosen(spec(name), "cuda") == "cuda"
    assert chosen(spec(name), "cpu") == "cpu"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"algorithm": "admm"}, "closed form"),
        ({"algorithm": "dp_fedavg"}, "closed form"),
        ({"algorithm": "dp_admm"}, "means"),
        ({"params": {"average": "after"}}, "means"),
        ({"dataset": TWO_CLASSES, "problem": "logistic"}, "loss is not softmax"),
        ({"problem": {"loss": "softmax", "penalty": "l1"}}, "penalty"),
        ({"problem": {"loss": "softmax", "feasible": {"box": 1.0}}}, "feasible"),
    ],
)
def test_what_it_does_not_make_stays_on_a_processor(given, reason):
    assert reason in unsuitable(spec(**given))
    assert chosen(spec(**given), "cuda") == "cpu"
    if not find_spec("cupy"):
        with pytest.raises(ValueError, match=f"device: cuda does not make .*{reason}.*; use cpu"):
            simulate(**{"dataset": DATA, "algorithm": "objp", "agents": 3, **given}, device="cuda")


def test_a_loss_that_extends_the_softmax_has_formulas_of_its_own():
    class Tempered(Softmax):
        pass

    run = spec()
    tempered = replace(run.as_problem, loss=Tempered())
    other = SimpleNamespace(method=run.method, as_problem=tempered)
    assert unsuitable(other) == "the loss is not softmax"


def test_slopes_of_nan_are_nan_where_the_larger_of_two_numbers_is_not():
    equation = Softmax.row_to_derivatives.py_func
    on_gpu = FunctionType(equation.__code__, {**equation.__globals__, "max": np.fmax})
    row = np.array([np.nan, 0, 0])
    assert np.isnan(on_gpu(row, 1.0, 1, 1.0, 0.0)).all()
    assert np.isnan(row).all()


@pytest.mark.skipif(bool(find_spec("cupy")), reason="CuPy is here")
def test_without_its_packages_an_error_says_what_to_install():
    with pytest.raises(ValueError, match="device: cuda needs cupy, a dependency of admmbench-cuda"):
        simulate(DATA, "objp", agents=3, device="cuda")


def test_another_device_is_refused():
    with pytest.raises(
        ValueError, match="device: 'gpu' is none of cpu, cuda; for another device, install"
    ):
        simulate(DATA, "objp", agents=3, device="gpu")


def test_a_gpu_needs_one_thread_and_less_time():
    run = spec(dataset="femnist", agents={"scheme": "by_writer"}, rounds=20_000)
    assert estimate(run, 4).threads == 4
    assert estimate(run, 4, "cuda").threads == 1
    assert estimate(run, 4, "cuda").runtime < estimate(run, 4).runtime / 10
    assert work(run, TYPICAL) < work(run, LIMITS) / 100
    assert core_seconds(run, 16, LIMITS, "cuda") == core_seconds(run, 1, LIMITS, "cuda")


def test_runs_are_the_same_runs_on_another_device():
    """So what one device made is not made again by another."""
    overlay = [OWN / "config.yaml"]
    studies = [read(changes={"device": device}, overlays=overlay) for device in ("cpu", "cuda")]
    cpu, cuda = (sorted(study.shared) for study in studies)
    assert cpu == cuda


def test_nothing_of_a_gpu_is_imported_before_a_run_asks_for_one():
    code = (
        "import sys, admmbench; from admmbench.contracts.made_up_data import make_dataset;"
        "admmbench.simulate(make_dataset(), 'objp', agents=3, rounds=1, seeds=1);"
        "print([name for name in sys.modules if name.startswith(('cupy', 'numba.cuda'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_simulated_gpu_agrees_with_a_processor():
    """Each of its threads is one of Python: the kernels and what calls them, but not the compiler of a GPU."""
    command = [sys.executable, "-W", "ignore", "-m", simulated.__name__]
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("update agrees") == len(COMBINED) == 24
    assert done.stdout.count("columns agree") == 2 * len(simulated.RUNS)


def test_a_strategy_that_a_device_would_not_obey_is_refused():
    with pytest.raises(ValueError, match="device: cuda computes local updates in a way of its own"):
        Context(device="cuda", strategy=RecordingStrategy())
