"""A kind of release is one class: one from outside goes wherever the built-in ones go, and each keeps its promises."""

import json
import math
from dataclasses import replace
from itertools import pairwise

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from scipy import integrate, optimize

import admmbench.api
from admmbench import simulate
from admmbench.contracts.methods import method_checks
from admmbench.plugins import load_file
from admmbench.privacy import (
    ORDERS,
    Approximate,
    Composition,
    Cost,
    Gaussian,
    Laplace,
    Pure,
    Replaced,
    events,
)
from admmbench.privacy.composition import renyi_accountant
from admmbench.spec.run import RunSpec
from tests.pages import ROOT, blocks
from tests.privacy.ledgers import ledger_of

# A plug-in: the kind of release that a page shows, and a method that makes such releases.
PAGE = ROOT / "docs/privacy/totals.md"
(SHOWN,) = (block.text for block in blocks(PAGE) if "class Silent" in block.text)
PLUG_IN = (
    f"""
from admmbench.algorithms.dpsgd import DPSGD
from admmbench.api import Guarantee, Release, Sensitivity, parameters
{SHOWN.partition("ledger = ")[0]}
"""
    + '''
@parameters
class Quiet(DPSGD):
    """Its noise is not what it says."""

    release = Release("silent", "objective")

    def guarantee(self, sensitivity):
        return Guarantee("conditional", "because I say so")

    def noisy_mean(self, value, sensitivity, federation, sampling=1.0):
        def noisy(block):
            noise, own = block.noise, value(block)
            if not noise.privacy.private:
                return own
            std = np.ones(own.shape[:2])
            release = noise.enter(self.release.cost(noise.privacy))
            return own + release.draw(std, np.full_like(std, 2.0**-20))

        sent = np.concatenate(federation.each(noisy))
        return self.mean(sent, federation), sent
'''
)


@pytest.fixture
def plug_in(tmp_path):
    """File of the method; its kind is forgotten afterwards."""
    before = dict(events.KINDS)
    file = tmp_path / "quiet.py"
    file.write_text(PLUG_IN)
    yield file
    events.KINDS.clear()
    events.KINDS.update(before)


@pytest.fixture
def silent(plug_in):
    """Class of the kind."""
    load_file(plug_in)
    return events.KINDS["silent"]


def exact(epsilon, silence, count, delta):
    """Total of so many releases, from the chances of all sums of losses."""
    chances = np.array([1.0])
    up = (1 - silence) / (1 + math.exp(-epsilon))
    for _ in range(count):
        chances = np.convolve(chances, [1 - silence - up, silence, up])
    losses = epsilon * np.arange(-count, count + 1)

    def excess(total):
        return (chances * np.maximum(-np.expm1(total - losses), 0)).sum() - delta

    return optimize.brentq(excess, 0, epsilon * count)


@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 50), (0.5, 20), (2.0, 3)])
def test_a_kind_from_outside_composes_by_each_accountant(silent, epsilon, count):
    ledger = ledger_of((silent(epsilon), count))
    worst = ledger_of((Pure(epsilon), count))
    total = exact(epsilon, 0.4, count, 1e-5)
    assert total * (1 - 1e-9) <= ledger.epsilon(1e-5, "pld") <= 1.001 * total
    assert total <= ledger.epsilon(1e-5) <= worst.epsilon(1e-5)
    assert math.isnan(ledger.epsilon(1e-5, "huang2019"))
    ledger.add(Gaussian(20.0), 5)
    assert total < ledger.epsilon(1e-5, "pld") <= ledger.epsilon(1e-5)
    assert not Composition([(silent(-1.0), 1)]).sound


@pytest.mark.parametrize(
    "check",
    ["going on from a checkpoint", "the noise matches release", "the noise matches cost"],
)
def test_a_method_with_a_kind_from_outside_keeps_the_contract(plug_in, check):
    found = [each for each in method_checks(str(plug_in)) if check in each.name]
    assert found
    for each in found:
        each.run()


def test_a_kind_from_outside_is_called_by_its_name_in_results(plug_in):
    given = {"dataset": "digits", "algorithm": str(plug_in), "agents": 2, "rounds": 4, "seeds": 1}
    release = RunSpec.model_validate({**given, "epsilon": 0.5}).release
    assert (release.law, release.kind.pure) == ("silent", True)  # of which results say so
    trace = simulate(epsilon=0.5, evaluate_every=4, **given)
    assert exact(0.5, 0.4, 4, 1e-6) <= float(trace.epsilon_composed[-1]) <= 4 * 0.5
    assert np.isnan(trace.epsilon_moments[-1])


@pytest.mark.parametrize("name", ["laplace", "gaussian", "pure", "approximate"])
def test_no_kind_from_outside_takes_the_name_of_a_built_in_one(plug_in, name):
    plug_in.write_text(PLUG_IN.replace('name = "silent"', f'name = "{name}"'))
    with pytest.raises(ValueError, match=f"Silent: another kind of release is called '{name}'"):
        simulate("digits", str(plug_in), epsilon=1, rounds=1)
    assert events.KINDS[name].__module__.startswith("admmbench.privacy.")


