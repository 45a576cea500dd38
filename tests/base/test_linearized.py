"""Steps on a linearised loss."""

import numpy as np
import pytest
from scipy import optimize

from admmbench import simulate
from admmbench.base.linearized import proximal_step, trust_region_step
from admmbench.contracts.made_up_data import make_dataset
from tests.algorithms.literal_ryu2022 import RHO, N, P, T


@pytest.mark.parametrize("kind", ["proximal", "trust region"])
def test_closed_forms_minimise_the_subproblems(kind):
    """Equations (8) and (9): scipy's minimiser of the linearised Lagrangian is the closed form."""
    gradient, z, w, dual = np.random.default_rng(0).normal(size=(4, 6))
    rho, inverse_eta, radius = 1.7, 1.1, 0.3

    def objective(v):
        value = gradient @ v + rho / 2 * ((w - v + dual / rho) ** 2).sum()
        return value + (inverse_eta / 2 * ((v - z) ** 2).sum() if kind == "proximal" else 0)

    if kind == "proximal":
        found, bounds = proximal_step(gradient, z, w, dual, rho, inverse_eta), None
    else:
        found = trust_region_step(gradient, z, w, dual, rho, radius)
        bounds = list(zip(z - radius, z + radius, strict=True))
        assert 0 < (np.abs(found - z) < radius * 0.999).sum() < 6
    best = optimize.minimize(objective, z, bounds=bounds, tol=1e-14).x
    np.testing.assert_allclose(found, best, atol=1e-5)


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
