"""The checks can fail: for each a plug-in that breaks its contract and, as far as it goes, nothing else."""

import contextlib
import hashlib
import re

import pytest

from admmbench.contracts import of
from admmbench.contracts.datasets import dataset_checks
from admmbench.contracts.methods import method_checks

pytestmark = pytest.mark.slow

METHOD = """
import threading
import numpy as np
from admmbench.api import *
from admmbench.scaffold.method import Template

RUNS = [0]

@parameters
class Broken(Template):
    '''Nothing good.'''
"""

UPDATE = """
def local_round(self, sub):
    Template.local_round(self, sub)
    z = sub.z
    z[:] = {}
"""
NOISE = "def perturb_gradient(self, sub, gradient): return {}"
SCHEDULE = "def schedule(self, sub): return {{'stiffness': {}}}"
OTHERS_SLICE = """
def round(self, t, state, federation):
    def step(block):
        state.z[block.agents.start - 1] *= 0.5
        state.z[block.agents] += 1 + block.agents.start
    federation.each(step)
    return Messages((), ())
"""
IN_MEMORY = """
def init(self, federation):
    RUNS[0] = 0
    return Template.init(self, federation)

def schedule(self, sub):
    RUNS[0] += 1
    return {'stiffness': RUNS[0]}
"""
OTHER_RUNS = IN_MEMORY.replace("RUNS[0] = 0", "RUNS[0] += 1")
RAISES_IF = (
    "def schedule(self, sub):\n    if {}: raise RuntimeError('no')\n    return {{'stiffness': 1}}"
)

FAST = "from admmbench.base.rho import HUANG2019_RHO\na: float = 20.0\nrho: Rho = HUANG2019_RHO\n"
DESCENT = """
def round(self, t, state, federation):
    def slope(block):
        parts = block.parts
        at = np.broadcast_to(state.w, state.z[block.agents].shape).copy()
        found = parts.mean_objective.gradient(at).value
        return parts.whole.add_penalty_gradient(found, at, parts.whole.{})
    slopes = np.concatenate(federation.each(slope))
    state.w = state.w - 0.5 * self.mean(slopes, federation)
    state.z[:] = state.w
    return Messages((), ())
"""

L1_ALONE = """
a: float = 20.0

def check(self, problem, agents):
    super(Broken, self).check(problem, agents)
    if problem.penalty_name != "l1":
        raise ValueError("l1 alone")
"""
# Though a run would compute one seed for all.
OWN_DRAWS = (
    "release = None\n"
    + NOISE.format("0.0")
    + UPDATE.format("z + np.random.default_rng(sub.t).normal(size=z.shape)")
)

