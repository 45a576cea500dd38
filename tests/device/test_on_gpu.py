"""A GPU computes what a processor does: `make test-gpu`, with a GPU and what `cuda/pyproject.toml` depends on."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset, using_some_columns
from admmbench.datasets import load_dataset
from admmbench.engine.context import Context
from admmbench.files.installed import OWN
from admmbench.jobs.simulate import run_spec
from admmbench.privacy import samplers
from admmbench.results import reference
from admmbench.study.config import read

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not find_spec("cupy"), reason="needs a GPU and CuPy"),
]

MNIST = "equal_privacy_mnist"
N, J, K = 700, 40, 30  # a model of more than a tile
DATA = make_dataset(N, 90, J, K, writers=5)
RUN = {"agents": {"scheme": "by_writer"}, "epsilon": 2.0, "rounds": 200, "evaluate_every": 20}
METHODS = [
    ("objp", {}, "paper"),
    ("objp", {"local_updates": 3}, "paper"),
    ("objp", {"proximity": "smooth"}, "paper"),
    ("objp", {}, "reference"),
    ("objt", {}, "paper"),
    ("objt", {}, "reference"),
    ("outp", {}, "paper"),
    ("outp", {}, "reference"),
    ("iadmm", {}, "paper"),
    ("iadmm", {"subproblem": "trust_region"}, "reference"),
    ("iceadmm", {"local_updates": 2}, "paper"),
]


DOUBLE = {"dtype": "float64"}
USED = {"data": using_some_columns(DATA, [J // 3, J // 2, 2 * J // 3, J // 4, 0])}
SHUFFLED = {"agents": {"scheme": "iid", "agents": 4, "shuffle": True}}
# Methods with other settings, and the largest difference of their traces.
AGREEING = [
    *(
        (name, {"params": params, "variant": variant, "sensitivity": sensitivity, **DOUBLE}, 1e-9)
        for name, params, variant in METHODS
        for sensitivity in ("local", "global")
    ),
    *((name, {**USED, **DOUBLE}, 1e-9) for name in ("objp", "outp", "iadmm")),
    ("objp", {**SHUFFLED, **DOUBLE}, 1e-9),
    *(
        ("objp", {"privacy": {"noise": noise}, "rounds": 20, "evaluate_every": 5}, 1e-3)
        for noise in ("laplace", "gaussian")
    ),
]


def both(name, data=DATA, **given):
    return [simulate(data, name, **{**RUN, **given}, device=device) for device in ("cpu", "cuda")]


def largest_difference(trace, other):
    """Of all variables but the times, relative to the largest number of each."""
    worst = 0.0
    for name in trace.data_vars:
        if name in ("seconds", "status"):
            continue
        a, b = trace[name].values, other[name].values
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b), err_msg=str(name))
        a, b = np.nan_to_num(a, posinf=0), np.nan_to_num(b, posinf=0)
        worst = max(worst, np.abs(a - b).max() / max(np.abs(a).max(), 1e-300))
    return worst


@pytest.mark.parametrize(("name", "changes", "most"), AGREEING)
def test_traces_agree(name, changes, most):
    assert largest_difference(*both(name, **changes, seeds=3)) < most


def test_totals_are_the_same():
    given = {"epsilon": float("inf"), "privacy": {"total": 4.0}, "sensitivity": "global"}
    cpu, gpu = both("objp", **given, seeds=2, dtype="float64")
    np.testing.assert_array_equal(cpu.epsilon_total, gpu.epsilon_total)


def test_a_run_on_a_gpu_goes_on_from_its_checkpoint(tmp_path):
    from admmbench.engine.rounds import run_rounds
    from admmbench.jobs.checkpoint import Checkpoint, InterruptedRunError
    from admmbench.spec.run import RunSpec

    spec = RunSpec(dataset=DATA, algorithm="objp", params={"local_updates": 2}, **RUN, seeds=2)
    whole = run_rounds(spec, DATA, Context(device="cuda"))

    class Stopping(Checkpoint):
        def after_round(self, snapshot):
            if snapshot.t == 77:
                self.save(snapshot)
                raise InterruptedRunError(15, "stopped")

    with pytest.raises(InterruptedRunError):
        run_rounds(spec, DATA, Context(checkpoint=Stopping(tmp_path / "c", {}, 1e9), device="cuda"))
    again = run_rounds(
        spec, DATA, Context(checkpoint=Checkpoint(tmp_path / "c", {}, 1e9), device="cuda")
    )
    for name, values in whole.variables()["arrays"].items():
        if name != "seconds":
            np.testing.assert_array_equal(values, again.variables()["arrays"][name])


@pytest.mark.parametrize("law", [samplers.LAPLACE, samplers.GAUSSIAN])
@pytest.mark.parametrize("fine", [False, True])
def test_random_words_are_the_same_bits_and_noise_agrees_to_4_ulp(law, fine):
    import cupy
    from numba import cuda, float64, uint64

    from admmbench_cuda.noise import EACH, THREADS, TILE, Release, Room, Thread, perturb

    @cuda.jit
    def draw(key, place, grid, words_out, out):
        words = cuda.local.array(EACH, uint64)
        noise, values = cuda.local.array(EACH, float64), cuda.local.array(EACH, float64)
        for q in range(EACH):
            values[q] = 0.0
        release = Release(law, place[0], place[1], False)
        thread = Thread(cuda.blockIdx.x, cuda.threadIdx.x, TILE)
        perturb(values, release, key, thread, 1.0, grid, Room(words, noise))
        for q in range(EACH):
            at = cuda.blockIdx.x * TILE + q * THREADS + cuda.threadIdx.x
            words_out[at], out[at] = words[q], noise[q]

    tiles, key, place = 4000, np.array([3, 2**31 + 5], np.uint32), np.array([7, 2])
    words, found = cupy.zeros(tiles * TILE, np.uint64), cupy.zeros(tiles * TILE)
    grid = 2.0**-50 if fine else 2.0**-30
    arrays = (cuda.as_cuda_array(cupy.asarray(each)) for each in (key, place))
    draw[tiles, THREADS](*arrays, grid, cuda.as_cuda_array(words), cuda.as_cuda_array(found))
    fill = samplers.fill_laplace if law == samplers.LAPLACE else samplers.fill_gaussian
    few = samplers.EACH if fine else samplers.FEW
    room, expected = np.empty(2 * TILE, np.uint32), np.empty(TILE)
    numbers, worst = np.empty(tiles * TILE), 0.0
    for tile in range(tiles):
        fill(key, place, tile, TILE, room, expected, few)
        bits = (room[:TILE].astype(np.uint64) << np.uint64(32)) | room[TILE:]
        part = slice(tile * TILE, (tile + 1) * TILE)
        np.testing.assert_array_equal(words[part].get(), bits)
        numbers[part] = expected
        ulps = np.abs(found[part].get() - expected) / np.spacing(np.abs(expected))
        worst = max(worst, ulps.max())
    # On a fine grid a number is the difference of two logarithms of about 36.
    if fine:
        assert np.abs(found.get() - numbers).max() <= 4 * np.spacing(36.0)
    else:
        assert worst <= 4


@pytest.mark.parametrize("label", ["ObjP, Laplace", "ObjPM, Gaussian", "ObjT, Gaussian", "OutP"])
def test_kept_results_of_mnist_agree(label):
    experiment = read([OWN / "equal_privacy.yaml"], OWN / "config.yaml").experiments[MNIST]
    kept = reference.read(Path("reference", f"{MNIST}.nc")).load()
    (run,) = [
        each
        for each in experiment.runs
        if each.label == label and each.spec.privacy.total == 2 and 0 in each.spec.seeds
    ]
    trace = run_spec(run.spec, load_dataset(run.spec.dataset), Context(device="cuda"))
    expected = kept.test_error.sel(algorithm=label, epsilon=2, seed=list(run.spec.seeds))
    expected = expected.sel(round=run.spec.rounds)
    found = trace.test_error.sel(round=run.spec.rounds)
    # Of 10,000 test records, those on a border may fall on its other side.
    np.testing.assert_allclose(found, expected, atol=3e-4)
