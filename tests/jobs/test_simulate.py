"""The public call: what it accepts, what it promises."""

import doctest
import json
import math
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris

from admmbench import load_dataset, simulate
from admmbench.contracts.made_up_data import make_dataset
from admmbench.datasets import find_module
from admmbench.jobs.simulate import _warn_once
from admmbench.privacy import Gaussian, Laplace, Ledger
from admmbench.spec.guarantees import guarantee
from admmbench.spec.run import RunSpec
from tests.plugins import write_method


def test_the_example_of_the_docstring():
    (example,) = doctest.DocTestFinder(recurse=False).find(simulate, "simulate", globs={})
    assert doctest.DocTestRunner().run(example).failed == 0
    assert len(example.examples) == 3


def test_the_example_of_the_documentation():
    trace = simulate(
        dataset="digits",
        algorithm="objp",
        params={"local_updates": 1},
        variant="paper",
        problem=None,
        agents=5,
        epsilon=1.0,
        delta=1e-6,
        sensitivity="local",
        rounds=40,
        evaluate_every=10,
        seeds=range(3),
        threads=2,
        dtype="float32",
    )
    assert dict(trace.sizes) == {"seed": 3, "round": 5, "record": 360, "false_alarms": 21}
    measured = "test_error test_loss train_loss noise_magnitude consensus_violation"
    for name in [*measured.split(), "epsilon_total", "floats_sent", "seconds", "status"]:
        assert name in trace
    assert trace.seconds.attrs["units"] == "s"
    assert list(trace.status.values) == [0, 0, 0]


def test_loaded_data_serve_as_well_as_names():
    first, second = (
        simulate(dataset, "iadmm", rounds=3, evaluate_every=3)
        for dataset in ("digits", load_dataset("digits"))
    )
    np.testing.assert_array_equal(first.test_loss, second.test_loss)


def test_budget_of_each_round_and_local_update_is_composed():
    one, many = (
        simulate(
            make_dataset(),
            "objp",
            {"local_updates": updates},
            agents=2,
            epsilon=0.01,
            rounds=10,
            evaluate_every=5,
        )
        for updates in (1, 3)
    )
    assert one.epsilon_claimed.values == pytest.approx([0, 0.05, 0.1])
    # 14 entries, as a record of seven features with two wrong classes has them.
    for trace, releases in ((one, 10), (many, 30)):
        ledger = Ledger()
        ledger.add(Laplace(0.01, 0.01 / 14**0.5, 0.01 / 14), releases)
        assert trace.epsilon_composed[-1] == pytest.approx(ledger.epsilon(1e-6, "rdp"))
    start, middle, end = one.epsilon_composed.values
    assert 0 == start < middle < end < many.epsilon_composed[-1]


def test_provenance_says_what_was_run():
    attrs = simulate(make_dataset(), "objp", {"a": 2}, agents=2, epsilon=math.inf, rounds=1).attrs
    params = json.loads(attrs["params"])
    assert params["a"] == 2
    assert params["local_updates"] == 1  # defaults are spelt out
    # beta = 1e-6 of the papers weighs ||W||^2.
    assert json.loads(attrs["problem"])["strength"] == 2e-6
    assert attrs["metric"] == "test_error"
    assert json.loads(attrs["versions"])["numpy"] == np.__version__
    assert attrs["n_train"] == 60


