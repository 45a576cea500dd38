"""Methods as they are pass; what cannot be audited is said to be so."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from admmbench.algorithms import list_algorithms, resolve
from admmbench.algorithms.objp import ObjP
from admmbench.audit import auditor, runs
from admmbench.audit import settings as audit_settings
from admmbench.audit.attacks import look_sizes, lower_bound
from admmbench.audit.findings import Audit, Fact, Finding, Kind, fact
from admmbench.audit.levels import log_ratio
from admmbench.audit.neighbours import make_neighbours, other_records, unshuffled
from admmbench.audit.runs import run_pair
from admmbench.audit.settings import AuditSettings
from admmbench.audit.words import words
from admmbench.base.exact import UnsolvedSubproblemError
from admmbench.contracts.made_up_data import make_dataset, written_by
from admmbench.engine import rounds, threads
from admmbench.privacy import Noise
from admmbench.spec import accounting
from tests.audit.runs import SHORT, THREE, TWO, failed, make_spec, short_audit

ALL = AuditSettings(rounds=3, repeats=40)
OVER_ROWS = [name for name in list_algorithms() if "rows" in resolve(name).sharing]
NOISY = [name for name in OVER_ROWS if resolve(name).release]


def every(names):
    """Each variant of methods, with the default parameters and with each example."""
    return [
        (name, variant, params)
        for name in names
        for variant in resolve(name).variants
        for params in ({}, *resolve(name).examples)
    ]


TEMPLATE = (Path(auditor.__file__).parent / "templates/audits.jinja").read_text()
NOTHING_TO_AUDIT = {
    Kind.CONSTRAINED,
    Kind.BY_LABELS,
    Kind.NO_RELEASE,
    Kind.NO_BUDGET,
    Kind.COLUMNS_OF_OTHERS,
}
DOES_NOT_APPLY = {
    Kind.NO_NOISE,
    Kind.HIDDEN_NOISE,
    Kind.ALL_END,
    Kind.WHOLE_AGENTS,
    Kind.SAMPLES_HAVE_OTHERS,
    Kind.DIVERGES,
}
LEVELS = ["noise law", "coupling", "likelihood", "lower bound", "black box"]


def suitable(name):
    """Data for a method: two classes serve all."""
    return THREE if name in ("objp", "objt", "outp", "iceadmm") else TWO


@pytest.mark.parametrize(
    ("name", "variant", "params", "relation"),
    [(*each, relation) for each in every(NOISY) for relation in ("zero_out", "replace")],
    ids=str,
)
def test_methods_as_they_are_pass(name, variant, params, relation):
    found = short_audit(
        name,
        suitable(name),
        ALL,
        variant=variant,
        params=params,
        privacy={"relation": relation},
    )
    assert found.passed
    assert [(f.level, f.canary) for f in found.findings] == [
        (level, canary) for canary in ALL.canaries for level in LEVELS
    ]
    assert all(finding.passed for finding in found.findings)
    assert found.epsilon_claimed == found.rounds
    assert found.epsilon_lower is not None
    assert found.epsilon_ledger is not None
    assert 0 <= found.epsilon_lower <= found.epsilon_ledger < math.inf


FALLING = {"epsilon": math.inf, "privacy": {"total": 4.0}, "noise_ratio": 0.4}
EACH = AuditSettings(rounds=9, repeats=24, canaries=["worst"])


@pytest.mark.parametrize(
    ("name", "params"), [("dpsgd", {"step": "sqrt"}), ("dpsgd", {"sampling": 0.5}), ("pvp", {})]
)
def test_noise_that_falls_passes_in_every_round(name, params):
    found = short_audit(name, TWO, EACH, params=params, **FALLING)
    assert found.passed
    assert found.compared == found.rounds == 9


def test_noise_that_falls_further_than_the_ledger_says_is_found(monkeypatch):
    """In the last round: what is drawn has another factor there than what is entered and solved for."""
    entered = Noise._enter

    def late(noise, *given, **named):
        entered(noise, *given, **named)
        noise._factor *= 0.9 if noise.t == 9 else 1

    monkeypatch.setattr(Noise, "_enter", late)
    found = short_audit("dpsgd", TWO, EACH, **FALLING)
    assert "likelihood" in failed(found)


def test_another_law_passes():
    found = short_audit("objp", privacy={"noise": "gaussian"})
    assert found.passed
    assert Audit.from_dict(json.loads(json.dumps(found.to_dict()))) == found


MEANS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("objp", {"average": "theorem2", "proximity": "smooth", "local_updates": 2}, {"ball": 0.3}),
    ("objp", {"average": "theorem4", "proximity": "strong"}, {"box": 0.3}),
    ("dp_admm", {"average": "theorem4"}, {}),
    ("pvp", {"average": "before"}, {}),
]


@pytest.mark.parametrize(("name", "params", "W"), MEANS, ids=str)
def test_means_of_models_pass(name, params, W):
    """What they are worth, and both sides of a theorem, are made of the records; the totals are for the models."""
    problem = {"loss": "logistic", "strength": 0.1, "feasible": W or None}
    given = {"problem": problem | {"average": "agents" if name == "dp_admm" else "records"}}
    asked, plain = (
        short_audit(name, TWO, params=each, dtype="float64", **given)
        for each in (params, {**params, "average": None})
    )
    assert asked.complete
    assert asked.epsilon_ledger == plain.epsilon_ledger
    assert [each.level for each in asked.findings] == LEVELS


@pytest.mark.parametrize("average", ["records", "agents"])
@pytest.mark.parametrize("params", [{}, {"sampling": 0.5}], ids=str)
def test_secure_sums_pass(params, average):
    """Two of five writers have no records, and one has most."""
    data = written_by(TWO, np.repeat([0, 2, 3], [40, 15, 5]), list("abcde"))
    given = {"agents": {"scheme": "by_writer"}, "problem": {"loss": "logistic", "average": average}}
    secure = {"trust": "secure_sum"}
    found = short_audit("dpsgd", data, ALL, params=params, privacy=secure, **given)
    assert [each.passed for each in found.findings] == [True] * 15
    assert words().summary(found).startswith("15 checks hold. ")


def test_secure_sums_of_the_loudest_noise_may_be_rounded_in_another_order(monkeypatch):
    """Doubles do not have all multiples of the grid that these sums can be, and each block is summed alone."""
    monkeypatch.setattr(threads, "BLOCK_BYTES", 1)
    given = {"problem": {"loss": "logistic", "average": "agents"}, "dtype": "float64"}
    secure = {"trust": "secure_sum"}
    found = short_audit("dpsgd", TWO, agents=40, epsilon=1e-8, privacy=secure, **given)
    (coupled,) = (each for each in found.findings if each.level == "coupling")
    assert 0 < coupled.value < coupled.bound < 1e-13
    assert found.passed


@pytest.mark.parametrize(
    ("name", "changes", "comment"),
    [
        ("iadmm", {}, "iadmm declares no noisy release"),
        ("objp", {"epsilon": math.inf}, "Without a budget nothing is claimed"),
        (
            "private_vertical_sgd",
            {"problem": {"loss": "logistic"}, "agents": {"scheme": "columns", "blocks": 2}},
            "Parties hold columns",
        ),
        (
            "objp",
            {"agents": {"scheme": "stratified", "agents": 4}},
            "Records are partitioned by their labels",
        ),
    ],
)
def test_there_may_be_nothing_to_audit(name, changes, comment):
    found = short_audit(name, TWO, **changes)
    assert found.passed is None
    assert not found.findings
    assert comment in words().summary(found)
    assert Audit.from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize(("skipped", "passed"), [(0, True), (3, None)])
def test_data_with_other_records_may_have_no_solution(skipped, passed, monkeypatch):
    """Subproblems may not be solved where all features are as large as the largest."""
    usual = ObjP.round

    def picky(self, t, state, federation):
        if np.ptp(np.abs(federation.problem.X)) == 0:
            raise UnsolvedSubproblemError("a subproblem is not solved")
        return usual(self, t, state, federation)

    monkeypatch.setattr(ObjP, "round", picky)
    monkeypatch.setattr(auditor, "other_records", lambda data: [*other_records(data)][:4][skipped:])
    coupled = next(each for each in short_audit("objp").findings if each.level == "coupling")
    assert coupled.passed is passed
    assert (coupled.fact.kind == Kind.ALL_END) == (not passed)


def test_solutions_that_hide_their_noise_are_said_to_be_so():
    found = short_audit("dvp", TWO, params={"tolerance": 0.05})
    *hidden, attacked = found.findings
    (sentence,) = {words().sentence(each) for each in hidden}
    assert sentence.startswith("Subproblems are solved too loosely to show their noise (lower the")
    assert [each.passed for each in hidden] == [None] * 4
    assert attacked.passed
    assert short_audit("dvp", TWO).findings[0].passed


@pytest.mark.parametrize(("seeds", "pieces", "same"), [(7, 5, 1), (0, SHORT.repeats, 2)])
def test_pieces_of_so_many_seeds_change_nothing(monkeypatch, seeds, pieces, same):
    """Tapes that fill the memory are played seed by seed."""
    whole = short_audit("objp", epsilon=9)
    done = []
    spec = make_spec("objp", epsilon=9)
    most = seeds * SHORT.rounds * audit_settings.transcript_bytes(spec, THREE.info)
    monkeypatch.setattr(auditor, "_MOST_BYTES", most)
    parts = auditor.audit(spec, THREE, SHORT, lambda *progress: done.append(progress))
    (used,) = {each.fact.values["runs"] for each in whole.findings if each.rates}
    assert used in look_sizes(SHORT.repeats)
    assert done == [(k, pieces) for k in range(1, pieces - (used < SHORT.repeats) * 2 + 1)][:used]
    assert parts.epsilon_lower == pytest.approx(whole.epsilon_lower)
    assert parts.findings[same:] == whole.findings[same:]


def test_fewer_rounds_are_audited_if_those_of_one_seed_fill_the_memory(monkeypatch):
    assert short_audit("objp").rounds == SHORT.rounds > 1
    monkeypatch.setattr(audit_settings, "_MOST_OF_A_SEED", 1)
    assert short_audit("objp").rounds == 1


def test_blocks_of_agents_change_nothing(monkeypatch):
    together = short_audit("outp", agents=5)
    monkeypatch.setattr(threads, "BLOCK_BYTES", 1)
    alone = short_audit("outp", agents=5)
    assert alone.passed
    assert alone.epsilon_ledger == together.epsilon_ledger
    for one, other in zip(alone.findings[2:], together.findings[2:], strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9)


@pytest.mark.parametrize("trust", ["agents", "secure_sum"])
def test_an_absent_agent_leaves_the_blocks_of_agents_as_they_are(monkeypatch, trust):
    """Its neighbour has fewer records, and blocks have more agents where these have less work."""
    given = {
        "problem": {"loss": "softmax", "average": "agents"},
        "privacy": {"unit": "agent", "trust": trust},
    }
    whole, less = (
        rounds.bind(make_spec("dpsgd", **given), THREE, absent=absent) for absent in (None, 3)
    )
    monkeypatch.setattr(threads, "_BLOCK_WORK", 2 * less.work_per_agent)
    assert [threads.block_size(each) for each in (whole, less)] == [1, 2]
    assert short_audit("dpsgd", **given).complete


def test_a_stated_total_is_that_of_all_rounds():
    found = short_audit(
        "objp", epsilon=math.inf, privacy={"total": 2.0}, rounds=3, evaluate_every=1
    )
    assert found.passed
    assert found.epsilon_ledger == pytest.approx(1.996, rel=2e-3)


class Forgetful(dict):
    """Budgets that are solved for in every run."""

    def __setitem__(self, *_):
        pass


def test_a_total_is_solved_for_once_and_what_is_found_stays(monkeypatch):
    calls, calibrate = [], accounting.calibrate

    def counted(*given):
        calls.append(given)
        return calibrate(*given)

    monkeypatch.setattr(accounting, "calibrate", counted)
    changes = {"epsilon": math.inf, "privacy": {"total": 2, "relation": "replace"}}
    once = short_audit("outp", **changes)
    assert len(calls) == 2  # for each relation
    monkeypatch.setattr(runs, "SOLVED", Forgetful())
    assert short_audit("outp", **changes) == once
    assert len(calls) > 20


def test_attacks_stop_where_more_runs_show_nothing_or_the_bound_is_near():
    """So they do after the first look without a difference, and at once where noise is missing."""
    settings = AuditSettings(rounds=1, repeats=100, canaries=["worst"])
    for epsilon, least in ((1e-3, 25), (30.0, 25)):
        found = short_audit("objp", settings=settings, epsilon=epsilon)
        assert found.passed
        (used,) = {each.fact.values["runs"] for each in found.findings if each.rates}
        assert used == (least if epsilon < 1 else 100)


def test_audits_of_earlier_versions_are_read():
    """Their sentences are shown as they are."""
    finding = {"level": "coupling", "canary": "worst", "passed": False, "value": 1.0, "bound": 0.0}
    former = {"findings": [finding | {"sentence": "Data leave."}], "rounds": 2, "comment": ""}
    found = Audit.from_dict(former)
    assert found.reason is None
    assert words().sentence(found.findings[0]) == "Data leave."
    assert Audit.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert words().summary(Audit.from_dict({"comment": "It diverges."})) == "It diverges."


def test_every_kind_of_fact_has_a_sentence():
    """Also where its numbers are not finite, in a file as well."""
    values = {
        **dict.fromkeys(re.findall(r"values\.(\w+)", TEMPLATE), math.inf),
        "laws": ["laplace"],
        "entries": [],
    }
    for kind in Kind:
        if kind in NOTHING_TO_AUDIT:
            continue
        passed = None if kind in DOES_NOT_APPLY else False
        fields = {"level": "x", "canary": "y", "passed": passed, "value": 1.0, "bound": 0.0}
        found = Audit(findings=(Finding(**fields, fact=Fact(kind=kind, values=values)),))
        sentence = words().sentence(found.findings[0])
        assert sentence
        again = Audit.from_dict(json.loads(json.dumps(found.to_dict())))
        assert words().sentence(again.findings[0]) == sentence
    for kind in (*NOTHING_TO_AUDIT, Kind.DIVERGES):
        reason = Fact(kind=kind, values={"algorithm": "objp"})
        assert words().summary(Audit(reason=reason)).endswith(".")


def test_a_run_that_diverges_is_not_judged():
    found = short_audit("dpsgd", params={"learning_rate": 1e300})
    assert found.passed is None
    assert found.reason == fact(Kind.DIVERGES)


def test_an_agent_without_records():
    # It has no noise, and is nobody's canary.
    data = make_dataset(60, writers=3)
    names = (*data.attributes["writer"].values, "nobody")
    free = written_by(data, data.attributes["writer"].train, names)
    for name in ("objp", "outp", "dpsgd"):
        found = short_audit(name, free, agents={"scheme": "by_writer"})
        assert found.passed
        local = short_audit(name, free, agents={"scheme": "by_writer"}, sensitivity="local")
        assert "The scale of the noise" in failed(local)["coupling"]


def test_all_bounds_hold_together(monkeypatch):
    seen = []

    def note(level, canary, scores, delta, confidence, *rest):
        seen.append((len(scores[0]), len(scores[1]), delta, confidence))
        return lower_bound(level, canary, scores, delta, confidence, *rest)

    monkeypatch.setattr(auditor, "lower_bound", note)
    settings = AuditSettings(rounds=1, repeats=20, level=0.9)
    short_audit("objp", settings=settings)
    # Those after which runs may stop, and two of each canary at the end.
    assert all(each[2:] == (1e-3, pytest.approx(1 - 0.1 / 6)) for each in seen)
    assert [each[:2] for each in seen[-6:]] <= [(20, 20)] * 6


def test_shuffled_rows_are_audited_unshuffled():
    scheme = {"scheme": "iid", "agents": 4, "shuffle": True, "train": 50}
    assert unshuffled(make_spec("objp", agents=scheme)).agents == {
        "scheme": "iid",
        "agents": 4,
        "shuffle": False,
        "train": None,
    }
    assert short_audit("objp", agents=scheme).passed
    data = make_dataset(60, writers=3)
    assert short_audit("objp", data, agents={"scheme": "by_writer"}).passed


def test_extra_round_of_the_code_is_audited():
    settings = SHORT.model_copy(update={"rounds": 50})
    assert short_audit("objp", settings=settings, rounds=2, evaluate_every=1).rounds == 2
    found = short_audit("objp", settings=settings, rounds=2, evaluate_every=1, variant="reference")
    assert found.rounds == 3


@pytest.mark.parametrize(
    ("name", "sensitivity", "canary", "params", "relation"),
    [
        # A record moves little of what the noise of DP-FedADMM is for.
        *((name, "global", "worst", {}, "zero_out") for name in NOISY if name != "dp_fedadmm"),
        ("objp", "local", "natural", {}, "zero_out"),
        ("dpsgd", "global", "worst", {"sampling": 0.3}, "zero_out"),
        ("dpsgd", "global", "worst", {"sampling": 0.3}, "replace"),
    ],
)
def test_likelihood_ratio_is_one(name, sensitivity, canary, params, relation):
    # The mean of a ratio of densities under the second one is 1; so it is where a world is the other's.
    data = suitable(name)
    # Local updates share what one release has elsewhere, so that 3000 seeds are enough; samples take more.
    releases = math.sqrt(resolve(name)().updates) * params.get("sampling", 1)
    spec = make_spec(
        name,
        data,
        epsilon=(1 if data is THREE else 5) / releases,
        sensitivity=sensitivity,
        dtype="float64",
        params=params,
        privacy={"relation": relation},
    )
    (worlds,) = make_neighbours(spec, data, [1, 2], [canary])
    seeds = range(3000), range(3000, 6000)
    pair = run_pair(spec, (worlds.first, worlds.second), worlds.row, [1, 2], seeds)
    first, second = (log_ratio(side, spec.method.sampling) for side in pair)
    assert first.std() > 0.1
    for ratio in (np.exp(-first), np.exp(second)):
        error = ratio.std() / np.sqrt(len(ratio))
        assert abs(ratio.mean() - 1) < 4 * error < 0.1


def test_what_users_need_is_in_the_package_and_settings_do_not_load_the_attacks():
    code = (
        "import sys; from admmbench.audit import AuditSettings; "
        "assert 'admmbench.audit.auditor' not in sys.modules; "
        "from admmbench.audit import Audit, Finding, audit, epsilon_lower; "
        "assert callable(audit)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_a_method_does_with_a_release_in_place_is_not_on_tape():
    """In double precision nothing is converted, so that DP-SCAFFOLD adds its penalty to what it released."""
    strong = {"loss": "softmax", "strength": 1.0}
    assert short_audit("dp_scaffold", problem=strong, dtype="float64").passed
