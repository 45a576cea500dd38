"""`simulate`: one run, from its arguments to a trace with its provenance."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import xarray as xr

from admmbench import algorithms
from admmbench.datasets import (
    Dataset,
    Spec,
    are_arrays,
    describe,
    find_module,
    load_dataset,
    untested,
)
from admmbench.engine import devices
from admmbench.engine import rounds as engine
from admmbench.engine.context import ONE_THREAD, Context, Progress
from admmbench.engine.trace import Results
from admmbench.jobs import provenance
from admmbench.problems.losses import as_loss
from admmbench.spec import guarantees
from admmbench.spec.fields import SEEDS
from admmbench.spec.run import RunSpec
from admmbench.validation import Whole, checked

_log = logging.getLogger(__name__)
# Arguments whose None stands for the default of the run.
_ABSENT = ("params", "privacy", "delta", "evaluate_every")


def simulate(
    dataset: str | dict[str, Any] | Dataset | Any,
    algorithm: str,
    params: Mapping[str, Any] | None = None,
    variant: str = "paper",
    problem: str | dict[str, Any] | None = None,
    agents: int | dict[str, Any] | None = None,
    epsilon: float = math.inf,
    delta: float | None = None,
    sensitivity: str = "local",
    privacy: Mapping[str, Any] | None = None,
    rounds: int = 100,
    evaluate_every: int | None = None,
    seeds: int | Iterable[int] | str = SEEDS,
    threads: int = 1,
    dtype: str = "float32",
    time_limit: float = math.inf,
    accountants: Iterable[str] | None = None,
    progress: Progress | None = None,
    groups: Any = None,
    device: str = devices.CPU,
    mirror: bool = False,
    noise_ratio: float = 1.0,
    keep_model: bool = False,
) -> Results:
    """Run an algorithm on a data set, for several seeds at once.

    Parameters
    ----------
    dataset
        Name or path of a plug-in, ``{"name": ..., setting: ...}``, or what `load_dataset` returns. Also a pair of
        features and targets (arrays, or a DataFrame and a Series, which are matched by their index), or a Bunch of
        scikit-learn: these are prepared as the data set ``table`` prepares a file.
    algorithm
        Name in `list_algorithms`, or the path of a plug-in ending in ``.py``.
    params
        Parameters of the algorithm.
    variant
        ``paper``: the equations; ``reference``: what the authors' code computes.
    problem
        Name or path of a loss, or ``{"loss": ..., "penalty": ..., "strength": ...}``, see
        `admmbench.problems.as_problem`. If absent the data set's default loss; huber, which is logged, where that has
        an unbounded derivative, and the method or its noise needs a bound.
    agents
        Number of agents with equal shares, or a partition such as ``{"scheme": "by", "column": "hospital"}``; 10 if
        absent, or an agent for each group of a data set that has groups.
    epsilon
        Privacy budget of one iteration; ``float("inf")`` adds no noise.
    delta
        Failure probability of one Gaussian release, at which totals are stated too; 1e-6 if absent.
    sensitivity
        ``local``: from the agent's records, as in the papers; ``global``: the worst case.
    privacy
        ``relation``: neighbouring relation of the total ε, ``zero_out`` (one record is blank, by default) or
        ``replace`` (it is another record). ``unit``: unit of privacy, one ``record`` (by default) or an ``agent`` with
        all of its records. ``total``: total privacy loss ε of the whole run; give it instead of ``epsilon``, which is
        then computed from it. ``delta`` may be given here too. ``noise``: ``published`` (by default), ``laplace`` or
        ``gaussian``. ``trust``: threat model, ``agents`` (by default; the server sees every message) or ``secure_sum``
        (the server sees only their sum, by secure aggregation, so that each agent adds a part of the noise). With a
        secure sum and ``unit: agent`` also ``participation``: probability that an agent takes part in a round, or
        ``cohort``: how many do. ``covers``: composition scope of the total, ``run`` (by default), or a search of so
        many ``trials`` and the run: ``every_trial`` (all are seen) or ``best_trial``.
    rounds
        Number of rounds.
    evaluate_every
        Rounds between two evaluations; 10 if absent, or ``rounds`` if these are fewer. The last round is always
        evaluated, and so is round 0, the model before its first round.
    seeds
        One run for each seed. Give their number n, for the seeds 0 to n - 1 (10 seeds if absent); a list or a range of
        seeds; or text such as ``"0-9"``.
    threads
        Threads to spread the agents over; does not change the result.
    dtype
        Precision of the arithmetic.
    time_limit
        Minutes after which the run stops.
    accountants
        Names in `admmbench.privacy.ACCOUNTANTS`: whose totals are computed besides that of ``rdp``, which always is;
        the usual ones if absent.
    progress
        Called with the round and the number of rounds.
    groups
        With arrays: whose each record is, shape (n,), a Series matched by its index; there is an agent for each group
        if ``agents`` is absent.
    device
        What computes: ``cpu``, or an installed device such as ``cuda``, which changes the result by rounding alone, see
        docs/gpu.md.
    mirror
        Negate all noise: with the ordinary run of the same seeds, the run makes antithetic pairs. The models of both
        halves must never be published together: their difference shows the noise.
    noise_ratio
        Factor by which Gaussian noise changes from the first round to the last, at one total ε.
    keep_model
        Whether to return the last global model of each seed too, as ``model``.

    Returns
    -------
    xarray.Dataset
        Dims ``seed``, ``round`` and, where records are classified, ``record``; see `Trace` for the variables. A
        ``model`` has the dims ``seed``, ``class`` (unless targets are numbers) and ``feature``. `to_dataframe` returns
        a row for each seed and round.

    Raises
    ------
    ValueError
        If an argument is wrong; the message names it and the nearest valid value.

    Warns
    -----
    UserWarning
        If noise is added, and no total of the run is guaranteed. The message names the setting that gives a guarantee.

    Notes
    -----
    A run whose iterates overflow is recorded as diverged (``status``), and a run that reaches its time limit as timed
    out. Both are NaN from there on; no exception is raised.

    Examples
    --------
    Objective perturbation on the digits of scikit-learn, which five agents share, at a total epsilon of 1 for the whole
    run:

    >>> from admmbench import simulate
    >>> trace = simulate(
    ...     "digits",
    ...     "objp",
    ...     agents=5,
    ...     privacy={"total": 1.0, "delta": 1e-5},
    ...     sensitivity="global",
    ...     rounds=20,
    ...     seeds=3,
    ... )
    >>> trace["test_error"].isel(round=-1).mean("seed").item() < 0.9
    True
    """
    arguments: dict[str, Any] = {**locals()}
    if are_arrays(dataset):
        arguments["dataset"] = find_module("table").from_arrays(dataset, groups)
    elif groups is not None:
        raise ValueError(
            "groups: are for arrays; name a column by agents: {scheme: by, column: ...}"
        )
    settings = {
        name: arguments[name]
        for name in RunSpec.model_fields
        if not (name in _ABSENT and arguments[name] is None)
    }
    if problem is None and (usual := fitting_loss(settings["dataset"], [algorithm], sensitivity)):
        settings["problem"] = usual
    spec, threads = checked(RunSpec, settings, ""), checked(Whole, threads, "threads")
    devices.checked(device)
    if lack := _lacking_guarantee(spec):
        _warn_once(lack)
    data = load_dataset(spec.dataset)
    context = Context(threads, device, progress=progress)
    return Results.of(run_spec(spec, data, context, keep_model=keep_model))


@functools.cache
def _warn_once(text: str) -> None:
    """Warn, unless this process has done so before; filters of Python forget what they have shown."""
    warnings.warn(text, stacklevel=3)


def fitting_loss(dataset: Spec, methods: Iterable[str], sensitivity: Any) -> str | None:
    """Return huber, which is logged, if the default loss of a data set does not fit methods or noise; None if it does.

    A squared loss has no bound on its derivative, which noise for the worst case follows from, and some methods need.
    """
    with contextlib.suppress(ValueError, TypeError):  # whose reasons follow when the run is checked
        usual = describe(dataset).default_problem
        if usual == "quadratic" or math.isfinite(as_loss(usual).derivative_l2):
            return None
        names = [algorithms.ALIASES.get(name, (name,))[0] for name in methods]
        needs = [need for name in names for need in algorithms.resolve(name)().needs]
        if sensitivity == "global" or "bounded derivative" in needs:
            _log.warning(
                "problem: the loss is huber, as the usual loss of the data set, %s, has derivatives without a bound; "
                "state a loss to choose another",
                usual,
            )
            return "huber"
    return None


def _lacking_guarantee(spec: RunSpec) -> str:
    """Return why a run with noise has no guarantee, with the setting that gives one; empty if it has one."""
    if not spec.private or guarantees.guarantee(spec).kind != "none":
        return ""
    text = "epsilon: no privacy is guaranteed"
    if spec.sensitivity == "local" and spec.method.guarantee("global").kind != "none":
        return (
            f"{text}, as noise follows from bounds of each agent's own records, as in the papers; state "
            'sensitivity="global" for noise by public bounds'
        )
    return f"{text}: {guarantees.guarantee(spec).conditions}"


def run_spec(
    spec: RunSpec, dataset: Dataset, context: Context = ONE_THREAD, *, keep_model: bool = False
) -> xr.Dataset:
    """Run a checked specification on a loaded data set; the result may have the last global models, as ``model``.

    A run with a checkpoint in its context goes on from the state that is saved, and saves its own.
    """
    scheme = spec.scheme
    notes = [spec.delta_warning, scheme.order_warning(dataset)]
    if scheme.tests_on_test_part:
        notes.append(untested(dataset.class_names, dataset.y_test))
    for note in filter(None, notes):
        _log.warning(note)
    trace = engine.run_rounds(spec, dataset, context)
    results = trace.dataset(spec, provenance.describe(spec, dataset, context.device))
    results[results.attrs["metric"]].attrs.update(provenance.metric_attributes(spec, dataset))
    for name, attributes in provenance.client_attributes(spec, dataset).items():
        results[name].attrs.update(attributes)
    if keep_model:
        results["model"] = trace.labelled_models(spec.info)
    return results
