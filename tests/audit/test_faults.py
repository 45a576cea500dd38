"""The audit can fail: for each fault that a method, a mechanism or a ledger may have, it names the level."""

import re
from dataclasses import replace

import numpy as np
import pytest

from admmbench.algorithms import amp
from admmbench.audit import auditor
from admmbench.audit.settings import AuditSettings
from admmbench.audit.words import words
from admmbench.contracts.made_up_data import make_dataset, written_by
from admmbench.engine import rounds
from admmbench.engine.rounds import AlgorithmError
from admmbench.privacy import Ledger, Noise, Pure, Sampler, noise, samplers
from admmbench.problems.rows import BoundRows, RowParts
from tests.audit.runs import THREE, TWO, WEIGHED_BY_AGENT, failed, make_spec, short_audit

SAMPLED = {"params": {"sampling": 0.3}}
PLUGIN = """
from functools import cached_property
import numpy as np
from admmbench.api import *
from admmbench.base.types import Guarantee
from admmbench.algorithms.dp_admm import DPADMM
from admmbench.algorithms.dp_fedadmm import DPFedADMM
from admmbench.algorithms.dp_fedavg import DPFedAvg
from admmbench.algorithms.dpsgd import DPSGD
from admmbench.algorithms.dvp import DVP, noise_budget
from admmbench.algorithms.objp import ObjP
from admmbench.algorithms.outp import OutP
from admmbench.algorithms.pvp import PVP
from admmbench.problems.rows import RowParts
from admmbench.sensitivity import Sensitivity

@parameters
class Broken({base}):
    '''A lie about privacy.'''
{body}
"""


@pytest.fixture
def broken(tmp_path):
    """Path of a plug-in: a method with some of it replaced."""

    def make(base, body):
        file = tmp_path / "broken.py"
        lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
        file.write_text(PLUGIN.format(base=base, body=lines))
        return str(file)

    return make


# Noise, and what the ledger is told


def half(draw, self, law, scale, *rest):
    return draw(self, law, scale / 2, *rest)


def normal(draw, self, law, *rest):
    return draw(self, samplers.GAUSSIAN, *rest)


def of_the_first_round(draw, self, *rest):
    t, self.t = self.t, 1
    found = draw(self, *rest)
    self.t = t
    return found


def of_the_first_update(draw, self, *rest):
    self.releases = 0
    return draw(self, *rest)


def half_spherical(spherical, self, scale):
    return spherical(self, scale / 2)


def half_a_scale_more(perturb, values, drawn):
    perturb(values, drawn)
    values += 0.5 * drawn.scale[..., None]


def with_a_part_of_all_rounds(perturb, values, drawn):
    for where in (drawn.place, np.zeros(2, int)):
        perturb(values, drawn._replace(place=where, scale=drawn.scale / np.sqrt(2)))


def doubled(add, self, cost, count=1):
    add(self, replace(cost, multiplier=2 * cost.multiplier), count)


def of_the_first_update_alone(enter, self, *rest, **named):
    if self.releases == 0:
        enter(self, *rest, **named)


DRAW, PERTURB, ADD = (Noise, "_draw"), (samplers, "perturb_all"), (Ledger, "add")
UPDATES = {"params": {"local_updates": 3}}
# Agents of unlike sizes have their noise on other grids.
WRITERS = {"data": make_dataset(60, writers=3), "agents": {"scheme": "by_writer"}}
FAULTS = [
    (DRAW, half, "objp", {}, "its mean size is"),
    (DRAW, half, "outp", {}, "its mean size is"),
    (DRAW, half, "dpsgd", {}, "its mean size is"),
    (DRAW, half, "dpsgd", SAMPLED, "its mean size is"),
    (DRAW, half, "amp", {"rounds": 1}, "its mean size is"),
    (DRAW, normal, "objp", {}, "not laplace noise"),
    (DRAW, of_the_first_round, "objp", {}, "have the same noise"),
    (DRAW, of_the_first_update, "objp", UPDATES, "have the same noise"),
    *(
        ((rounds, "noise_key"), key, name, changes, "have the same noise")
        for key in (
            lambda key, seed, agent: key(seed, 0),
            lambda key, seed, agent: key(0, agent),
            lambda key, seed, agent: key(seed + agent, 0),
        )
        for name, changes in (("objp", {}), ("outp", WRITERS))
    ),
    ((Noise, "spherical"), half_spherical, "dvp", {"data": TWO}, "not spherical noise"),
    (PERTURB, half_a_scale_more, "objp", {}, "not laplace noise"),
    (PERTURB, with_a_part_of_all_rounds, "outp", {}, "The noise of different releases is corr"),
    (ADD, doubled, "outp", {}, "of what the ledger was told"),
    (ADD, doubled, "outp", {"variant": "reference"}, "of what the ledger was told"),
    (ADD, doubled, "dpsgd", {}, "of what the ledger was told"),
    (ADD, doubled, "dpsgd", SAMPLED, "of what the ledger was told"),
    (
        (Noise, "_enter"),
        of_the_first_update_alone,
        "objp",
        UPDATES,
        "The ledger was told nothing of a laplace release of agent 0 in round 1.",
    ),
]