def test_what_a_subclass_loses_is_composed(plug_in):
    """Not the event of the kind that it comes from."""

    class Twice(Laplace):
        name = "twice"

        def renyi(self):
            return 2 * super().renyi()

    cost = Twice(0.3, 0.3, 0.3)
    accountant = renyi_accountant(Composition([(cost, 1)]).event)
    np.testing.assert_array_equal(accountant.rdp, 2 * Laplace(0.3, 0.3, 0.3).renyi())


# What others rely on, of any kind of release

COSTS = [
    Laplace(1.2, 0.7, 0.4),
    Laplace(1.2, 1.2, 1.2),
    Gaussian(1.5),
    Gaussian(1.5, 0.2),
    Replaced(1.5, 0.2),
    Pure(0.7),
    Approximate(0.7, 0.1),
    "from outside",
]


@pytest.fixture(params=COSTS, ids=str)
def cost(request):
    """A cost of each kind."""
    if isinstance(request.param, Cost):
        return request.param
    return request.getfixturevalue("silent")(0.7)


def test_a_cost_comes_back_from_its_numbers(cost):
    packed = json.loads(json.dumps(cost.packed()))
    assert Cost.unpacked(packed) == cost
    assert hash(Cost.unpacked(packed)) == hash(cost)


def test_what_is_merged_costs_the_same(cost):
    one = ledger_of((cost, 3))
    other = ledger_of()
    for _ in range(3):
        other.add(cost)
    assert len(other.composition()) == 1
    assert one.epsilon(0.4) == pytest.approx(other.epsilon(0.4), rel=1e-12)


def test_a_cost_is_sound_and_without_its_numbers_is_not(cost):
    assert cost.sound
    for name in vars(cost):
        assert not Composition([(replace(cost, **{name: math.nan}), 1)]).sound


@pytest.mark.parametrize("accountant", ["rdp", None])
def test_a_release_costs_no_more_than_it_states(cost, accountant):
    ledger = ledger_of(cost)
    epsilon, delta = cost.stated
    assert 0 < ledger.epsilon(max(delta, 1e-9), accountant) <= epsilon * (1 + 1e-9)


def test_the_event_of_a_cost_composes(cost):
    """By our accountant; by those of dp-accounting to the same total if the event is one of theirs."""
    composition = Composition([(cost, 7)])
    accountant = renyi_accountant(composition.event)
    if cost.renyi() is None:
        assert accountant is None
        return
    assert accountant.rdp == pytest.approx(7 * cost.renyi(), rel=1e-9)
    theirs = PLDAccountant(dp.NeighboringRelation.REPLACE_SPECIAL)
    assert theirs.supports(composition.event) == isinstance(cost.event, dp.DpEvent)
    if theirs.supports(composition.event):
        expected = theirs.compose(composition.event).get_epsilon(1e-5)
        assert ledger_of((cost, 7)).epsilon(1e-5, "pld") == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("absent", [False, True])
def test_the_divergence_of_a_cost_is_one(cost, absent):
    """It falls from 1 towards the delta that is stated, and is convex in the exponential of epsilon."""
    part, number = cost.parts(1)
    assert number >= 1
    low, high = part.ends(absent, 40)
    exponentials = np.linspace(math.exp(low - 1), math.exp(min(high, 3) + 1), 500)
    found = part.hockey_stick(np.log(exponentials), absent)
    assert (np.diff(found) <= 1e-12).all()
    assert (np.diff(found, 2) >= -1e-12).all()
    nearly = part.hockey_stick(np.array([low - 60.0, high + 60.0]), absent)
    assert nearly == pytest.approx([1, part.stated[1]], abs=1e-9)


CURVES = [
    *(Laplace(shift, shift, shift) for shift in (0.003, 0.2, 3.0)),
    *(Pure(shift) for shift in (1e-4, 0.2, 3.0)),
    Gaussian(1.5),
    *(Gaussian(*each) for each in ((0.1, 0.3), (0.263, 0.001), (0.8, 0.9), (3.0, 1e-4))),
    *(Replaced(*each) for each in ((0.15, 0.3), (0.4, 0.9), (1.5, 1e-3), (1.5, 0.2, 1.0))),
]


@pytest.mark.parametrize("order", [0, 60, 100, 120, 160])
@pytest.mark.parametrize("cost", CURVES, ids=str)
def test_both_curves_are_of_one_mechanism(cost, order):
    """Renyi divergences are integrals of hockey-stick divergences (Sason and Verdu 2016, equation 435)."""
    a, (_, high) = ORDERS[order], cost.ends(False, 300)
    if a * high > 700:
        pytest.skip("exponentials of the losses are no numbers")

    def integrand(x):
        one, other = (float(cost.hockey_stick(np.array([x]), side)[0]) for side in (0, 1))
        return math.exp((a - 1) * x) * one + math.exp(-a * x) * other

    pieces = pairwise(np.linspace(0, high, 9))
    integral = sum(integrate.quad(integrand, *ends, epsabs=0, epsrel=1e-10)[0] for ends in pieces)
    exact = math.log1p(a * (a - 1) * integral) / (a - 1)
    assert cost.renyi()[order] == pytest.approx(exact, rel=1e-6, abs=1e-10)


def test_what_plug_ins_called_releases_says_what_to_write():
    with pytest.raises(ImportError, match=r"Releases is now the cost of a release, such as Gauss"):
        from admmbench.api import Releases  # noqa: F401
    with pytest.raises(AttributeError, match="has no attribute 'Relases'"):
        _ = admmbench.api.Relases
