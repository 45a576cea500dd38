"""The pass over a model against numpy, operation by operation, for every way to be made."""

import itertools

import numpy as np
import pytest

from admmbench.algorithms.linearized import _noise, proximal_step, trust_region_step
from admmbench.algorithms.passes import Pass

B, S, K, J = 2, 3, 2, 5
STEPS = {
    "proximal": (proximal_step, "inverse_eta"),
    "trust region": (trust_region_step, "radius"),
}


def literal(step, g, z, w, dual, rho, number):
    number = number[..., None, None]
    if step == "proximal":
        return (-g + rho * w + dual + number * z) / (rho + number)
    return np.clip((-g + rho * w + dual) / rho, z - number, z + number)


def arrays(seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    gradient, xi, chain, dual, total, sent = rng.normal(size=(6, B, S, K, J)).astype(dtype)
    w = rng.normal(size=(S, K, J)).astype(dtype)
    numbers = rng.uniform(0.1, 2, (B, S))
    return gradient, xi, chain, w, dual, total, sent, numbers


PLACES = (None, "gradient", "solution")
UPDATES = ("only", "first", "middle", "last")
# Each is compiled: what does not meet in the pass is not combined.
CASES = [
    *(
        ("proximal", penalty, at, "gradient", "only", True)
        for penalty, at in itertools.product(("l1", "l2"), ("local", "global"))
    ),
    *(
        ("proximal", "l2", "local", *rest)
        for rest in itertools.product(PLACES, UPDATES, (False, True))
    ),
    *(("trust region", "l2", "local", place, "only", True) for place in PLACES),
]


@pytest.mark.parametrize(("step", "penalty", "at", "noise", "updates", "ascend"), CASES)
def test_every_pass_is_what_numpy_computes(step, penalty, at, noise, updates, ascend):
    equation, name = STEPS[step]
    rho, strength, share = 0.7, 0.3, 1 / 4
    gradient, xi, chain, w, dual, total, sent, numbers = arrays()
    model = chain if at == "local" else w
    g = gradient + strength * (np.sign(model) if penalty == "l1" else model)
    g = g + xi * (noise == "gradient")
    new = literal(step, g, chain, w, dual, rho, numbers) + xi * (noise == "solution")
    mean = {"only": new, "last": (total + new) * share}.get(updates)
    wanted_total = {"first": new, "middle": total + new}.get(updates, total)
    wanted_dual = dual + rho * (w - mean) if ascend and mean is not None else dual.copy()
    wanted_sent = mean if updates == "last" else sent.copy()

    fused = Pass(equation, (name,), penalty, at, noise, updates, ascend)
    noise_array = xi if noise else None
    fused(gradient, noise_array, chain, w, dual, rho, strength, share, total, sent, [numbers])
    np.testing.assert_allclose(chain, new, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(total, wanted_total, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(dual, wanted_dual, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(sent, wanted_sent, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_precision_is_kept(dtype):
    gradient, xi, chain, w, dual, total, sent, numbers = arrays(dtype=dtype)
    exact = [each.astype("float64") for each in (gradient, xi, chain, w, dual, total, sent)]
    fused = Pass(proximal_step, ("inverse_eta",), "l2", "local", "gradient", "only", True)
    fused(gradient, xi, chain, w, dual, 0.7, 0.3, 1.0, None, chain, [numbers])
    gradient, xi, wide, w, wide_dual, _, _ = exact
    fused(gradient, xi, wide, w, wide_dual, 0.7, 0.3, 1.0, None, wide, [numbers])
    tolerance = 1e-6 if dtype == "float32" else 0
    np.testing.assert_allclose(chain, wide, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(dual, wide_dual, rtol=tolerance, atol=tolerance)


def test_what_is_no_number_survives_the_clip():
    gradient, _, chain, w, dual, _, _, numbers = arrays()
    gradient[0, 1, 0, 2] = np.nan
    fused = Pass(trust_region_step, ("radius",), "l2", "local", None, "only", True)
    fused(gradient, None, chain, w, dual, 0.7, 0.3, 1.0, None, chain, [numbers])
    assert np.isnan(chain[0, 1, 0, 2])
    assert np.isnan(dual[0, 1, 0, 2])
    assert np.isfinite(np.delete(chain.reshape(B * S, -1), 1, axis=0)).all()


def two_numbers(gradient, z, w, dual, rho, p, number_0):
    """Names of arguments that the pass itself uses."""
    return p * gradient + 2 * number_0


def test_numbers_are_taken_by_their_names():
    gradient, _, chain, w, dual, _, _, numbers = arrays()
    fused = Pass(two_numbers, ("number_0", "p"), "l2", "local", None, "only", False)
    fused(gradient, None, chain, w, dual, 0.7, 0.0, 1.0, None, chain, [numbers, 3 * numbers])
    wanted = 3 * numbers[..., None, None] * gradient + 2 * numbers[..., None, None]
    np.testing.assert_allclose(chain, wanted)


def test_a_schedule_that_does_not_fit_the_step_is_refused():
    with pytest.raises(
        ValueError, match="schedule gives eta, the step proximal_step takes inverse_eta"
    ):
        Pass(proximal_step, ("eta",), "l2", "local", None, "only", True).source("float32")


def test_noise_in_two_places_is_refused():
    with pytest.raises(ValueError, match="choose one"):
        _noise(np.zeros(1), np.zeros(1))