@pytest.mark.parametrize(("place", "fault", "name", "changes", "sentence"), FAULTS)
def test_faults_of_noise_and_ledgers(monkeypatch, place, fault, name, changes, sentence):
    usual = getattr(*place)
    monkeypatch.setattr(*place, lambda *given, **named: fault(usual, *given, **named))
    level = "likelihood" if "ledger" in sentence else "noise law"
    assert sentence in failed(short_audit(name, **changes))[level]


def coarse(std):
    """A grid of 2^-30 standard deviations or more."""
    return np.ldexp(2.0**-30, np.frexp(std)[1])


@pytest.mark.parametrize("name", ["amp", "dvp"])
def test_noise_in_a_problem_that_is_on_a_coarse_grid(monkeypatch, name):
    """Solutions show which record it was: the noise that they are due to is on the grid in one world only."""
    params = {"amp": {"tolerance": 1e-13, "output_share": 0.5}, "dvp": {"tolerance": 1e-12}}
    given = {"epsilon": 0.5, "rounds": 1, "params": params[name]}
    settings = AuditSettings(rounds=1, repeats=60, canaries=["worst"])
    assert short_audit(name, TWO, settings, **given).complete
    monkeypatch.setattr(amp, "finest", coarse)
    monkeypatch.setattr(noise, "finest", coarse)
    monkeypatch.setattr(samplers, "CELL", 0.0)
    found = failed(short_audit(name, TWO, settings, **given))
    assert list(found) == ["lower bound"]
    assert "The total does not hold: an attack on the grid of the noise" in found["lower bound"]


@pytest.mark.parametrize(("name", "factor"), [("noise_std", 0.3), ("output_std", 1e-4)])
def test_too_little_noise_in_or_on_the_solution_of_amp(monkeypatch, name, factor):
    own = getattr(amp.Budget, name)
    monkeypatch.setattr(amp.Budget, name, lambda *of: factor * own(*of))
    found = failed(short_audit("amp", TWO, rounds=1, params={"tolerance": 1e-4}))
    assert "of what the ledger was told" in found["likelihood"]


def test_loud_noise_on_the_solution_of_amp_is_no_fault():
    """What is sent shows both noises together."""
    assert short_audit("amp", TWO, rounds=1, params={"tolerance": 0.01}).complete


def test_a_ridge_of_amp_that_depends_on_its_records(monkeypatch):
    """Given the same noise in both worlds, the solutions differ."""
    minimize = amp.AMP.minimize

    def with_another(self, f, b, ridge, *rest):
        own = np.abs(f.gradient(np.zeros_like(b)).value)
        return minimize(self, f, b, ridge + own.mean(axis=(2, 3)), *rest)

    monkeypatch.setattr(amp.AMP, "minimize", with_another)
    found = short_audit("amp", TWO, rounds=1)
    assert not found.complete


# What leaves without noise


NOISELESS = """
def perturb_gradient(self, sub, gradient):
    return ObjP.perturb_gradient(self, sub, gradient) if {} else 0.0
"""


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            """
def local_round(self, sub):
    ObjP.local_round(self, sub)
    sub.dual[:] += 1e-6 * self.gradient(sub).value
""",
            "Data leave without noise: dual of round 1 tells the data sets apart.",
        ),
        (
            NOISELESS.format("sub.t < 3"),
            "Data leave without noise: message 0 of round 3 tells the data sets apart.",
        ),
        (
            NOISELESS.format("sub.parts._X[0].any()"),
            "The number of releases, or their law, depends on the data.",
        ),
        (
            "def schedule(self, sub): return {'inverse_eta': np.linalg.norm(sub.parts._X, 2)}",
            "Data leave without noise: message 0 of round 1 tells the data sets apart.",
        ),
    ],
    ids=["a bit of the gradient", "a message", "as many as the data say", "singular values"],
)
def test_what_leaves_without_noise(broken, body, sentence):
    assert failed(short_audit(broken("ObjP", body)))["coupling"] == sentence


def test_scales_of_own_records_that_are_called_guaranteed(broken):
    body = """
def guarantee(self, sensitivity):
    return Guarantee("proved", "it is not")
"""
    path = broken("ObjP", body)
    for name in ("objp", "outp", "dpsgd", path):
        found = failed(short_audit(name, sensitivity="local"))
        assert found["coupling"].startswith("The scale of the noise depends on the data: in round")


def test_a_law_that_the_ledger_is_not_told_of(monkeypatch):
    def laplace(self, sensitivity):
        self._enter("laplace", sensitivity.l2_over_l1, sensitivity.linf_over_l1)
        scale = sensitivity.l1 / self.privacy.epsilon
        return self._draw(samplers.GAUSSIAN, scale, np.full_like(scale, 2.0**-20))

    monkeypatch.setattr(Noise, "laplace", laplace)
    assert "1 laplace of a gaussian release" in failed(short_audit("objp"))["likelihood"]


@pytest.mark.parametrize("base", ["OutP", "DPADMM"])
def test_a_sensitivity_divided_by_all_records(broken, base):
    body = """
def perturb_solution(self, sub, schedule):
    bound = sub.parts.gradient_bound / sub.parts.whole.n_samples
    return sub.noise.gaussian(Sensitivity(l2=bound / (sub.rho + schedule["inverse_eta"])))
"""
    problem = {"loss": "softmax", "average": "agents"}
    found = short_audit(broken(base, body), problem=problem)
    assert "of what the ledger was told" in failed(found)["likelihood"]