METHODS = [
    ("is a frozen dataclass of checked parameters", "", "decorate it with @parameters"),
    ("facts are complete", "caveats = ('beware',)", "capital letter to a full stop"),
    ("facts are complete", "needs = ('smooth',)", "'smooth' is none of"),
    (
        "works for every problem that it does not refuse",
        RAISES_IF.format("not sub.parts.whole.penalty.smooth"),
        '"penalty": "l1".*RuntimeError: no',
    ),
    (
        "works for every problem that it does not refuse",
        NOISE.format("sub.noise.gaussian(Sensitivity(l1=gradient.sensitivity.l1))"),
        "Gaussian noise takes its scale from the l2 sensitivity",
    ),
    (
        "what it measures has units and values",
        "variables = {'own': ('1', 'own')}\n"
        "def measure(self, t, state, federation): return {'own': np.full(3, np.nan)}",
        "own is not measured",
    ),
    (
        "repetition changes no bit",
        UPDATE.format("z + np.random.laplace(size=z.shape)"),
        "a repetition changes test_error",
    ),
    ("going on from a checkpoint changes no bit", IN_MEMORY, "a restart from a checkpoint"),
    (
        "threads and the order of agents change no bit",
        UPDATE.format("z * (2 - (threading.current_thread() is threading.main_thread()))"),
        "threads change the state",
    ),
    (
        "threads and the order of agents change no bit",
        OTHERS_SLICE,
        "the order of agents changes the state|threads change the state",
    ),
    (
        "another block of agents agrees within rounding",
        UPDATE.format("z + z.mean(axis=0)"),
        "agents are served together",
    ),
    (
        "another block of seeds agrees within rounding",
        UPDATE.format("z + z.mean(axis=1, keepdims=True)"),
        "another block of seeds changes the model",
    ),
    (
        "another block of seeds agrees within rounding",
        OWN_DRAWS,
        "another block of seeds changes the model",
    ),
    (
        "double precision agrees within rounding",
        UPDATE.format("z.round(2) if z.dtype == np.float32 else z"),
        "double precision changes",
    ),
    ("repetition changes no bit", OTHER_RUNS, "a repetition changes"),
    (
        "seeds differ where something is drawn",
        "release = None\ndraws = True\n" + NOISE.format("0.0"),
        "three seeds give 1 results; it declares noise or draws",
    ),
    (
        "seeds differ where something is drawn",
        OWN_DRAWS,
        "three seeds give 3 results; it declares neither",
    ),
    (
        "the total is finite where noise is declared",
        NOISE.format("sub.noise.laplace(Sensitivity(l1=0 * gradient.sensitivity.l1))"),
        "and its noise is zero",
    ),
    (
        "the total is finite where there is a guarantee",
        "def measure(self, t, state, federation): return {'epsilon_total': 0.1 * t}",
        "with sensitivity: local its guarantee is 'none', which epsilon_total does not fit",
    ),
    (
        "without a budget nothing is noisy",
        NOISE.format("sub.noise.gaussian(gradient.sensitivity, gradient.sensitivity.l2)"),
        "it adds noise though epsilon is infinite",
    ),
    (
        "the total is finite where there is a guarantee",
        RAISES_IF.format("sub.privacy.sensitivity == 'global'"),
        "RuntimeError: no",
    ),
    ("learns without noise", SCHEDULE.format("-2 * sub.rho"), "the objective is"),
    (
        "learns without noise",
        L1_ALONE.replace('!= "l1"', '!= "l3"'),
        "it refuses every problem.*the first refusal: .*l1 alone",
    ),
    (
        "the noise matches release and updates",
        "release = Release('gaussian', 'gradient')",
        "released laplace; declared: gaussian",
    ),
    (
        "the noise matches cost and steady",
        "def cost(self, t, problem, privacy, release): return release.cost(privacy, 0.1, 0.01)",
        "9 rounds are stated to cost 0.61.*, drawn is 1.7",
    ),
    (
        "worst case noise knows nothing of the records",
        NOISE.format("sub.noise.laplace(Sensitivity(l1=abs(gradient.value).sum((2, 3))))"),
        "other records change the scale of its noise",
    ),
    (
        "worst case noise knows nothing of the records",
        NOISE.format(
            "sub.noise.laplace(Sensitivity(l1=gradient.sensitivity.l1 * (1 + (sub.parts._X.max() > 0.5))))"
        ),
        "other records change the scale of its noise",
    ),
    (
        "attacks find nothing",
        UPDATE.format("z + 0.01 * sub.parts.gradient(z, mean_over=9).value"),
        "Data leave without noise: message 0 of round 1 tells the data sets apart",
    ),
    (
        "divergence is recorded",
        UPDATE.format("np.nan_to_num(z); np.nan_to_num(sub.partial, copy=False)"),
        r"status is .*0.*0.*0",
    ),
    (
        "state copies bounds the state",
        "resources = Resources(state_copies=1)",
        "has 2.* copies .* says 1",
    ),
    (
        "seeded shares are a partition of their own",
        UPDATE.format("z + z.mean(axis=1, keepdims=True)"),
        "another block of shuffled seeds changes",
    ),
    (
        "approaches the optimum of the stated problem",
        FAST + "def gradient(self, sub): return sub.parts.mean_objective.gradient(sub.z)",
        "with average: records it ends near the optimum with average: agents and 1 times the strength",
    ),
    (
        "approaches the optimum of the stated problem",
        FAST + DESCENT.format("own_strength"),
        "with average: records it ends near the optimum with average: records and 0.5 times the strength",
    ),
    (
        "approaches the optimum of the stated problem",
        FAST + DESCENT.format("total_strength"),
        "with average: agents it ends near the optimum with average: agents and 2 times the strength",
    ),
    (
        "approaches the optimum of the stated problem",
        FAST + "def schedule(self, sub): return {'stiffness': sub.t**2}",
        "% of the way to the optimum are left after 300 rounds, .* say what its `fixed_point` is",
    ),
    (
        "writers serve as agents",
        RAISES_IF.format("(sub.parts.n_samples == 0).any()"),
        "RuntimeError: no",
    ),
]


def plug_in(folder, header, body, name):
    path = folder / f"{name.replace(' ', '_')}.py"
    lines = "".join(f"    {line}\n" for line in body.splitlines() or ["pass"])
    path.write_text(header + lines)
    return path


def run(checks, name):
    """Run the check of this name."""
    (check,) = (check for check in checks if check.name == name)
    check.run()


def fails(checks, name):
    """Message of the failing check; an exception counts with its own."""
    with pytest.raises(Exception, match=r"\w") as caught:
        run(checks, name)
    return f"{caught.type.__name__}: {caught.value}"


