"""The local update against numpy, operation by operation, for every way to be made and to be run."""

import itertools

import numpy as np
import pytest

from admmbench.base.kernel import (
    COMPILED,
    Compiled,
    in_plain_arrays,
    make_finish,
    make_finish_tile,
    make_solve,
    make_solve_tile,
    make_update,
    source,
)
from admmbench.base.linearized import _noise, proximal_step, trust_region_step
from admmbench.base.types import LocalUpdate, Pass, Strategy, Subproblem
from admmbench.privacy import Noise, Privacy, samplers
from admmbench.problems.base import Gradient
from admmbench.problems.penalties import PENALTIES
from admmbench.problems.used_columns import take_tile
from admmbench.sensitivity import Sensitivity

# A tile of noise, and a part of one.
B, S, K, J = 2, 2, 2, 520
STEPS = {
    "proximal": (proximal_step, "inverse_eta"),
    "trust region": (trust_region_step, "radius"),
}
RHO, RHO_DUAL, RHO_MESSAGE = 0.7, 0.9, 1.3
ONES = np.ones((B, S))


def literal(step, g, z, w, dual, number):
    number = number[..., None, None]
    if step == "proximal":
        return (-g + RHO * w + dual + number * z) / (RHO + number)
    return np.clip((-g + RHO * w + dual) / RHO, z - number, z + number)


def block(dtype="float64", updates="only", seed=0):
    """A subproblem, a gradient, and numbers for the step."""
    rng = np.random.default_rng(seed)
    gradient, z, dual, sent = rng.normal(size=(4, B, S, K, J)).astype(dtype)
    w, partial = rng.normal(size=(2, S, K, J)).astype(dtype)
    sent = z if updates == "only" else sent
    sub = Subproblem(
        3, z, sent, w, dual, partial, RHO, RHO_DUAL, RHO_MESSAGE, None, None, None, COMPILED
    )
    return sub, gradient, rng.uniform(0.1, 2, (B, S))


def draw(measure=False):
    """Noise of two agents and two seeds."""
    keys = np.arange(B * S * 2, dtype=np.uint32).reshape(B, S, 2)
    noise = Noise(keys, (K, J), Privacy(0.5))
    noise.begin_round(4, measure)
    return noise.laplace(Sensitivity(l1=ONES)), noise


class Uncompiled(Compiled):
    """The function that is compiled, run as it is written."""

    def make(self, fused, dtype):
        solve = make_solve(fused.step, PENALTIES[fused.penalty].gradient, fused.at == "global")
        number = np.dtype(dtype).type
        return make_update(
            make_solve_tile(solve),
            make_finish_tile(make_finish(solve, number, **fused.flags(make_finish))),
            lambda numbers, p, s: tuple(each[p, s] for each in numbers),
            take_tile,
            samplers.perturb,
            **fused.flags(make_update),
        )


class Plain(Strategy):
    """A block is one entry."""

    def update(self, update):
        in_plain_arrays(update)


WAYS = {"compiled": COMPILED, "uncompiled": Uncompiled(), "plain": Plain()}
PLACES = (None, "gradient", "solution")
UPDATES = ("only", "first", "middle", "last")
ORDERS = ("server", "agents")
COMBINED = [*itertools.product(PLACES, UPDATES, ORDERS)]
# To compile one takes a second: noise and orders meet in one variable, and not all of them are combined there.
COMPILED_ONES = [
    (place, updates, order)
    for place, updates, order in COMBINED
    if place == "gradient" or (updates, order) in (("only", "server"), ("last", "agents"))
]
CASES = [
    *(
        ("proximal", penalty, at, "gradient", "only", "server")
        for penalty, at in itertools.product(("l1", "l2"), ("local", "global"))
    ),
    *(("trust region", "l2", "local", place, "only", "server") for place in PLACES),
]