def test_a_spread_that_is_too_small(monkeypatch):
    spread = BoundRows.spread

    def half(self, loss):
        return tuple(ratio / 2 for ratio in spread(self, loss))

    monkeypatch.setattr(BoundRows, "spread", half)
    assert "of what the ledger was told" in failed(short_audit("objp"))["likelihood"]


def test_rounding_errors_of_models_beside_which_a_step_is_small(broken):
    body = """
def round(self, t, state, federation):
    w = state.w

    def local_steps(block):
        parts = block.parts
        z = np.repeat(w[None], len(parts.n_samples), axis=0)
        for _ in range(self.local_updates):
            z -= self.learning_rate * parts.gradient(z, mean_over=parts.n_samples).value
        noisy = (z - w) + block.noise.gaussian(self.sensitivity(parts))
        state.z[block.agents] = w + noisy

    federation.each(local_steps)
    state.w = self.mean(state.z, federation)
    return Messages(down=(w,), up=(state.z,))
"""
    method = broken("DPFedAvg", body)
    assert "of what the ledger was told" in failed(short_audit(method))["likelihood"]
    assert short_audit(method, dtype="float64").passed


@pytest.mark.parametrize("data", [TWO, THREE], ids=["logistic", "softmax"])
@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize(("base", "clip"), [("DPFedAvg", 1e-3), ("DPFedADMM", 0.01)])
def test_a_sensitivity_that_is_a_little_less_than_twice_the_clip(
    broken, base, clip, relation, data
):
    """The worst record moves a clipped difference so far among records that pull the other way, not among others."""
    body = f"""
def sensitivity(self, parts):
    return Sensitivity(l2={base}.sensitivity(self, parts).l2 / 1.2)
"""
    given = {"params": {"clip": clip}, "privacy": {"relation": relation}}
    found = failed(short_audit(broken(base, body), data, **given))
    assert re.search(r" shifts by 1\.[12]\d* of what the ledger was told", found["likelihood"])
    name = {"DPFedAvg": "dp_fedavg", "DPFedADMM": "dp_fedadmm"}[base]
    assert short_audit(name, data, **given).passed


def test_a_solution_with_a_tolerance_that_nobody_counts(broken):
    """Few runs show it: attacks look first at fifty, a quarter of these."""
    body = """
def update(self, sub):
    stiffness = sub.parts.whole.penalty_curvature + sub.rho
    sensitivity = sub.solution_sensitivity(sub.parts.gradient_bound, stiffness)
    return self.minimize(sub, sub.dual) + sub.noise.gaussian(sensitivity)
"""
    data = make_dataset(800, n_classes=2)
    given = {"agents": 2, "params": {"tolerance": 0.1}}
    settings = AuditSettings(rounds=5, repeats=200, canaries=["worst"])
    found = failed(short_audit(broken("PVP", body), data, settings, **given))
    assert "of what the ledger was told" in found["likelihood"]
    assert short_audit("pvp", data, settings, **given).passed


@pytest.mark.parametrize("factor", [0.5, 2], ids=["half the noise", "the curvature is forgotten"])
def test_a_subproblem_with_too_little_noise(broken, factor):
    body = f"""
def update(self, sub):
    c1, m = sub.parts.gradient_bound, sub.n_samples
    scale = {factor} * c1 / (sub.privacy.epsilon * m)
    return self.minimize(sub, sub.dual - sub.noise.spherical(scale))
"""
    settings = AuditSettings(rounds=5, repeats=100, canaries=["worst"])
    found = short_audit(broken("DVP", body), TWO, settings, agents=30)
    assert "of what the ledger was told" in failed(found)["likelihood"]
    assert short_audit("dvp", TWO, settings, agents=30).passed


# Whole agents

AGENT = {
    "problem": WEIGHED_BY_AGENT,
    "privacy": {"unit": "agent"},
}
CLIPPED = {"learning_rate": 6.0, "local_updates": 3, "clip": 0.3}


@pytest.mark.parametrize(
    ("base", "params", "body", "level", "sentence"),
    [
        (
            "DPFedAvg",
            CLIPPED,
            """
def noisy_mean(self, value, *rest):
    from unittest.mock import patch
    with patch("admmbench.algorithms.dp_fedavg.clip_norms", lambda models, most: models):
        return super(Broken, self).noisy_mean(value, *rest)
""",
            "likelihood",
            "of what the ledger was told",
        ),
        (
            "DPFedADMM",
            CLIPPED | {"rho": 0.1},
            "def sensitivity(self, parts): return Sensitivity(l2=np.full_like(parts.gradient_bound, self.clip / 2))",
            "likelihood",
            "of what the ledger was told",
        ),
        (
            "DPFedADMM",
            CLIPPED | {"rho": 0.1},
            """
def round(self, t, state, federation):
    sent = super(Broken, self).round(t, state, federation)
    state.w = state.w - state.dual.mean(axis=0)
    return sent
""",
            "coupling",
            "Data leave without noise",
        ),
        (
            "DPSGD",
            {"learning_rate": 6.0},
            """
def noisy_mean(self, value, sensitivity, *rest, **more):
    def own(parts):
        return Sensitivity(l2=parts.gradient_bound / parts.n_samples[:, None].clip(1))
    return super(Broken, self).noisy_mean(value, own, *rest, **more)
""",
            "likelihood",
            "of what the ledger was told",
        ),
    ],
    ids=["no clip", "half the clip", "a dual variable that leaves", "noise for a record"],
)
def test_a_lie_about_agents(broken, base, params, body, level, sentence):
    settings = AuditSettings(rounds=2, repeats=16, canaries=["worst"])
    found = short_audit(broken(base, body), TWO, settings, params=params, **AGENT)
    assert sentence in failed(found)[level]