def test_all_runs_diverging_ends_early(monkeypatch):
    from admmbench.privacy import Noise

    usual = Noise._draw

    def broken(self, law, scale, *rest):
        return usual(self, law, scale * np.nan, *rest)

    monkeypatch.setattr(Noise, "_draw", broken)
    seen = []
    trace = simulate(
        make_dataset(),
        "objp",
        agents=2,
        epsilon=1,
        rounds=50,
        evaluate_every=5,
        seeds=1,
        progress=lambda done, total: seen.append(done),
    )
    assert list(trace.status.values) == [1]
    assert len(seen) < 50


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("return state.w", r"Odd\.round, round 1: returned ndarray; return Messages"),
        ("state.w = state.w[0]; return sent", r"w of the state has shape \(10, 64\).*S = 3 seeds"),
        ("state.w = state.w[:1]; return sent", r"w of the state has shape \(1, 10, 64\)"),
        (
            "return type(sent)(sent.down, up=(state.w,))",
            r"round 1: up has an array of shape \(3, 10, 64\); .*with P = 2 agents and S = 3 seeds",
        ),
        ("return type(sent)((state.z,), sent.up)", r"down has an array of shape \(2, 3, 10, 64\)"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_after_the_round(tmp_path, last, message):
    plugin = write_method(
        tmp_path / "odd.py",
        f"""
        def round(self, t, state, federation):
            sent = super().round(t, state, federation)
            {last}
        """,
    )
    with pytest.raises(ValueError, match=message):
        simulate("digits", plugin, agents=2, epsilon=1, rounds=2, seeds=3)


def test_loaded_data_keep_their_default_problem():
    """Data of two classes may ask for softmax, and do when they were loaded too."""
    data = replace(make_dataset(n_classes=2), default_problem="logistic")
    trace = simulate(data, "objp", agents=2, rounds=3, evaluate_every=3)
    same = simulate(data, "objp", problem="logistic", agents=2, rounds=3, evaluate_every=3)
    other = simulate(data, "objp", problem="softmax", agents=2, rounds=3, evaluate_every=3)
    np.testing.assert_array_equal(trace.train_loss, same.train_loss)
    assert (trace.train_loss != other.train_loss).all()
    assert json.loads(trace.attrs["problem"])["loss"] == "logistic"


NOISY = ["objp", "objt", "outp", "dp_admm", "dpsgd", "pvp", "dvp", "dp_admm_sharing"]
NOISY += ["dp_fedavg", "dp_scaffold", "fed_plt", "private_admm", "nbafl", "iceadmm", "amp"]
NOISY += ["accelerated_dpsgd", "localized_dpsgd"]


def total(name, sensitivity, **given):
    columns = {"scheme": "columns", "blocks": [3, 4]} if name.endswith("sharing") else 2
    data = replace(make_dataset(n_classes=2), default_problem="logistic")
    shared = {"epsilon": 0.5, "sensitivity": sensitivity, "rounds": 1}
    trace = simulate(data, name, agents=columns, **{**shared, **given})
    budgets = [each for each in trace if str(each).startswith("epsilon")]
    assert {"epsilon_total", "epsilon_composed", "epsilon_moments"} <= {*budgets}
    assert len({trace[each].attrs["unit_of_privacy"] for each in budgets}) == 1
    return trace.epsilon_total


@pytest.mark.parametrize("name", NOISY)
def test_the_total_says_what_it_is_worth_and_between_which_data_sets(name):
    local, worst = (total(name, sensitivity) for sensitivity in ("local", "global"))
    sharing = name == "dp_admm_sharing"
    unit = "column" if sharing else "record"
    for found in (local, worst):
        assert found.attrs["relation"] == ("replace" if sharing else "zero_out")
        assert found.attrs["unit_of_privacy"] == unit
        assert found.attrs["threat_model"] == "agents"
        assert math.isfinite(found[-1]) == (found.attrs["guarantee"] != "none")
    assert local.attrs["guarantee"] == "none"
    if name == "dp_admm_sharing":
        assert worst.attrs["guarantee"] == "none"
        assert local.attrs["conditions"] == "lemma_1"
        assert worst.attrs == local.attrs
    else:
        assert worst.attrs["guarantee"] == "conditional"
        assumed = "exact_solutions" if name == "dvp" else "stated_domain"
        assert worst.attrs["conditions"] == assumed
        assert local.attrs["conditions"] == "local_sensitivity"
    replaced = total(name, "global", privacy={"relation": "replace"})
    assert replaced.attrs["relation"] == "replace"
    assert replaced.attrs["unit_of_privacy"] == unit


@pytest.mark.parametrize("name", ["iadmm", "admm", "centralized", "admm_sharing"])
@pytest.mark.parametrize("sensitivity", ["local", "global"])
def test_what_sends_no_noise_guarantees_nothing(name, sensitivity):
    found = total(name, sensitivity)
    assert found.attrs["guarantee"] == "none"
    assert found.attrs["conditions"] == "no_noise"
    assert found.attrs["unit_of_privacy"] == "none"
    assert math.isinf(found[-1])


LOSS = """
import numpy as np

from admmbench.problems.loss import BinaryLoss
from admmbench.validation import parameters


@parameters
class Mine(BinaryLoss):
    derivative_bound = 1.0
    curvature_bound = 0.25

    scale: float = 1.0

    def value(self, u, y):
        return self.scale * np.logaddexp(0, -y * u)

    def derivative(self, u, y):
        return self.scale * -y / (1 + np.exp(y * u))

    def curvature(self, u, y):
        return self.scale / (2 + 2 * np.cosh(u))
"""


@pytest.fixture
def loss(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(LOSS)
    return str(path)


@pytest.mark.parametrize("agents", [3, {"scheme": "columns", "blocks": [3, 4]}])
def test_a_loss_of_a_file_serves_as_a_built_in_one(loss, agents):
    data = make_dataset(n_classes=2)
    name = "objp" if agents == 3 else "admm_sharing"
    shared = {"agents": agents, "epsilon": 1, "rounds": 4, "dtype": "float64"}
    mine = simulate(data, name, problem={"loss": loss, "strength": 0.1}, **shared)
    built_in = {"loss": "logistic", "strength": 0.1}
    if agents == 3:  # a loss states its conventions; a plug-in has the frame's
        built_in |= {"per": "total", "average": "records", "records": {}}
    theirs = simulate(data, name, problem=built_in, **shared)
    for variable in ("train_loss", "test_loss", "test_error"):
        np.testing.assert_allclose(mine[variable], theirs[variable], rtol=1e-9)
    assert json.loads(mine.attrs["problem"])["loss"] == {"name": loss, "scale": 1.0}


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("name", "params"), [("objp", {}), ("objp", {"local_updates": 3}), ("objt", {})]
)
def test_gaussian_noise_is_an_option_of_objective_perturbation(name, params, noise):
    """Its scale is that of the bound in l2, and both meet the same total.

    The mean magnitude of Laplace noise is its scale: the sensitivity over the budget, averaged over agents.
    """
    trace = simulate(
        make_dataset(),
        name,
        params,
        agents=2,
        sensitivity="global",
        privacy={"total": 3.0, "noise": noise},
        rounds=4,
        evaluate_every=1,
        seeds=20,
    )
    assert 0.99 * 3 <= trace.epsilon_total[-1] <= 3
    trace = trace.isel(round=slice(1, None))
    budget = float(trace.epsilon_claimed[0])
    data = make_dataset()
    bound = max(map(abs, data.domain)) * data.n_features / data.n_train
    if noise == "laplace":
        size = 2 * bound / budget
    else:
        l2 = math.sqrt(2) * bound / math.sqrt(data.n_features)
        size = math.sqrt(2 / math.pi) * l2 * math.sqrt(2 * math.log(1.25e6)) / budget
    assert float(trace.noise_magnitude.mean()) == pytest.approx(size, rel=0.03)


def test_the_relation_changes_totals_and_nothing_else():
    one, two = (
        simulate("digits", "outp", epsilon=1, privacy={"relation": each}, rounds=10, seeds=2)
        for each in ("zero_out", "replace")
    )
    for name in ("test_error", "noise_magnitude", "train_loss"):
        np.testing.assert_array_equal(one[name], two[name])
    ledgers = [Ledger(), Ledger()]
    for times, ledger in zip((2, 1), ledgers, strict=True):
        ledger.add(Gaussian(times * math.sqrt(2 * math.log(1.25e6))), 10)
    expected = [ledger.epsilon(1e-6) for ledger in ledgers]
    found = [float(trace.epsilon_composed[-1]) for trace in (one, two)]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("sensitivity", ["local", "global"])
def test_features_outside_the_domain_are_refused(sensitivity):
    """Otherwise the noise would be too small for the records, and the total called proved."""
    made = make_dataset()
    scaled = replace(made, X_train=10 * made.X_train)
    with pytest.raises(
        ValueError,
        match=r"features in .* the domain: widen it to what any record may have, or scale",
    ):
        simulate(scaled, "objp", epsilon=1, sensitivity=sensitivity, agents=2, rounds=1)
    wider = replace(scaled, domain=(10 * made.domain[0], 10 * made.domain[1]))
    given = {"epsilon": 1, "sensitivity": "global", "agents": 2, "rounds": 1, "seeds": 20}
    noise = [
        float(simulate(data, "objp", **given).noise_magnitude.mean()) for data in (made, wider)
    ]
    assert noise[1] / noise[0] == pytest.approx(10, rel=0.1)


def test_what_plug_ins_state_is_not_proved(tmp_path):
    given = {"epsilon": 1, "sensitivity": "global", "agents": 2, "rounds": 1, "seeds": 1}
    own, foreign = (
        simulate("digits", name, **given).epsilon_total
        for name in ("objp", write_method(tmp_path / "mine.py"))
    )
    assert (own.attrs["guarantee"], foreign.attrs["guarantee"]) == ("proved", "conditional")
    assert foreign.attrs["conditions"] == "sensitivities_of_plugin"
    np.testing.assert_array_equal(own, foreign)


def test_a_delta_above_one_over_n_is_warned_about(caplog):
    given = {"agents": 3, "rounds": 1, "seeds": 1, "sensitivity": "global"}
    data, words = (
        make_dataset(50),
        "delta = 0.021 is above 1/n = 0.02 of the n = 50 training records",
    )
    trace = simulate(data, "objp", epsilon=1, delta=0.021, **given)
    for name in ("epsilon_total", "epsilon_composed"):
        assert trace[name].attrs["warning"] == "large_delta"
    (record,) = caplog.records
    assert record.message.startswith(words)
    for epsilon, delta in ((1, 0.02), (math.inf, 0.021)):
        trace = simulate(data, "objp", epsilon=epsilon, delta=delta, **given)
        assert "warning" not in trace.epsilon_total.attrs
    assert len(caplog.records) == 1


DATA = """
from admmbench.datasets.digits import Digits

class Mine(Digits):
    name = "mine"
"""


def test_a_total_rests_on_a_domain_that_an_author_states(tmp_path):
    (tmp_path / "mine.py").write_text(DATA)
    known = load_dataset("digits")
    wider = replace(known, domain=(0.0, 2.0))
    free = {"problem": {"loss": "softmax", "records": {"max_l2_norm": 1}}}
    for data, kind, given in (
        ("digits", "proved", {}),
        (known, "proved", {}),
        (wider, "conditional", {}),
        (str(tmp_path / "mine.py"), "conditional", {}),
        (replace(known, domain=(-math.inf, math.inf)), "proved", free),
    ):
        found = RunSpec(dataset=data, algorithm="objp", epsilon=1, sensitivity="global", **given)
        assert guarantee(found).kind == kind
        assert (
            "in the domain that the author of the data set states" in guarantee(found).conditions
        ) == (kind != "proved")


OWN_COST = """
import numpy as np
from admmbench.api import *
from admmbench.algorithms.dpsgd import DPSGD

@parameters
class Own(DPSGD):
    '''Noise that the ledger is told a hundredth of, or of which it is told too little.'''
    release = Release({release})

    def noisy_mean(self, value, sensitivity, federation, sampling=1.0):
        def noisy(block):
            noise, own = block.noise, value(block)
            std = np.full(own.shape[:2], {std})
            {draw}
            return own + drawn
        sent = np.concatenate(federation.each(noisy))
        return self.mean(sent, federation), sent
"""
BESIDE = """release = noise.enter(Approximate(0.01, 1e-9))
            drawn = release.draw(std, np.full_like(std, 2.0**-20))"""


def own_cost(folder, release, draw, std=1.0):
    file = folder / "own.py"
    file.write_text(OWN_COST.format(release=release, draw=draw, std=std))
    given = {"sensitivity": "global", "agents": 2, "rounds": 8, "seeds": 1}
    return partial(simulate, "digits", str(file), **given)


def test_what_a_plug_in_adds_beside_the_ledger_guarantees_nothing(tmp_path):
    run = own_cost(tmp_path, "'gaussian', 'objective'", BESIDE)
    found = run(epsilon=1).epsilon_total
    assert found.attrs["guarantee"] == "none"
    assert found.attrs["conditions"] == "noise_of_plugin"
    assert math.isinf(found[-1])
    with pytest.raises(ValueError, match="guarantees nothing: the method is a plug-in that enters"):
        run(privacy={"total": 1})
    with pytest.raises(RuntimeError, match="declare a Release with the value objective"):
        own_cost(tmp_path, "'gaussian', 'gradient'", BESIDE)(epsilon=1)
    spherical = own_cost(tmp_path, "'spherical', 'gradient'", "drawn = noise.spherical(std)")
    found = spherical(epsilon=1).epsilon_total
    assert found.attrs["guarantee"] == "none"
    assert found.attrs["conditions"] == "noise_of_plugin"


def test_a_run_that_costs_more_than_its_total_ends_with_both(tmp_path):
    draw = "drawn = noise.gaussian(sensitivity(block.parts), std=std)"
    run = own_cost(tmp_path, "'gaussian', 'gradient'", draw, std=0.01)
    with pytest.raises(ValueError, match=r"asked for 2, but after round 4 the ledger has \d+"):
        run(privacy={"total": 2}, evaluate_every=4)
    with pytest.raises(ValueError, match=r"privacy.mu: asked for 0.5, but the ledger has \d+"):
        run(privacy={"mu": 0.5}, evaluate_every=4)
    assert run(epsilon=1).epsilon_total[-1] > 2


def test_who_sees_a_secure_sum_is_said():
    found = total("dpsgd", "global", privacy={"trust": "secure_sum"})
    assert found.attrs["threat_model"] == "secure_sum"


def test_a_model_is_returned_where_it_is_asked_for_and_predicts_as_measured():
    data = load_iris(as_frame=True)
    table = find_module("table").from_arrays((data.data, data.target))
    arguments = {"agents": 3, "rounds": 4, "seeds": [2, 5]}
    trace = simulate(table, "objp", keep_model=True, **arguments)
    assert "model" not in simulate(table, "objp", **arguments)
    model = trace["model"]
    assert model.dims == ("seed", "class", "feature")
    assert model["seed"].values.tolist() == [2, 5]
    assert model["class"].values.tolist() == ["0", "1", "2"]
    assert model["feature"].values.tolist() == [*data.data.columns, "intercept"]
    scores = np.einsum("skj,ij->ski", model, table.X_test)
    errors = (scores.argmax(axis=1) != table.y_test).mean(axis=1)
    np.testing.assert_allclose(errors, trace["test_error"].isel(round=-1))


def test_models_of_seeds_that_run_apart_or_agree_are_joined():
    """Of uneven shares each seed is a run; of a method without random numbers one seed stands for all."""
    uneven = {"scheme": "quantity", "agents": 3, "alpha": 1.0}
    apart = simulate("digits", "objp", agents=uneven, rounds=2, seeds=2, keep_model=True)
    for seed in range(2):
        alone = simulate("digits", "objp", agents=uneven, rounds=2, seeds=[seed], keep_model=True)
        np.testing.assert_array_equal(apart["model"].sel(seed=[seed]), alone["model"])
    same = simulate("digits", "centralized", agents=2, rounds=1, seeds=2, keep_model=True)["model"]
    np.testing.assert_array_equal(same[0], same[1])
    assert np.isfinite(same).all()


def test_a_model_of_two_classes_predicts_the_second_and_of_numbers_has_no_class():
    data = replace(make_dataset(n_classes=2), default_problem="logistic")
    model = simulate(data, "objp", agents=2, rounds=2, seeds=1, keep_model=True)["model"]
    assert model["class"].values.tolist() == [data.class_names[1]]
    assert model["feature"].values.tolist() == [f"x{number}" for number in range(data.n_features)]
    model = simulate("diabetes", "objp", agents=2, rounds=2, seeds=1, keep_model=True)["model"]
    assert model.dims == ("seed", "feature")


def test_a_data_frame_has_a_row_for_each_seed_and_round():
    trace = simulate(
        "digits", "objp", agents=2, rounds=4, evaluate_every=2, seeds=2, keep_model=True
    )
    frame = trace.to_dataframe()
    assert frame.index.names == ["seed", "round"]
    assert len(frame) == 2 * 3
    assert not {"mistakes", "model"} & set(frame)
    assert frame.loc[(1, 4), "test_error"] == trace.test_error.sel(seed=1, round=4)
    assert len(trace[["model"]].to_dataframe()) == trace["model"].size
    assert len(trace.isel(seed=[0]).to_dataframe()) == 3


def test_noise_without_a_guarantee_is_said_once_with_the_setting_that_gives_one():
    run = partial(simulate, "digits", "objp", agents=2, rounds=1, seeds=1)
    _warn_once.cache_clear()
    setting = r'no privacy is guaranteed.*sensitivity="global"'
    with pytest.warns(UserWarning, match=setting) as seen:
        run(epsilon=1)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(epsilon=2)
        _warn_once.cache_clear()
        run()
        run(epsilon=1, sensitivity="global")
        run(privacy={"total": 1}, sensitivity="global")


def test_a_loss_that_is_not_stated_fits_the_method_and_the_noise(caplog):
    run = partial(simulate, "diabetes", agents=2, rounds=1, seeds=1)

    def loss(trace):
        stated = json.loads(trace.attrs["problem"])["loss"]
        return stated if isinstance(stated, str) else stated["name"]

    assert loss(run("objp")) == "squared"
    assert not caplog.messages
    for changes in ({"algorithm": "dp_gd"}, {"algorithm": "objp", "sensitivity": "global"}):
        caplog.clear()
        assert loss(run(**changes)) == "huber"
        (message,) = caplog.messages
        assert "the loss is huber" in message
    with pytest.raises(ValueError, match="dpsgd needs a loss whose derivative is bounded"):
        run("dp_gd", problem="squared")
    with pytest.raises(ValueError, match="did you mean 'dpsgd'"):
        run("dpsdg")
