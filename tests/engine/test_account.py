"""Accounts without a run, against runs, and against dp-accounting."""

import itertools
import json
import re

import dp_accounting as dp
import pytest
from dp_accounting.gaussian_mechanism import get_epsilon_gaussian

from admmbench import load_dataset, simulate
from admmbench.cli import main
from admmbench.contracts.made_up_data import make_dataset
from admmbench.engine.account import Mechanism, of_run
from admmbench.privacy import ORDERS, Composition, Gaussian, Laplace
from admmbench.spec.run import RunSpec

RUN = {"dataset": "digits", "agents": 3, "sensitivity": "global", "rounds": 4, "seeds": 1}


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [
        ("objp", {"epsilon": 0.5, "params": {"local_updates": 3}}),
        ("outp", {"privacy": {"total": 2, "relation": "replace"}}),
        ("dpsgd", {"privacy": {"total": 1}, "params": {"sampling": 0.1}}),
    ],
)
def test_a_run_has_the_totals_of_its_account(algorithm, more):
    trace = simulate(algorithm=algorithm, **RUN, **more)
    spec = RunSpec(algorithm=algorithm, **RUN, **more)
    account = of_run(spec, load_dataset("digits"))
    assert account.totals["rdp"] == pytest.approx(
        trace.epsilon_composed.isel(round=-1).item(), rel=1e-9
    )
    gaussian = account.curve.gaussian
    assert (trace.mu.item(), trace.regret.item()) == pytest.approx(gaussian, rel=1e-9)
    assert trace.hits.values == pytest.approx(account.curve.power(trace.false_alarms), rel=1e-9)


GRID = [
    ("objp", {"privacy": {"noise": "gaussian"}}),
    ("objp", {"privacy": {"noise": "gaussian"}, "params": {"local_updates": 3}}),
    ("outp", {}),
    ("dpsgd", {"privacy": {"trust": "secure_sum"}}),
    ("dpsgd", {"noise_ratio": 0.6}),
    ("dp_fedavg", {"params": {"clip": 1.0, "local_updates": 2}}),
]