# Secure sums

SECURE = {
    "privacy": {"trust": "secure_sum"},
    "problem": {"loss": "logistic", "average": "agents"},
    "agents": {"scheme": "by_writer"},
}


def test_parts_of_the_noise_that_agents_without_records_do_not_add(monkeypatch):
    data = written_by(TWO, np.arange(60) % 2, [str(k) for k in range(20)])
    part = Noise._classical
    monkeypatch.setattr(
        Noise, "_classical", lambda self, b, shape, _, *rest: part(self, b, shape, 20, *rest)
    )
    for average in ("records", "agents"):
        given = {**SECURE, "problem": {"loss": "logistic", "average": average}}
        sentence = failed(short_audit("dpsgd", data, **given))["likelihood"]
        assert re.match(r"A release of the sum in round 1 shifts by [1-3]\.\d+ of what", sentence)


@pytest.mark.parametrize(
    ("body", "level", "sentence"),
    [
        (
            """
def noisy_mean(self, value, sensitivity, federation, sampling=1.0):
    def add(block, total):
        weights = block.parts.weights
        own = Sensitivity(l2=sensitivity(block.parts).l2 * weights[:, :, 0, 0])
        total += (weights * value(block) + block.noise.part(own, weights[:, :, 0, 0])).sum(axis=0)
    total = federation.sum(add, like=np.zeros((federation.problem.n_seeds, *federation.problem.model_shape)))
    return total, np.broadcast_to(total, (federation.problem.n_agents, *total.shape))
""",
            "likelihood",
            "of the sum in round 1 shifts by",
        ),
        (
            """
def noisy_mean(self, value, sensitivity, federation, sampling=1.0):
    def noisy(block):
        weights = block.parts.weights
        own = Sensitivity(l2=sensitivity(block.parts).l2 * weights[:, :, 0, 0])
        return weights * value(block) + block.noise.part(own, weights[:, :, 0, 0])
    sent = np.concatenate(federation.each(noisy))
    return sent[:2].sum(axis=0), sent
""",
            "coupling",
            "Data leave without noise: message 0 of round 1 tells the data sets apart.",
        ),
        (
            """
def round(self, t, state, federation):
    def gradient(block):
        return block.parts.gradient(state.z[block.agents], mean_over=block.parts.n_samples).value
    def noisy(block):
        weights = block.parts.weights
        own = Sensitivity(l2=block.parts.gradient_bound * weights[:, :, 0, 0])
        return weights * gradient(block) + block.noise.part(own, weights[:, :, 0, 0])
    sent = np.concatenate(federation.each(noisy))
    state.z -= 5 * sent
    state.w = state.w - sent.sum(axis=0)
    return Messages(down=(state.w,), up=(np.broadcast_to(state.w, sent.shape),))
""",
            "likelihood",
            "A release of the sum in round 2 shifts by",
        ),
    ],
    ids=["unequal parts", "single messages", "models of their own"],
)
def test_a_secure_sum_that_is_none(broken, body, level, sentence):
    data = written_by(TWO, np.repeat(range(5), [26, 11, 11, 11, 1]), list("abcde"))
    assert sentence in failed(short_audit(broken("DPSGD", body), data, **SECURE))[level]


# Samples


def sampled_audit(repeats=100, rounds=4, relation="zero_out", **changes):
    settings = AuditSettings(rounds=rounds, repeats=repeats, canaries=["worst"])
    given = {**SAMPLED, "privacy": {"relation": relation}, **changes}
    return short_audit("dpsgd", settings=settings, **given)


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("repeats", [24, 200])
def test_samples_as_they_should_be(repeats, relation):
    assert sampled_audit(repeats, relation=relation).passed


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["zero_out", "replace"])
def test_all_records_where_a_sample_is_claimed(monkeypatch, relation):
    """The sum of all is divided by the size of a sample: it shifts in every round, which the attack sees as well."""
    gradient = RowParts.gradient

    def of_all(self, z, mean_over, floor=0.0, sample=None):
        return gradient(self, z, mean_over, floor)

    given = {"epsilon": 8.0, "params": {"sampling": 0.02, "learning_rate": 1e-3}}
    given["relation"] = relation
    assert sampled_audit(200, rounds=9, **given).passed
    monkeypatch.setattr(RowParts, "gradient", of_all)
    found = failed(sampled_audit(200, rounds=9, **given))
    assert re.match(r"The canary takes part in (1\d+) of \1 releases", found["likelihood"])
    attacked = [found[level] for level in ("lower bound", "black box") if level in found]
    assert attacked[0].startswith("The total does not hold: an attack shows")


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
def test_a_sample_that_is_larger_than_claimed(monkeypatch, relation):
    draw = Sampler.draw
    monkeypatch.setattr(Sampler, "draw", lambda self, t, n, q: draw(self, t, n, 2 * q))
    sentence = failed(sampled_audit(relation=relation))["likelihood"]
    assert "the ledger was told a probability of 0.3" in sentence


