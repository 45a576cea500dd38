"""Steps on a linearised loss."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize

from admmbench import simulate
from admmbench.algorithms.objp import ObjP
from admmbench.algorithms.objt import ObjT
from admmbench.base.kernel import COMPILED
from admmbench.base.types import Subproblem
from admmbench.contracts.made_up_data import make_dataset
from admmbench.engine.streams import noise_key
from admmbench.privacy import Noise, Privacy
from admmbench.problems.base import Gradient
from admmbench.sensitivity import Sensitivity
from tests.algorithms.literal_ryu2022 import RHO, N, P, T
from tests.noise import noisy


class Parts:
    """An agent's part of a problem whose gradient is known; no penalty."""

    own_strength = 0.0
    smoothness = np.array([[3.0]])

    def __init__(self, gradient):
        self.whole = self.objective = self
        self._gradient = gradient

    def gradient(self, z, floor):
        return Gradient(self._gradient.copy(), lambda: Sensitivity(l1=np.ones((1, 1))))

    problem = SimpleNamespace(penalty_name="l2")


def solved(method, t, z, w, dual, gradient, r, eps=math.inf):
    """New model, and the noise on the gradient."""
    noise = Noise(np.array([[noise_key(0, 0)]]), z.shape[2:], Privacy(eps))
    noise.begin_round(t)
    sub = Subproblem(
        t,
        z.copy(),
        z.copy(),
        w,
        dual.copy(),
        partial=np.zeros_like(w),
        rho=r,
        rho_dual=r,
        rho_message=2 * r,
        parts=Parts(gradient),
        noise=noise,
        privacy=Privacy(eps),
        strategy=COMPILED,
    )
    sub = replace(sub, sent=sub.z)
    method.local_round(sub)
    np.testing.assert_allclose(sub.dual, dual + r * (w - sub.z))
    np.testing.assert_allclose(sub.partial, sub.z[0] - sub.dual[0] / (2 * r))
    return sub.z


@pytest.mark.parametrize("kind", ["proximal", "trust"])
def test_closed_forms_minimise_the_subproblems(kind):
    """Equations (8) and (9): scipy's minimiser of the perturbed, linearised Lagrangian is the closed form."""
    rng = np.random.default_rng(0)
    z, w, dual, gradient = rng.normal(size=(4, 1, 1, 2, 3))
    t, r, a = 4, 1.7, 2.0
    method = (ObjP if kind == "proximal" else ObjT)(a=a)
    found = solved(method, t, z, w[0], dual, gradient, r, eps=0.9)
    noisy_gradient = noisy(gradient, "laplace", 1.0, 1 / 0.9, (0, 0, t, 0))

    def objective(v):
        v = v.reshape(z.shape)
        value = (noisy_gradient * v).sum() + r / 2 * ((w - v + dual / r) ** 2).sum()
        return value + (math.sqrt(t) / (2 * a) * ((v - z) ** 2).sum() if kind == "proximal" else 0)

    radius = a / t**2
    bounds = [(v - radius, v + radius) for v in z.ravel()] if kind == "trust" else None
    best = optimize.minimize(objective, z.ravel(), bounds=bounds, tol=1e-14).x
    np.testing.assert_allclose(found.ravel(), best, atol=1e-5)


@pytest.mark.parametrize("a", [1.0, 4.0])
def test_smooth_proximity_is_theorem_2(a):
    z, w, dual, gradient = np.random.default_rng(1).normal(size=(4, 1, 1, 2, 3))
    found = solved(ObjP(proximity="smooth", a=a), 9, z, w[0], dual, gradient, 0.5, eps=2.0)
    curvature = (3.0 + 3 / 2.0) / a  # 1 / eta = (L + sqrt(9) / epsilon) / a
    g = noisy(gradient, "laplace", 1.0, 1 / 2.0, (0, 0, 9, 0))
    np.testing.assert_allclose(found, (-g + 0.5 * w + dual + curvature * z) / (0.5 + curvature))


BY_HAND = '''
"""ObjP without noise, its subproblem solved in numpy."""

from admmbench.api import Consensus, parameters, proximal_step


@parameters
class ByHand(Consensus):
    """Mine."""

    order = "server"
    updates = UPDATES

    def update(self, sub):
        """Solve (8) of ryu2022."""
        slope = sub.parts.objective.full_gradient(sub.z)
        return proximal_step(slope, sub.z, sub.w, sub.dual, sub.rho, sub.t**0.5)
'''


@pytest.mark.parametrize("updates", [1, 2, 3])
def test_a_method_that_states_its_update_alone_is_the_one_that_is_compiled(tmp_path, updates):
    """The frame takes the mean of the local updates, and lets the dual variables follow."""
    path = tmp_path / "by_hand.py"
    path.write_text(BY_HAND.replace("UPDATES", str(updates)))
    given = {"agents": P, "rounds": T, "evaluate_every": 1, "seeds": 2, "dtype": "float64"}
    data = make_dataset(N)
    found = simulate(data, str(path), params={"rho": RHO}, **given)
    wanted = simulate(data, "objp", params={"rho": RHO, "local_updates": updates}, **given)
    for name in ("train_loss", "consensus_violation"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-11)