@pytest.mark.parametrize(("algorithm", "more"), GRID)
def test_noise_for_a_mu_gives_the_totals_of_its_normal_curve(algorithm, more):
    """Formulas of dp-accounting, on 216 settings in all; one number is enough where all noise is normal."""
    data = load_dataset("digits")
    for mu, rounds, relation in itertools.product(
        (0.05, 0.2, 0.5, 1.0, 2.0, 6.0), (2, 5, 40), ("zero_out", "replace")
    ):
        privacy = {**more.get("privacy", {}), "mu": mu, "relation": relation}
        settings = {**RUN, **more, "algorithm": algorithm, "rounds": rounds, "privacy": privacy}
        account = of_run(RunSpec(**settings), data)
        found = account.curve.gaussian
        assert 0.99 * mu <= found.mu <= mu
        assert found.regret == 0
        expected = get_epsilon_gaussian(1 / found.mu, account.delta)
        assert account.total == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [("objp", {}), ("dpsgd", {"params": {"sampling": 0.1}}), ("dp_fedavg", {"noise_ratio": 0.5})],
)
def test_a_run_has_the_mu_that_it_states(algorithm, more):
    privacy = {"mu": 0.7, "delta": 1e-5}
    trace = simulate(algorithm=algorithm, **RUN, **more, privacy=privacy)
    assert 0.99 * 0.7 <= trace.mu.item() <= 0.7
    spec = RunSpec(algorithm=algorithm, **RUN, **more, privacy=privacy)
    assert (spec.budget_key, spec.stated_budget) == ("privacy.mu", 0.7)
    assert spec.at(0.3).privacy.mu == 0.3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"privacy": {"mu": -1}}, "privacy.mu: Input should be greater than 0"),
        ({"privacy": {"mu": 1, "total": 2}}, "privacy.mu: a total or an epsilon is given too"),
        ({"privacy": {"mu": 1}, "epsilon": 1}, "privacy.mu: a total or an epsilon is given too"),
        ({"privacy": {"mu": 1}, "algorithm": "iadmm"}, "privacy.mu: iadmm sends everything"),
        ({"privacy": {"mu": 1}, "sensitivity": "local"}, "privacy.mu: needs sensitivity: global"),
        ({"privacy": {"mu": 1}, "algorithm": "amp", "rounds": 1}, "mu: no trade-off curve is"),
        ({"privacy": {"mu": 50}}, "mu: no noise gives a mu of 50"),
        (
            {"privacy": {"mu": 1, "covers": "every_trial", "trials": 9}},
            "privacy.covers: is the composition scope of privacy.total",
        ),
    ],
)
def test_a_run_refuses_a_mu_that_it_cannot_have(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        simulate(**{**RUN, "algorithm": "objp", **changes})


def test_of_seeds_that_share_out_unequally_the_one_counts_that_pays_most():
    """The authors' noise of OutP protects an agent less, the fewer records it has."""
    data = make_dataset(60)
    given = {
        **RUN,
        "dataset": data,
        "algorithm": "outp",
        "variant": "reference",
        "agents": {"scheme": "quantity", "agents": 3, "alpha": 0.5},
        "epsilon": 1.0,
    }
    alone = [
        of_run(RunSpec(**{**given, "seeds": (seed,)}), data).totals["rdp"] for seed in (3, 4, 5)
    ]
    together = of_run(RunSpec(**{**given, "seeds": (3, 4, 5)}), data).totals["rdp"]
    assert min(alone) < together == max(alone)


def test_mechanisms_have_the_totals_of_their_releases():
    found = Mechanism(name="gaussian", multiplier=4, rounds=200, sampling=0.05).account()
    assert found.ledger.composition() == Composition([(Gaussian(4, 0.05), 200)])
    found = Mechanism(name="laplace", epsilon=0.3, rounds=50, delta=1e-5).account()
    assert found.ledger.composition() == Composition([(Laplace(0.3, 0.3, 0.3), 50)])
    assert found.total == found.totals["pld"] < 0.97 * found.totals["rdp"]


@pytest.mark.parametrize("name", ["gaussian", "laplace", "pure"])
def test_noise_for_a_total_has_it(name):
    """What is solved for, stated, costs the total."""
    account = Mechanism(name=name, total=1.5, rounds=30).account()
    key, number = account.one.split()
    again = Mechanism(name=name, rounds=30, **{key: float(number)}).account()
    assert 0.985 < again.total / 1.5 < 1.005
    assert account.total <= 1.5


def test_the_command_says_budget_and_totals(capsys):
    assert main(["account", "objp", "--rounds", "4", "--epsilon", "1", "--dataset", "digits"]) == 0
    said = capsys.readouterr().out
    assert "objp on digits: 4 rounds, epsilon 1 each; at delta 1e-06" in said
    assert "no total of such releases" in said  # by the accountant of huang2019
    total = re.search(r"^ total +(\S+) +the least that is proved", said, re.MULTILINE)
    others = re.findall(r"^ (?:rdp|pld) +(\S+)", said, re.MULTILINE)
    assert float(total[1]) == min(map(float, others))
    assert main(["account", "gaussian", "--multiplier", "30", "--rounds", "500"]) == 0
    assert "500 releases, multiplier 30 each" in capsys.readouterr().out


def test_a_search_costs_more_than_a_run(capsys):
    """The numbers that the page on totals has."""
    words = ["account", "gaussian", "--total", "2", "--rounds", "100", "--delta", "1e-5"]
    assert main([*words, "--trials", "25"]) == 0
    said = capsys.readouterr().out
    assert "\n 0.01          0.0339 " in said
    assert "Gaussian differential privacy: mu 0.5007 (regret 0)" in said
    assert "13.23 if every trial is seen" in said
    assert "4.807 if the best alone is seen, of a geometric number" in said
    assert "3.942 if the best alone is seen, of a logarithmic number" in said


@pytest.mark.parametrize("covers", ["run", "every_trial", "best_trial"])
def test_the_command_solves_for_a_total_that_covers_a_search(covers, capsys):
    words = ["--total", "2", "--rounds", "100", "--delta", "1e-5", "--trials", "24"]
    assert main(["account", "gaussian", *words, "--covers", covers]) == 0
    (found,) = re.findall(r"multiplier (\S+) each", capsys.readouterr().out)
    run = dp.SelfComposedDpEvent(dp.GaussianDpEvent(float(found)), 100)
    accountant = dp.rdp.RdpAccountant(ORDERS, dp.NeighboringRelation.REPLACE_SPECIAL)
    if covers == "best_trial":
        accountant.compose(dp.dp_event.RepeatAndSelectDpEvent(run, 24, 0.0)).compose(run)
        assert accountant.get_epsilon(1e-5) == pytest.approx(2, rel=0.01)
    else:
        runs = 25 if covers == "every_trial" else 1
        exact = dp.get_epsilon_gaussian(float(found) / (100 * runs) ** 0.5, 1e-5)
        assert exact == pytest.approx(2, rel=0.01)


def test_totals_of_methods_may_cover_a_search(capsys):
    words = ["account", "objp", "privacy={noise: gaussian}", "--dataset", "digits", "--rounds", "3"]
    covers = ["--total", "2", "--delta", "1e-5", "--covers", "every_trial", "--trials", "24"]
    assert main([*words, *covers]) == 0
    (total,) = re.findall(r"rdp +(\S+)", capsys.readouterr().out)
    assert float(total) == pytest.approx(0.341, abs=0.001)


@pytest.mark.parametrize("more", [[], ["--total", "5.572", "--covers", "every_trial"]])
def test_a_part_of_a_trial_that_is_seen_is_no_less_than_one(more, capsys):
    """A total of fewer releases than there are would be too small."""
    words = ["account", "gaussian", "--sampling", "0.5", "--rounds", "1"]
    words += more or ["--multiplier", "1"]
    said = []
    for trials in ("1.1", "1.9", "2"):
        assert main([*words, "--trials", trials]) == 0
        out = capsys.readouterr().out
        said.append(re.findall(r"(\S+) if every trial is seen|multiplier (\S+) each", out))
    assert said[0] == said[1] == said[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            # In five rounds a record takes part with a chance below delta.
            ["dpsgd", "--dataset", "digits", "--total", "1", "--rounds", "5", "--sampling", "1e-7"],
            "no noise gives a total of 1 at delta 1e-06",
        ),
        (["gaussian", "--total", "1", "--trials", "1"], "trials: "),
        (
            ["gaussian", "--total", "1", "--covers", "every_trial"],
            "covers: is the composition scope of a total",
        ),
        (["gaussian", "--epsilon", "1"], "give the multiplier of a release, or a total"),
        (["laplace"], "give the epsilon of a release, or a total"),
        (["laplace", "--epsilon", "1", "--sampling", "0.1"], "sampling: its totals are known for"),
        (["pure", "--epsilon", "-1"], "epsilon: "),
        (["objp"], "dataset: this key is missing"),
        (["objp", "--dataset", "digits", "--multiplier", "3"], "unknown key 'multiplier'"),
        (["admm", "--dataset", "digits", "--total", "1"], "sends everything without noise"),
        (["objp", "epsilon", "--dataset", "digits"], "'epsilon': expected KEY=VALUE"),
    ],
)
def test_what_cannot_be_accounted_for_is_one_line(words, message, capsys):
    assert main(["account", *words]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("words", [["gaussian"], ["laplace"], ["objp", "--dataset", "digits"]])
def test_the_command_solves_for_a_mu(words, capsys):
    assert main(["account", *words, "--mu", "0.5", "--rounds", "20", "--json"]) == 0
    assert 0.495 <= json.loads(capsys.readouterr().out)["mu"] <= 0.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["objp", "--mu", "-1", "--dataset", "digits"], "mu: Input should be greater than 0"),
        (["gaussian", "--mu", "-1"], "mu: Input should be greater than 0"),
        (["amp", "--mu", "1", "--dataset", "digits", "--rounds", "1"], "no trade-off curve is"),
        (["laplace", "--mu", "50"], "mu: no noise gives a mu of 50"),
        (["laplace", "--mu", "1", "--total", "2"], "or a total or a mu to solve for"),
        (["objp", "--mu", "1", "--total", "2", "--dataset", "digits"], "give one"),
        (["iadmm", "--mu", "1", "--dataset", "digits"], "iadmm sends everything without noise"),
    ],
)
def test_a_mu_that_cannot_be_is_refused(words, message, capsys):
    assert main(["account", *words]) == 1
    assert message in capsys.readouterr().err


def test_a_curve_that_mu_does_not_describe_is_drawn(capsys):
    assert main(["account", "laplace", "--epsilon", "1", "--rounds", "1"]) == 0
    said = capsys.readouterr().out
    assert "mu 1.031 (regret 0.037: one number does not describe the trade-off curve)" in said
    assert re.search(r"^ 0.5 +█{41}░$", said, re.MULTILINE)  # hits of 0.816, and 0.849 by mu
    assert main(["account", "laplace", "--epsilon", "0.05"]) == 0
    said = capsys.readouterr().out
    assert "mu 0.4964 (regret 7" in said
    assert "█" not in said
    assert main(["account", "amp", "--epsilon", "1", "--dataset", "digits", "--rounds", "1"]) == 0
    assert "mu: not available" in capsys.readouterr().out