@pytest.mark.parametrize("what", ["rounds", "runs"])
def test_samples_that_are_drawn_once(monkeypatch, what):
    draw, own = Sampler.draw, rounds.sample_key
    if what == "rounds":
        monkeypatch.setattr(Sampler, "draw", lambda self, t, n, q: draw(self, 1, n, q))
    else:
        monkeypatch.setattr(rounds, "sample_key", lambda seed, agent: own(seed // 2, agent))
    sentence = failed(sampled_audit())["likelihood"]
    assert sentence.endswith(f"takes part in the same ones of {what}.")


def test_a_sensitivity_of_all_records_for_a_sample(broken):
    body = """
def round(self, t, state, federation):
    bound = RowParts.gradient_bound.func
    RowParts.gradient_bound = property(lambda parts: self.sampling * bound(parts))
    try:
        return DPSGD.round(self, t, state, federation)
    finally:
        RowParts.gradient_bound = cached_property(bound)
        RowParts.gradient_bound.__set_name__(RowParts, "gradient_bound")
"""
    settings = AuditSettings(rounds=3, repeats=24, canaries=["worst"])
    found = failed(short_audit(broken("DPSGD", body), settings=settings, **SAMPLED))
    assert "of what the ledger was told" in found["likelihood"]


# Totals


def test_a_budget_that_depends_on_the_records(broken):
    """The stated cost reads records, so that noise solved for a total has another scale on each data set."""
    body = """
def cost(self, t, problem, *given):
    return DPSGD.cost(self, t, problem, *given).louder(1 + np.abs(problem.X).mean() / 100)
"""
    changes = {"epsilon": np.inf, "privacy": {"total": 2}}
    found = failed(short_audit(broken("DPSGD", body), **changes))
    assert "The scale of the noise depends on the data" in found["coupling"]


def test_a_total_that_is_too_small(monkeypatch):
    too_little = Ledger()
    too_little.add(Pure(0.1))
    monkeypatch.setattr(auditor, "dearest", lambda ledgers, delta: too_little)
    settings = AuditSettings(rounds=3, repeats=100, canaries=["worst"])
    found = failed(short_audit("objp", settings=settings, epsilon=30.0))
    assert set(found) == {"lower bound", "black box"}
    assert found["black box"].startswith("The total does not hold: an attack shows")


@pytest.mark.parametrize(
    ("base", "body"),
    [
        (
            "DVP",
            """
def update(self, sub):
    share = sub.noise.spherical(2 * sub.parts.gradient_bound / sub.n_samples)
    return self.minimize(sub, sub.dual) + share
""",
        ),
        (
            "DPSGD",
            """
def noisy_mean(self, value, sensitivity, federation, sampling=1.0):
    def noisy(block):
        own, record = value(block), np.zeros((block.noise.keys.shape[1], 1), int)
        release = block.noise.shared(1)
        return own + release.share(sensitivity(block.parts), 1.0, record, own.shape[2:])
    sent = np.concatenate(federation.each(noisy))
    return self.mean(sent, federation), sent
""",
        ),
    ],
)
def test_noise_that_nobody_can_follow(broken, base, body):
    found = short_audit(broken(base, body), TWO)
    verdicts = {finding.level: finding.passed for finding in found.findings}
    assert verdicts.pop("black box") is True
    assert set(verdicts.values()) == {None}
    assert found.passed
    assert not found.complete
    assert (
        words()
        .summary(found)
        .startswith("The one check holds. 4 of 5 do not apply: Subproblems are solved")
    )
    assert short_audit("dvp", TWO).complete


# In any round, and wherever a method keeps it

STEPS = """
kept = {{}}

def noisy_mean(self, value, sensitivity, federation, sampling=1.0):
    def noisy(block):
        noise, own, bound, t = block.noise, value(block), sensitivity(block.parts).l2, block.noise.t
        def gaussian(part=1.0, **more):
            return noise.gaussian(Sensitivity(l2=part * bound), **more)
        {body}
    sent = np.concatenate(federation.each(noisy))
    return self.mean(sent, federation), sent
"""
SHIFTS = "of agent 0 in round {} shifts by {}"


@pytest.mark.parametrize(
    ("body", "level", "sentence"),
    [
        ("return own + gaussian(1 / 1.05)", "likelihood", SHIFTS.format(2, "1.05")),
        ("return own + gaussian(0.1 if t == 5 else 1)", "likelihood", SHIFTS.format(5, "9.9")),
        ("return own + gaussian(0.1 if t == 9 else 1)", "likelihood", SHIFTS.format(9, "9.9")),
        (
            "return own + gaussian(std=0.95 * bound / noise.privacy.epsilon * 7.552)",
            "likelihood",
            "Round 1 is stated to cost an epsilon of",
        ),
        (
            "noisy = own + gaussian(); return np.array(0.95 * (noisy - own) + own)",
            "coupling",
            "message 0 of round 1",
        ),
        (
            "draw = gaussian(); _ = own + draw; return own / 2 + draw",
            "likelihood",
            "The ledger was told nothing of a gaussian release of agent 0 in round 1.",
        ),
        (
            "if t > 1: noise.t -= 1\n        return own + gaussian()",
            "likelihood",
            "The noise of release 0 of round 1 is drawn again.",
        ),
        (
            "noisy = own + gaussian()\n        noise.ledgers[0]._counts[Gaussian(1.0)] *= 0.1\n        return noisy",
            "likelihood",
            "The ledger of agent 0 was told -1 gaussian in round 1 beside what was drawn.",
        ),
        (
            "self.kept['a'] = [{'b': own}]; return own + gaussian()",
            "coupling",
            "Broken.kept.a.0.b of round 1",
        ),
        (
            "KEPT.append(float(own.sum())); return own + gaussian()",
            "coupling",
            ".KEPT.",
        ),
        ("keep(own); return own + gaussian()", "coupling", ".keep.inside.0 of round 1"),
        (
            "object.__setattr__(self, 'x', str(own.sum())); return own + gaussian()",
            "coupling",
            "self.x of round 1",
        ),
    ],
)
def test_a_fault_of_any_round_or_place_is_found(broken, body, level, sentence):
    path = broken("DPSGD", STEPS.format(body=body))
    with open(path, "a") as file:
        file.write(
            "\nKEPT = []\n\ndef make():\n    inside = []\n"
            "    def keep(what): inside[:] = [what]\n    return keep\n\nkeep = make()\n"
        )
    assert sentence in failed(short_audit(path))[level]


def test_a_divisor_that_depends_on_the_data(broken):
    """A mean over records that are not null has another divisor for a neighbour, as under add and remove."""
    body = """ends = np.cumsum(block.parts.n_samples)[:-1]
        parts = np.split(np.any(block.parts._X != 0, axis=-1), ends)
        scale = block.parts.n_samples / np.array([part.sum() for part in parts])
        return own * scale.reshape(-1, 1, 1, 1) + gaussian()"""
    found = failed(short_audit(broken("DPSGD", STEPS.format(body=body))))
    assert " shifts by 1." in found["likelihood"]


def large(block):
    """Whether an entry of the agents' records is large: so in all canaries, and not in all data sets."""
    return f"({block}.parts._X.max() > 0.5)"


@pytest.mark.parametrize(
    "more",
    [
        "sent.up[0] + 1e-13 * own",
        "np.where(own > 0, np.nextafter(sent.up[0], sent.up[0].dtype.type(9)), sent.up[0])",
        "np.copysign(sent.up[0].dtype.type(0), own)",
        f"np.zeros_like(own, np.float32 if {large('block')} else np.float64)",
        f"*sent.up * int({large('block')})",
        f"np.zeros(own.shape[:2 + {large('block')}])",
    ],
    ids=["low bits", "last bit", "sign of zero", "type", "number of messages", "shape"],
)
def test_what_leaves_is_compared_bit_by_bit(broken, more):
    body = f"""
def round(self, t, state, federation):
    (block,) = federation.blocks
    at = np.repeat(state.w[None], len(block.parts.n_samples), axis=0)
    own = block.parts.gradient(at, mean_over=1).value
    sent = DPSGD.round(self, t, state, federation)
    return Messages(sent.down, (*sent.up, {more}))
"""
    found = failed(short_audit(broken("DPSGD", body)))["coupling"]
    assert re.match(r"Data leave without noise: (message 1|number of messages) of round", found)


# A step at powers of the largest or mean norm of the records of a class; 1 where there are none.
NORM_OF_ONE_CLASS = (
    "(lambda norms: {2}.0 ** np.ceil(np.log(norms.{0}) / np.log({2})) if norms.size and norms.any() else 1.0)"
    "(np.linalg.norm(block.parts._X, axis=1)[np.asarray(block.parts._y) == {1}])"
)


@pytest.mark.parametrize(
    "part",
    [
        "4.0 ** np.ceil(np.log2(block.parts._X.max()) / 2)",
        "100.0 ** np.ceil(np.log10(np.linalg.norm(block.parts._X, axis=1).max()) / 2)",
        "1 + (block.parts._y.max() > block.parts._y.min())",
        "np.ceil(np.log2(block.parts._X.any(axis=1).sum()))",
        "1 + np.where(np.arange(4) == 3, block.parts._X.max() > 0.5, 0)[:, None]",
        "3.0 ** np.ceil(np.log(np.linalg.norm(block.parts._X)) / np.log(3))",
        "1e3 ** np.ceil(np.log10(np.linalg.norm(block.parts._X)) / 3 + 0.2)",
        NORM_OF_ONE_CLASS.format("max()", 0, 10),
        NORM_OF_ONE_CLASS.format("max()", 1, 100),
        NORM_OF_ONE_CLASS.format("mean()", 2, 7),
    ],
    ids=[
        "powers of 4",
        "powers of 100",
        "labels",
        "number",
        "another agent",
        "powers of 3",
        "powers of 1000",
        "first class",
        "middle class",
        "last class",
    ],
)
def test_a_scale_that_depends_on_records_in_coarse_steps(broken, part):
    """No canary moves it."""
    found = failed(
        short_audit(broken("DPSGD", STEPS.format(body=f"return own + gaussian({part})")))
    )
    assert list(found) == ["coupling"]
    assert found["coupling"].startswith("The scale of the noise depends on the data: in round 1")


COUNTED = """
def noisy_mean(self, value, sensitivity, federation, sampling=1.0):
    if federation.blocks[0].noise.t == 1:
        object.__setattr__(self, "done", 0)
    object.__setattr__(self, "done", self.done + 1)
    def noisy(block):
        own, drawn = value(block), block.noise.gaussian(sensitivity(block.parts))
        noisy = own + drawn
        return {body}
    sent = np.concatenate(federation.each(noisy))
    return self.mean(sent, federation), sent
"""


@pytest.mark.parametrize(("rounds", "last"), [(30, 10), (30, 24), (130, 100), (130, 129)], ids=str)
def test_noise_that_ends_when_so_many_rounds_are_done(broken, rounds, last):
    """All rounds of a run are compared, so that a method which counts its rounds hides nothing."""
    body = COUNTED.format(body=f"noisy if self.done <= {last} else own")
    settings = AuditSettings(rounds=2, repeats=16, canaries=["worst"])
    found = failed(short_audit(broken("DPSGD", body), settings=settings, rounds=rounds))
    assert found["coupling"].startswith("Data leave without noise: message 0 of round")
    fair = short_audit(broken("DPSGD", COUNTED.format(body="noisy")), settings=settings, rounds=30)
    assert fair.passed


@pytest.mark.parametrize(
    "body",
    [
        "if (parts._X == parts._X.max()).all(axis=1).any(): raise ValueError('enough')",
        "if np.abs(parts._X).sum() < 0.01 * parts._X.size: raise ValueError('enough')",
        "if (parts._y == 0).sum() > 40: raise ValueError('enough')",
    ],
    ids=["largest entry", "small records", "labels"],
)
def test_an_error_that_ends_runs_by_data(broken, body):
    body = f"""
def round(self, t, state, federation):
    for parts in (block.parts for block in federation.blocks):
        {body}
    return DPSGD.round(self, t, state, federation)
"""
    found = failed(short_audit(broken("DPSGD", body)))
    assert found["coupling"].startswith("The end of the run depends on the data: by round")


def test_an_outcome_that_ends_runs_by_data(broken):
    body = """
def outcome(self, state, seeds):
    return np.full(seeds, int(self.kept > 0.5))

def round(self, t, state, federation):
    object.__setattr__(self, "kept", max(block.parts._X.max() for block in federation.blocks))
    return DPSGD.round(self, t, state, federation)
"""
    assert "coupling" in failed(short_audit(broken("DPSGD", body)))


PARTICIPANTS = """
def noisy_mean(self, value, sensitivity, federation, sampling=1.0):
    from admmbench.base.consensus import _moved
    most = np.max(federation.each(lambda b: _moved(sensitivity(b.parts), b.parts).max(axis=0)), axis=0)
    active = federation.active(federation.blocks[0].noise.t)
    some = active.sum(axis=0)[:, 0, 0]
    def add(block, total):
        weights, taken = block.parts.weights.astype(float), active[block.agents]
        bound = np.where(block.parts.protected, most, 0.0)
        noise = block.noise.part(Sensitivity(l2={scale}), weights[:, :, 0, 0], sampling)
        total += ({sent}).sum(axis=0)
    total = federation.sum(add, like=np.zeros(most.shape + federation.problem.model_shape))
    return total.astype(federation.problem.dtype), np.broadcast_to(total, (federation.problem.n_agents, *total.shape))
"""
ALL_ADD = {"scale": "bound", "sent": "weights * value(block) * taken + noise"}
OF_TAKERS = "bound * taken[:, :, 0, 0] * {}"


@pytest.mark.parametrize(
    "parts",
    [
        {"sent": "(weights * value(block) + noise) * taken"},
        {"scale": OF_TAKERS.format(1)},
        {"scale": OF_TAKERS.format("(active.shape[0] / some.clip(1)) ** 0.5")},
    ],
    ids=["dropped with the value", "not drawn", "larger for fewer"],
)
def test_noise_of_those_who_take_part_alone(broken, parts):
    """Where nobody takes part, or few, the sum has no noise, or too little."""
    given = {
        "params": {"clip": 0.3, "learning_rate": 6.0},
        "problem": WEIGHED_BY_AGENT,
        "privacy": {"unit": "agent", "trust": "secure_sum", "participation": 0.25},
    }
    settings = AuditSettings(rounds=3, repeats=16, canaries=["worst"])
    path = broken("DPFedAvg", PARTICIPANTS.format(**ALL_ADD))
    assert short_audit(path, TWO, settings, **given).passed
    path = broken("DPFedAvg", PARTICIPANTS.format(**(ALL_ADD | parts)))
    assert {"coupling", "likelihood"} & failed(short_audit(path, TWO, settings, **given)).keys()


def test_a_grid_that_depends_on_records(broken):
    body = f"""
grid = np.full_like(bound, 2.0**-20) * (1 + {large("block")})
return own + noise.enter(Approximate(4.0, 1e-3)).draw(bound * 5, grid)
"""
    steps = STEPS.format(body=body.strip().replace("\n", "\n        "))
    path = broken("DPSGD", 'release = Release("gaussian", "objective")\n' + steps)
    found = failed(short_audit(path))["coupling"]
    assert found.startswith("The grid of the noise depends on the data: in round 1")


MEASURED = """
variables = {"norm": ("1", "norm of a clean gradient")}

def measure(self, t, state, federation):
    (block,) = federation.blocks
    at = np.repeat(state.w[None], len(block.parts.n_samples), axis=0)
    gradient = block.parts.gradient(at, mean_over=block.parts.n_samples).value
    return {"norm": np.linalg.norm(gradient, axis=(2, 3)).mean(axis=0)}
"""
VIOLATED = """
def violation(self, state, federation):
    return sum(block.parts.losses(state.w[None]).sum(axis=0) for block in federation.blocks)
"""


EVALUATED = """
from admmbench.api import PrivacyFacts
privacy_facts = PrivacyFacts(sums_only=True, record_alone="", evaluated=("norm",))
"""


def test_what_is_measured_follows_from_releases_or_is_said_to_be_evaluated(broken):
    found = failed(short_audit(broken("DPSGD", MEASURED)))["coupling"]
    assert "measured norm of round 1 tells the data sets apart" in found
    assert short_audit(broken("DPSGD", EVALUATED + MEASURED)).passed
    found = failed(short_audit(broken("DPSGD", VIOLATED)))["coupling"]
    assert "measured consensus_violation of round 1 tells the data sets apart" in found


TAKEN = """
def round(self, t, state, federation):
    sent = super(Broken, self).round(t, state, federation)
    course = federation.observers[0].memory
    {body}
"""


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("return Messages(sent.down, (*sent.up, course.drawn))", "message 1"),
        ("state.w = state.w + 1e-6 * course.optimum; return sent", "w"),
    ],
)
def test_what_is_measured_for_a_theorem_may_not_leave(broken, body, what):
    given = {
        "params": {"average": "theorem4", "proximity": "strong"},
        "problem": {
            "loss": "logistic",
            "strength": 0.1,
            "average": "records",
            "feasible": {"ball": 0.3},
        },
        "dtype": "float64",
    }
    path = broken("ObjP", TAKEN.format(body=body))
    found = failed(short_audit(path, TWO, **given))["coupling"]
    assert f"Data leave without noise: {what} of round 1 tells the data sets apart" in found