@pytest.mark.parametrize(
    ("step", "penalty", "at", "noise", "updates", "order", "way"),
    [
        *((*case, way) for case in CASES for way in WAYS),
        *(("proximal", "l2", "local", *case, "compiled") for case in COMPILED_ONES),
        *(
            ("proximal", "l2", "local", *case, way)
            for case in COMBINED
            for way in ("uncompiled", "plain")
        ),
    ],
)
def test_every_pass_is_what_numpy_computes(step, penalty, at, noise, updates, order, way):
    equation, name = STEPS[step]
    strength, share = 0.3, 1 / 4
    sub, gradient, numbers = block(updates=updates)
    z, w, dual, sent, partial = (
        each.copy() for each in (sub.z, sub.w, sub.dual, sub.sent, sub.partial)
    )
    if order == "agents" and updates in ("only", "first"):
        dual = dual + RHO_DUAL * (w - sent)
    model = z if at == "local" else w
    g = gradient + draw()[0] if noise == "gradient" else gradient
    g = g + strength * (np.sign(model) if penalty == "l1" else model)
    new = literal(step, g, z, w, dual, numbers)
    new = new + draw()[0] if noise == "solution" else new
    # The sum of local updates so far is where their mean will be.
    mean = {"only": new, "last": (sent + new) * share}.get(updates)
    sent = {"first": new, "middle": sent + new}.get(updates, mean)
    if mean is not None:
        dual = dual + RHO_DUAL * (w - mean) if order == "server" else dual
        partial = partial + (mean - dual / RHO_MESSAGE).sum(axis=0)

    fused = Pass(equation, penalty, at, noise, updates, order)
    given = Gradient(gradient, None), draw()[0] if noise else None, {name: numbers}
    WAYS[way].update(LocalUpdate(fused, sub, *given, strength, share))
    close = {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(sub.z, new, **close)
    np.testing.assert_allclose(sub.dual, dual, **close)
    np.testing.assert_allclose(sub.sent, sent, **close)
    np.testing.assert_allclose(sub.partial, partial, **close)


def update(fused, sub, gradient, noise, schedule, strength=0.3, way="compiled"):
    WAYS[way].update(LocalUpdate(fused, sub, gradient, noise, schedule, strength, 1.0))


@pytest.mark.parametrize("place", ["gradient", "solution"])
def test_the_magnitude_of_the_noise_is_measured(place):
    sub, gradient, numbers = block()
    noise, source = draw(measure=True)
    fused = Pass(proximal_step, "l2", "local", place, "only", "server")
    update(fused, sub, Gradient(gradient, None), noise, {"inverse_eta": numbers})
    wanted = np.abs(np.zeros(noise.shape) + draw()[0]).mean(axis=(2, 3))
    np.testing.assert_allclose(source.magnitude(), wanted, rtol=1e-12)


def test_what_is_no_number_survives_the_clip():
    sub, gradient, numbers = block()
    gradient[0, 1, 0, 2] = np.nan
    fused = Pass(trust_region_step, "l2", "local", None, "only", "server")
    update(fused, sub, Gradient(gradient, None), None, {"radius": numbers})
    assert np.isnan(sub.z[0, 1, 0, 2])
    assert np.isnan(sub.dual[0, 1, 0, 2])
    assert np.isfinite(np.delete(sub.z.reshape(B * S, -1), 1, axis=0)).all()


def test_a_narrow_gradient_is_widened():
    sub, _, numbers = block()
    wanted, *_ = block()
    rng = np.random.default_rng(1)
    entries = rng.normal(size=(B, S, K, 90))
    entries[..., -1] = 0
    position = np.array([rng.permutation(J) for _ in range(B)]).clip(max=89).astype(np.uint32)
    narrow = Gradient(entries, None, position)
    assert narrow.value.shape == (B, S, K, J)
    np.testing.assert_array_equal(narrow.value[1, 1, 1, 5], entries[1, 1, 1, position[1, 5]])
    fused = Pass(proximal_step, "l2", "local", "gradient", "only", "server")
    update(fused, sub, narrow, draw()[0], {"inverse_eta": numbers})
    update(fused, wanted, Gradient(narrow.value, None), draw()[0], {"inverse_eta": numbers})
    np.testing.assert_array_equal(sub.z, wanted.z)


def two_numbers(gradient, z, w, dual, rho, p, given):
    """Names of arguments that the update itself uses."""
    return p * gradient + 2 * given


def no_number(gradient, z, w, dual, rho):
    return z - gradient / rho


@pytest.mark.parametrize("way", WAYS)
def test_numbers_are_taken_by_their_names_or_none_at_all(way):
    for step, names in ((two_numbers, ("given", "p")), (no_number, ())):
        sub, gradient, numbers = block()
        z, factors = sub.z.copy(), numbers[..., None, None]
        given = {name: (1 + 2 * (name == "p")) * numbers for name in names}
        update(Pass(step), sub, Gradient(gradient, None), None, given, 0.0, way)
        wanted = 3 * factors * gradient + 2 * factors if names else z - gradient / RHO
        np.testing.assert_allclose(sub.z, wanted)


def test_a_schedule_that_does_not_fit_the_step_is_refused():
    sub, gradient, numbers = block()
    with pytest.raises(
        ValueError, match="schedule gives eta, the step proximal_step takes inverse_eta"
    ):
        update(Pass(proximal_step), sub, Gradient(gradient, None), None, {"eta": numbers})


@pytest.mark.parametrize(("place", "updates", "order"), COMPILED_ONES)
def test_uncompiled_in_single_precision_each_bit_is_the_compiled_one(place, updates, order):
    """What noise is added to is in double precision, as where a total is guaranteed."""
    fused = Pass(proximal_step, "l2", "local", place, updates, order)
    found = {}
    for way in ("compiled", "uncompiled"):
        sub, gradient, numbers = block("float32", updates)
        given = Gradient(gradient.astype("float64") / 3, None), draw()[0] if place else None
        schedule = {"inverse_eta": numbers}
        WAYS[way].update(LocalUpdate(fused, sub, *given, schedule, 0.3, 1 / 4))
        found[way] = [sub.z, sub.dual, sub.sent, sub.partial]
    for one, other in zip(*found.values(), strict=True):
        assert one.dtype == "float32"
        np.testing.assert_array_equal(one, other)


def test_noise_in_two_places_is_refused():
    with pytest.raises(ValueError, match="choose one"):
        _noise(draw()[0], draw()[0])


@pytest.mark.parametrize("noise", [np.zeros((B, S, K, J)), 0.5, None])
def test_noise_of_another_kind_is_refused(noise):
    with pytest.raises(ValueError, match=r"noise is what .*; got"):
        _noise(0.0, noise)


def test_the_pass_is_made_anew_when_the_samplers_change(monkeypatch):
    fused = Pass(proximal_step, "l2", "local", None, "only", "server")
    before = source(fused, "float32")
    monkeypatch.setattr("admmbench.base.kernel._IMPORTED", "another")
    assert source(fused, "float32") != before
