"""Runs of a certificate, computed again in a process of their own.

The process executes the method's file, which may be hostile: it gets settings and seeds but no result of the
certificate, and what it returns is data, which another process compares.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from admmbench.audit import audit
from admmbench.base.outcomes import SUCCESSFUL
from admmbench.certificate.content import Attacked, finite
from admmbench.certificate.issue import settings_of, stated
from admmbench.datasets import DatasetError, load_dataset
from admmbench.engine.rounds import AlgorithmError
from admmbench.jobs.simulate import run_spec
from admmbench.results import reference
from admmbench.spec.run import RunSpec
from admmbench.study.competition import entry
from admmbench.study.config import ConfigError, check_experiment
from admmbench.study.experiment import Experiment
from admmbench.validation import Strict, Whole, checked

SECONDS, BYTES = 3600, 64 << 20
"""Limits: seconds of a recomputation, and bytes of what it returns that are read."""
_LAST = 300  # characters of the errors of a process that are shown


class Asked(Strict):
    """Setting whose runs are computed again."""

    experiment: str
    epsilon: float
    run: dict[str, Any]
    blocks: list[list[Whole]]
    """Seeds that are computed together."""
    attacked: bool
    """Whether it is audited again."""


class Request(Strict):
    """What is computed again. No result of a certificate is part of it."""

    method: str
    """Path of the method's file."""
    settings: list[Asked]


class Block(Strict):
    """Results of seeds that are computed together."""

    values: list[float | None]
    losses: list[float | None]
    facts: dict[str, float | None]
    """Numbers of the trace by the name of the certificate's field."""


class Computed(Strict):
    """What was found of a setting."""

    facts: dict[str, Any]
    """What follows from the settings, by the name of the certificate's field."""
    others: list[str]
    """Settings that are not those of the competition; if there are any, no block is computed."""
    blocks: list[Block] = []
    audit: Attacked | None = None


class Failure(Strict):
    """Why nothing was computed."""

    status: Literal[1, 2]
    """1 if the certificate differs, 2 if it cannot be compared."""
    text: str


class Answer(Strict):
    """What a recomputation returns."""

    label: str
    """Label of the method in the competition."""
    settings: list[Computed]


Recompute = Callable[[Request], Answer | Failure]


def compute(request: Request) -> Answer | Failure:
    """Execute the method's file in this process, and return what was asked for."""
    names = {asked.experiment for asked in request.settings}
    rivals = reference.load(sorted(names))
    try:
        entries = {name: entry(name, request.method, rivals[name], Path()) for name in names}
        experiments = {name: check_experiment(each.content) for name, each in entries.items()}
    except ConfigError as error:
        return Failure(status=2, text=str(error))
    settings = []
    for asked in request.settings:
        title = f"{asked.experiment}, ε = {asked.epsilon:g}"
        try:
            settings.append(_setting(asked, request.method, experiments[asked.experiment]))
        except DatasetError as error:
            return Failure(status=2, text=f"{title}: {error}")
        except ValueError as error:
            return Failure(status=1, text=f"{title}: run: is refused: {error}")
        except (AlgorithmError, OSError) as error:
            cause = error.__cause__ or error
            return Failure(
                status=1, text=f"{title}: run: fails here: {type(cause).__name__}: {cause}"
            )
    return Answer(label=next(iter(entries.values())).label, settings=settings)


def _setting(asked: Asked, method: str, experiment: Experiment) -> Computed:
    def spec(seeds: list[int]) -> RunSpec:
        return RunSpec.model_validate({**asked.run, "algorithm": method, "seeds": seeds})

    first = spec([0])
    facts = {**stated(first), "epsilon": first.stated_budget, "dataset": first.info.name}
    facts |= {"metric": first.as_problem.judged_by}
    if others := _other_settings(asked, experiment):
        return Computed(facts=facts, others=others)
    blocks = [_block(spec(seeds)) for seeds in asked.blocks]
    attacked = None
    if asked.attacked and experiment.audit is not None:
        attacked = Attacked.of(audit(first, load_dataset(first.dataset), experiment.audit))
    return Computed(facts=facts, others=[], blocks=blocks, audit=attacked)


def _block(spec: RunSpec) -> Block:
    trace = run_spec(spec, load_dataset(spec.dataset))
    fine = trace["status"].isin(SUCCESSFUL)
    values, losses = (
        [finite(value) for value in trace[name].isel(round=-1).where(fine).values.tolist()]
        for name in (spec.as_problem.judged_by, "train_loss")
    )
    facts = {"n_test": trace.attrs["n_test"], "floats_sent": trace["floats_sent"].max().item()}
    facts |= {name: trace[name].item() for name in ("mu", "regret") if name in trace}
    return Block(
        values=values,
        losses=losses,
        facts={name: finite(float(value)) for name, value in facts.items()},
    )


def _other_settings(asked: Asked, experiment: Experiment) -> list[str]:
    """Return the settings of a run, tuned ones left out, that the competition states otherwise."""
    searches = [s for s in experiment.searches.values() if s.budget == asked.epsilon]
    runs = [r for r in experiment.runs if r.spec.stated_budget == asked.epsilon]
    if not searches and not runs:
        return ["privacy.total"]
    free = ["evaluate_every", *(searches[0].axes if searches else ())]
    spec = searches[0].spec if searches else runs[0].spec
    competing, there = (
        {str(key): value for key, value in pd.json_normalize(run).iloc[0].items()}
        for run in (settings_of(spec), asked.run)
    )
    # A number that is tuned may be a part of a schedule.
    stays = (name for name in sorted({*competing, *there}) if not _is_below(name, free))
    return [name for name in stays if competing.get(name) != there.get(name)]


def _is_below(name: str, keys: Iterable[str]) -> bool:
    return any(f"{name}.".startswith(f"{key}.") for key in keys)


def in_process(request: Request, within: Sequence[str] = ()) -> Answer | Failure:
    """Compute in a process of its own, and return what it found.

    Parameters
    ----------
    request
        What is computed.
    within
        Words of a command that executes the words after it, such as a sandbox.

    Returns
    -------
    Answer or Failure
        Data that were checked to be of these types. A process that ends early, whatever its exit status is, is a
        failure.
    """
    words = [*within, sys.executable, "-P", "-m", __name__]
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        try:
            subprocess.run(
                words,
                input=request.model_dump_json().encode(),
                stdout=output,
                stderr=errors,
                cwd=folder,
                timeout=SECONDS,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            return Failure(status=2, text=f"its runs did not end within {SECONDS} s")
        except OSError as error:
            return Failure(status=2, text=f"its runs could not be started: {error}")
        output.seek(0)
        errors.seek(0)
        last = " ".join(errors.read().decode(errors="replace").split())[-_LAST:]
        return _read(output.read(BYTES), last)


def _read(output: bytes, errors: str) -> Answer | Failure:
    try:
        content = json.loads(output)
        if "status" in content:
            return checked(Failure, content, "results")
        return checked(Answer, content, "results")
    except (ValueError, TypeError, RecursionError):
        text = "its runs ended without complete results"
        return Failure(status=2, text=f"{text}: {errors}" if errors else text)


def main() -> None:
    """Answer the request on the standard input."""
    request = Request.model_validate_json(sys.stdin.buffer.read())
    # What the method prints is no part of the answer.
    answers = os.dup(1)
    os.dup2(2, 1)
    content = compute(request).model_dump(mode="json")
    with os.fdopen(answers, "w", encoding="utf-8") as file:
        json.dump(content, file)


if __name__ == "__main__":
    main()