@pytest.mark.parametrize("number", ["math.nan", "-1.0"])
def test_a_plan_without_a_number(broken, number):
    body = f"def cost(self, *given): return Pure({number})"
    path = broken("DPSGD", body.replace("math", "np"))
    found = failed(short_audit(path))["likelihood"]
    assert found.startswith("Round 1 is stated to cost an epsilon of inf, the ledger was told")


def test_noise_that_a_plug_in_enters_itself_is_attacked(broken):
    body = """
release = Release("gaussian", "objective")
""" + STEPS.format(
        body="release = noise.enter(Approximate(0.01, 1e-9))\n"
        "        return own + release.draw(bound * 5, np.full_like(bound, 2.0**-20))"
    )
    found = failed(short_audit(broken("DPSGD", body)))["likelihood"]
    assert "of what the ledger was told" in found
    fair = body.replace("0.01, 1e-9", "4.0, 1e-3")
    assert "shifts" not in failed(short_audit(broken("DPSGD", fair)))["likelihood"]


def test_sensitivities_are_numbers(broken):
    for wrong in ("np.nan", "-1"):
        path = broken("DPSGD", STEPS.format(body=f"return own + gaussian({wrong})"))
        with pytest.raises(
            AlgorithmError, match=r"sensitivity is .*; expected a number, 0 or above"
        ):
            short_audit(path)
    nothing = broken("DPSGD", STEPS.format(body="return own + gaussian(0)"))
    assert "shifts by inf" in failed(short_audit(nothing))["likelihood"]