@pytest.mark.parametrize(("name", "body", "message"), METHODS)
def test_a_broken_method_is_caught(tmp_path, name, body, message):
    header = METHOD.replace("@parameters\n", "") if name.startswith("is a frozen") else METHOD
    path = plug_in(tmp_path, header, body, name)
    found = fails(method_checks(str(path)), name)
    assert re.search(message, found), found


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "order = 'sever'",
            "Broken.order: 'sever' is none of server, agents; did you mean 'server'",
        ),
        ("release = Release('laplac', 'gradient')", "Release.law: 'laplac' is none of laplace,"),
        ("release = Release('laplace', 'gradiant')", "Release.value: 'gradiant' is none of"),
    ],
)
def test_words_that_nothing_would_act_on_are_refused(tmp_path, body, message):
    path = plug_in(tmp_path, METHOD, body, "typo")
    with pytest.raises(ValueError, match=message):
        list(method_checks(str(path)))


@pytest.mark.parametrize("divisor", ["all", "own"])
def test_a_divisor_of_its_own_has_no_effect_and_is_said(tmp_path, divisor):
    path = plug_in(tmp_path, METHOD, f"mean_over = '{divisor}'", divisor)
    with pytest.warns(FutureWarning, match="Broken.mean_over has no effect.*leave it out"):
        checks = list(method_checks(str(path)))
    (check,) = (each for each in checks if each.name.startswith("approaches"))
    check.run()


def test_rounding_by_the_place_in_the_batch_is_no_draw(tmp_path):
    """As of a product over agents whose sums BLAS splits; a tenth is more than that."""
    name = "seeds differ where something is drawn"
    for size, faulty in ((1e-7, False), (0.1, True)):
        rounded = UPDATE.format(f"z * (1 + {size} * np.arange(3)[:, None, None]).astype(z.dtype)")
        body = f"release = None\n{NOISE.format('0.0')}\n{rounded}"
        path = plug_in(tmp_path, METHOD, body, f"rounded {size}")
        with pytest.raises(AssertionError) if faulty else contextlib.nullcontext():
            run(method_checks(str(path)), name)


SUMS = """
from dataclasses import replace
import numpy as np
from admmbench.api import *
from admmbench.algorithms.dpsgd import DPSGD
from admmbench.sensitivity import Sensitivity

@parameters
class Broken(DPSGD):
    '''Noisy gradients that hide less than is said.'''
    examples = ()

    def noisy_mean(self, value, sensitivity, federation, **more):
        privacy = federation.privacy
"""
A_RECORD = "lambda parts: Sensitivity(l2=parts.gradient_bound / parts.n_samples.max())"
OTHERS = "replace(federation, privacy=replace(privacy, participation={}, cohort={}))"
AGENTS = '"unit": "agent", "trust": "secure_sum"'


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            f"if privacy.unit == 'agent': sensitivity = {A_RECORD}",
            '{"unit": "agent"}: A release of agent 1 in round .* of what the ledger was told',
        ),
        (
            f"if privacy.unit == 'agent' and privacy.summed: sensitivity = {A_RECORD}",
            f"{{{AGENTS}}}: A release of the sum in round .* of what the ledger was told",
        ),
        (
            f"federation = {OTHERS.format('min(1, 2 * privacy.participation)', '0')}",
            f'{{{AGENTS}, "participation": 0.25}}: .*The canary takes part in .* a probability of 0.25',
        ),
        (
            f"if privacy.cohort: federation = {OTHERS.format('0.5', '2')}",
            f'{{{AGENTS}, "relation": "replace", "cohort": 1}}: .*takes part in .* a probability of 0.25',
        ),
    ],
    ids=["agents", "sums of agents", "coins", "cohorts"],
)
def test_every_unit_and_participation_is_attacked(tmp_path, fault, message):
    path = tmp_path / "broken.py"
    path.write_text(
        f"{SUMS}        {fault}\n"
        "        return DPSGD.noisy_mean(self, value, sensitivity, federation, **more)\n"
    )
    found = fails(method_checks(str(path)), "attacks find nothing")
    assert re.search("with privacy: " + message, found), found


def test_a_check_that_goes_on_from_a_checkpoint_says_nothing_of_it(caplog):
    run(method_checks("outp"), "going on from a checkpoint changes no bit (paper)")
    assert not caplog.records


def test_every_check_of_methods_is_broken_here():
    from admmbench.scaffold import method

    assert {check.name for check in method_checks(method.__file__)} == {
        name for name, *_ in METHODS
    }


def test_other_records_may_have_no_solution_but_not_all_of_them(tmp_path):
    """On the last of the four all features are as large as the largest; on the others they are at most half of it."""
    name = "worst case noise knows nothing of the records"
    body = RAISES_IF.format("np.ptp(sub.parts._X) == 0")
    run(method_checks(str(plug_in(tmp_path, METHOD, body, "one"))), name)
    body = RAISES_IF.format("np.ptp(sub.parts._X) == 0 or sub.parts._X.max() < 0.6")
    path = plug_in(tmp_path, METHOD, body, "all")
    assert "an error on all data with other records" in fails(method_checks(str(path)), name)


DATASET = """
import numpy as np
from dataclasses import replace
from admmbench.api import *
from admmbench.scaffold.dataset import Template


class Broken(Template):
    '''Nothing good.'''

    name = "broken"
    known = Template.describe
    arrays = Template.read

"""
DESCRIBE = "def describe(self, settings): return replace(self.known(settings), {})"
READ = "def read(self, info, paths): return replace(self.arrays(info, paths), {})"
ATTRIBUTE = (
    "attributes={{'writer': Attribute(tuple({}), np.repeat(np.int32([0, 1]), 71)[::{}], "
    "np.zeros(36, np.int32))}}"
)
WRITERS = DESCRIBE.format("attributes={'writer': 2}") + "\n"
X, Y = "np.full((142, 13), {}, np.float32)", "np.full(142, {}, np.int64)"
DATASETS = [
    ("facts are complete", DESCRIBE.format("licence=''"), "gives no licence"),
    *(
        (
            "facts are complete",
            DESCRIBE.format(f"checksums={{'a.csv': {text!r}}}"),
            f"checksums: {text!r} of 'a.csv' is no checksum",
        )
        for text in ("unknown", "PCG64, seed 0", "sha256:", "0" * 64, "md5:00")
    ),
    (
        "its default problem suits it",
        DESCRIBE.format("default_problem='logistic'"),
        "it needs two classes",
    ),
    ("arrays are as described", DESCRIBE.format("exact=False"), "count it"),
    ("arrays are as described", DESCRIBE.format("n_train=141"), "142 rows, expected 141"),
    ("arrays are as described", READ.format(f"X_train={X.format(2)}"), r"features in \[2.0, 2.0\]"),
    ("arrays are as described", READ.format(f"y_train={Y.format(3)}"), r"labels in \[3, 3\]"),
    (
        "arrays are as described",
        READ.format(f"y_train={Y.format(1)}"),
        "all training targets are the same",
    ),
    (
        "arrays are as described",
        WRITERS + READ.format(ATTRIBUTE.format("'aa'", "1")),
        "two values of writer have the same name",
    ),
    (
        "preparing it again gives the same bytes",
        READ.format("X_train=np.random.random((142, 13)).astype(np.float32)"),
        "X_train.npy has other bytes the second time",
    ),
    (
        "its settings name it",
        "defaults = {'n': 1}\ndef validate(self, settings): return {'n': settings['n'] + 1}",
        "not in its canonical form|is not",
    ),
]


def test_a_checksum_of_a_file_beside_the_plug_in_is_that_of_the_file(tmp_path):
    """What was prepared before the file changed would be used on."""
    (tmp_path / "a.csv").write_text("1,2")
    own = "sha256:" + hashlib.sha256(b"1,2").hexdigest()

    def plug(text):
        body = DESCRIBE.format(f"checksums={{'a.csv': {text!r}}}")
        return dataset_checks(str(plug_in(tmp_path, DATASET, body, "beside")))

    next(plug(own)).run()
    found = fails(plug("sha256:" + "0" * 64), "facts are complete")
    assert f"a.csv, which is {own!r}: state this" in found
    assert "known: sha256" in fails(plug("md5:" + "0" * 32), "facts are complete")


@pytest.mark.parametrize(("name", "body", "message"), DATASETS)
def test_a_broken_data_set_is_caught(tmp_path, name, body, message):
    found = fails(dataset_checks(str(plug_in(tmp_path, DATASET, body, name))), name)
    assert found.startswith("AssertionError")
    assert re.search(message, found), found


def test_every_check_of_data_sets_is_broken_here():
    assert {check.name for check in dataset_checks("digits")} == {name for name, *_ in DATASETS}


def test_a_name_or_file_finds_its_checks(tmp_path):
    assert [check.name for check in of("digits")] == [
        check.name for check in dataset_checks("digits")
    ]
    with pytest.raises(ValueError, match="did you mean 'objp'"):
        list(of("obpj"))
    path = tmp_path / "empty.py"
    path.write_text("")
    with pytest.raises(ValueError, match="nothing to check"):
        list(of(str(path)))


def test_contracts_are_found_by_their_name_of_before():
    with pytest.warns(FutureWarning, match="admmbench.checks is now called admmbench.contracts"):
        from admmbench import checks
    assert checks.of is of


def test_a_strong_l1_penalty_has_its_optimum_where_methods_start(tmp_path):
    """The part of the way that is left is then looked for with a weaker one."""
    path = plug_in(tmp_path, METHOD, L1_ALONE, "l1")
    run(method_checks(str(path)), "approaches the optimum of the stated problem")