def test_rounds_are_chosen_from_the_whole_run_and_said():
    found = short_audit("dpsgd", rounds=40)
    first, middle, last = found.chosen
    assert first == 1 < middle < 40 == last
    assert words().summary(found) == (
        f"5 checks hold. Attacked: 3 of 40 rounds (1, {middle}, 40). Compared between the data sets: 40 of 40 rounds."
    )
    others = {short_audit("dpsgd", rounds=40, seeds=[k]).chosen for k in range(3)}
    assert len(others) > 1
    long = make_spec("dpsgd", rounds=1000)
    assert len(set(auditor.choose_rounds(long, 100))) == 100
    assert {1, 1000} <= set(auditor.choose_rounds(long, 100))
    assert auditor.choose_rounds(long, 1) == (1,)


def test_what_an_attack_can_show_is_said_beside_what_it_shows():
    found, longer = (
        short_audit(
            "objp", settings=AuditSettings(rounds=1, repeats=n, canaries=["worst"]), epsilon=0.1
        )
        for n in (24, 96)
    )
    assert found.epsilon_power is not None
    assert longer.epsilon_power is not None
    assert found.epsilon_lower == 0 < found.epsilon_power < 2
    (sentence,) = (words().sentence(each) for each in found.findings if each.level == "lower bound")
    assert f"without an error it would show {found.epsilon_power:.3f}" in sentence
    assert longer.epsilon_power > found.epsilon_power
