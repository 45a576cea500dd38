"""Verification of a certificate: what follows from it is derived again, and some of its runs are computed again.

The method's file is read here as bytes alone; `admmbench.certificate.recompute` executes it in another process.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.certificate.content import Certificate, Setting, mean
from admmbench.certificate.issue import NOT_CHECKED, versus
from admmbench.certificate.recompute import (
    Asked,
    Block,
    Computed,
    Failure,
    Recompute,
    Request,
    in_process,
)
from admmbench.files.core_yaml import read_yaml
from admmbench.files.installed import find_all
from admmbench.jobs import fingerprint, provenance
from admmbench.results import reference, statistics
from admmbench.results.who_wins import compare
from admmbench.study.competition import TRACKS, competing_totals
from admmbench.study.config import check_experiment

RECORDS = 3
"""Test records by which an error may differ on other versions or another processor."""
_RELATIVE = 1e-9
"""Relative difference of two numbers that were derived from the same values."""
Blocks = list[tuple[int, ...]]


class Status(IntEnum):
    """Outcome of a verification, and exit status of the command."""

    EQUAL = 0
    DIFFERS = 1
    INCOMPARABLE = 2


class Line(NamedTuple):
    """Sentence of a verification, with what it means for the outcome."""

    status: Status
    text: str


def verify(
    certificate: Certificate,
    method: Path,
    part: float = 0.05,
    seed: int = 0,
    recompute: Recompute = in_process,
) -> Iterator[Line]:
    """Verify a certificate, and yield what is found.

    Parameters
    ----------
    certificate
        The certificate.
    method
        File of the method. It is not executed if it is another one than that of the certificate.
    part
        Part of the runs of each setting that are computed again, one at least.
    seed
        Seed of the draw of these runs.
    recompute
        Function that executes the method's file.
    """
    lines = list(_head(certificate, method))
    yield from lines
    names = list(dict.fromkeys(setting.experiment for setting in certificate.settings))
    rivals = reference.load(names)
    if not any(line.status for line in lines):
        lines = list(_stated(certificate, names, rivals))
        yield from lines
    if any(line.status for line in lines):
        return
    generator = random.Random(seed)
    blocks = {name: _blocks(name) for name in names}
    attacked = generator.choice(certificate.settings)
    asked = [
        Asked(
            experiment=setting.experiment,
            epsilon=setting.epsilon,
            run=setting.run,
            blocks=_drawn(blocks[setting.experiment], len(setting.seeds), part, generator),
            attacked=setting is attacked,
        )
        for setting in certificate.settings
    ]
    answer = recompute(Request(method=str(method.absolute()), settings=asked))
    if isinstance(answer, Failure):
        yield Line(Status(answer.status), answer.text)
        return
    if len(answer.settings) != len(asked):
        yield Line(Status.INCOMPARABLE, "its runs ended without results of each setting")
        return
    if answer.label != certificate.method.label:
        text = f"method.label: is {certificate.method.label}, and follows as {answer.label}"
        yield Line(Status.DIFFERS, text)
        return
    yield from _compared_again(certificate, rivals)
    others = list(_other_versions(certificate))
    for setting, each, computed in zip(certificate.settings, asked, answer.settings, strict=True):
        yield from _Check(setting, each, computed, others).lines()


def _head(certificate: Certificate, method: Path) -> Iterator[Line]:
    """Yield a line for each fault of a certificate that shows without results of its rivals."""
    if certificate.sealed().seal != certificate.seal:
        yield Line(Status.DIFFERS, "seal: the certificate was changed after it was issued")
    digest = hashlib.sha256(method.read_bytes()).hexdigest()
    if digest != certificate.method.sha256:
        text = f"method.sha256: {method} is another file than the one that competed; it is not executed"
        yield Line(Status.DIFFERS, text)
        return
    if certificate.method.file != method.name:
        text = f"method.file: is {certificate.method.file}, and the file is {method.name}"
        yield Line(Status.DIFFERS, text)
    if certificate.not_checked != NOT_CHECKED:
        yield Line(Status.DIFFERS, "not_checked: is not what certificates leave unchecked")
    names = [setting.experiment for setting in certificate.settings]
    if {*names} != {*TRACKS.get(certificate.track, names)}:
        text = f"track: {certificate.track} has other experiments than {', '.join(names)}"
        yield Line(Status.DIFFERS, text)
    code = fingerprint.meaning(method)
    for setting in certificate.settings:
        if setting.code.get("method") != code:
            yield Line(Status.DIFFERS, f"{setting.title}: code.method: is not that of the file")


def _stated(
    certificate: Certificate, names: list[str], rivals: Mapping[str, xr.Dataset]
) -> Iterator[Line]:
    """Yield a line for each field that does not follow from others or from reference results."""
    for name in names:
        if name not in rivals:
            yield Line(Status.INCOMPARABLE, f"{name}: no reference results of its rivals are here")
            return
    there = sorted((setting.experiment, setting.epsilon) for setting in certificate.settings)
    asked = sorted((name, total) for name in names for total in competing_totals(rivals[name]))
    if there != asked:
        text = ", ".join(f"{name} at {total:g}" for name, total in asked)
        yield Line(
            Status.DIFFERS,
            f"settings: experiment and epsilon: the competition is {text}, each once",
        )
    for setting in certificate.settings:
        results = rivals[setting.experiment]
        if certificate.method.label in results["algorithm"]:
            yield _differs(setting, "method.label", "is that of a rival")
        for name in ("dataset", "metric", "n_test"):
            if getattr(setting, name) != results.attrs[name]:
                yield _differs(setting, name, f"is not {results.attrs[name]}, that of its rivals")
        numbers = len(setting.values), len(setting.losses)
        if setting.seeds != [*range(len(setting.seeds))] or {*numbers} != {len(setting.seeds)}:
            yield _differs(
                setting, "seeds", "are not the first of the rivals, with a value of each"
            )
        ends = {block[-1] + 1 for block in _blocks(setting.experiment)}
        if len(setting.seeds) not in ends or len(setting.seeds) > results.sizes["seed"]:
            # Seeds after the last whole block would never be computed again.
            yield _differs(setting, "seeds", "end within a block of seeds, or after the rivals'")
        expected = mean(setting.values, statistics.redrawn(results))
        if not _close(_plain(expected), _plain(setting.mean)):
            yield _differs(setting, "mean", "is not that of its values")


def _blocks(name: str) -> Blocks:
    """Return the blocks of seeds of an experiment that are computed together, as rounding depends on them."""
    return check_experiment(read_yaml(find_all("experiments")[name]), name).blocks


def _drawn(blocks: Blocks, n: int, part: float, generator: random.Random) -> list[list[int]]:
    """Draw a part of the blocks of the first n seeds, one at least."""
    whole = [block for block in blocks if block[-1] < n]
    return [[*block] for block in sorted(generator.sample(whole, math.ceil(part * len(whole))))]


def _differs(setting: Setting, field: str, text: str) -> Line:
    return Line(Status.DIFFERS, f"{setting.title}: {field}: {text}")


def _plain(model: Any) -> Any:
    return model and model.model_dump()


def _close(one: Any, other: Any) -> bool:
    """Return whether content of JSON is the same, numbers up to rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_RELATIVE**2)
    return bool(one == other)


def _other_versions(certificate: Certificate) -> Iterator[str]:
    """Yield a sentence for each version that is another here, for which bits may differ."""
    here = provenance.versions()
    for name, version in certificate.versions.items():
        if here.get(name) != version:
            yield f"versions.{name}: {version} there, {here.get(name, 'none')} here"
    if certificate.arithmetic != provenance.arithmetic():
        yield f"arithmetic: {certificate.arithmetic} there, {provenance.arithmetic()} here"


def _compared_again(certificate: Certificate, rivals: Mapping[str, xr.Dataset]) -> Iterator[Line]:
    """Yield a line for each setting whose comparison does not follow from its values."""
    digests = reference.digests(rivals)
    if others := [
        s.experiment for s in certificate.settings if s.reference != digests[s.experiment]
    ]:
        text = f"settings.reference: reference results of {others[0]} are others here, verdicts cannot be compared"
        yield Line(Status.INCOMPARABLE, text)
        return
    label = certificate.method.label
    comparison = compare(
        with_values(rivals[name], label, [s for s in certificate.settings if s.experiment == name])
        for name in rivals
    )
    assert comparison is not None
    for setting in certificate.settings:
        again = versus(label, setting.experiment, setting.epsilon, comparison)
        if not _close(_plain(again), _plain(setting.versus)):
            yield _differs(setting, "versus", "does not follow from its values and those of rivals")


def with_values(rivals: xr.Dataset, label: str, settings: list[Setting]) -> xr.Dataset:
    """Return reference results with a further method that has the values of a certificate."""
    # Facts but the values are those of a stated rival: a comparison needs the total alone, which is the same.
    method = rivals.isel(algorithm=[0]).assign_coords(algorithm=[label]).copy(deep=True)
    metric, last = rivals.attrs["metric"], rivals["round"].values[-1]
    for name in (metric, "train_loss"):
        method[name][:] = np.nan
    method["status"][:] = Outcome.NOT_RUN
    if "mistakes" in method:
        method["mistakes"][:] = np.nan
    for setting in settings:
        place = {"algorithm": label, "epsilon": setting.epsilon, "seed": setting.seeds}
        failed = np.array([value is None for value in setting.values])
        method["status"].loc[place] = np.where(failed, Outcome.DIVERGED, Outcome.COMPLETED)
        for name, values in ((metric, setting.values), ("train_loss", setting.losses)):
            method[name].loc[{**place, "round": last}] = np.array(values, float)
    both = xr.concat(
        [rivals, method],
        "algorithm",
        data_vars="all",
        coords="all",
        join="exact",
        compat="override",
    )
    added = [*statistics.added(rivals), label]
    return both.assign_attrs({**rivals.attrs, "added": json.dumps(added)})


class _Check:
    """Comparison of a setting with what was computed again."""

    def __init__(
        self, setting: Setting, asked: Asked, computed: Computed, others: list[str]
    ) -> None:
        self.setting, self.asked, self.computed = setting, asked, computed
        same_code = computed.facts.get("code") == setting.code
        self.reasons = others if same_code else [*others, "code: that of the suite is another here"]

    def lines(self) -> Iterator[Line]:
        """Yield what is found: facts, runs, and the audit."""
        setting, computed = self.setting, self.computed
        stated = setting.model_dump(include={*_FOLLOW})
        for name in _FOLLOW:
            if name not in computed.facts or not _close(stated[name], computed.facts[name]):
                text = f"is {stated[name]}, and follows as {computed.facts.get(name)}"
                yield self._differs(name, text)
        for name in computed.others:
            yield self._differs(f"run.{name}", "is not that of the competition")
        if computed.others:
            return
        sizes = [(len(block.values), len(block.losses)) for block in computed.blocks]
        if sizes != [(len(seeds), len(seeds)) for seeds in self.asked.blocks]:
            yield Line(Status.INCOMPARABLE, f"{setting.title}: not all runs were computed again")
            return
        for seeds, block in zip(self.asked.blocks, computed.blocks, strict=True):
            yield from self._block(seeds, block)
        yield from self._mean()
        yield self._compared()
        if self.asked.attacked:
            yield from self._attacked()

    def _compared(self) -> Line:
        seeds = ", ".join(f"{block[0]} to {block[-1]}" for block in self.asked.blocks)
        text = f"{self.setting.title}: seeds {seeds} were computed again"
        if not self.reasons:
            return Line(Status.EQUAL, f"{text}, and each bit was compared")
        return Line(
            Status.EQUAL,
            f"{text}, but compared loosely, up to {RECORDS} test records, as bits may differ: "
            + "; ".join(self.reasons),
        )

    def _block(self, seeds: list[int], block: Block) -> Iterator[Line]:
        """Yield a line for each seed and fact that differs."""
        setting = self.setting
        for seed, value, loss in zip(seeds, block.values, block.losses, strict=True):
            former, former_loss = setting.values[seed], setting.losses[seed]
            if value is None or former is None:
                same = value is former
            elif self.reasons:
                same = abs(value - former) <= RECORDS / setting.n_test
            else:
                same = value == former and loss == former_loss
            if not same:
                text = f"of seed {seed} is {former} there (loss {former_loss}), and {value} here (loss {loss})"
                yield self._differs("values", text)
        stated = setting.model_dump(include={*_OF_TRACES})
        for name in _OF_TRACES:
            former, here = stated[name], block.facts.get(name)
            if not (_close(former and float(former), here) if self.reasons else former == here):
                yield self._differs(name, f"is {former} there, and {here} here")

    def _mean(self) -> Iterator[Line]:
        """Yield a line if errors that were computed again are other ones on average, which rounding is not."""
        pairs = [
            (value, self.setting.values[seed])
            for seeds, block in zip(self.asked.blocks, self.computed.blocks, strict=True)
            for seed, value in zip(seeds, block.values, strict=True)
        ]
        differences = [
            here - there for here, there in pairs if here is not None and there is not None
        ]
        allowed = RECORDS / self.setting.n_test / math.sqrt(len(pairs))
        if differences and abs(found := float(np.mean(differences))) > allowed:
            text = f"differ by {found:.2g} on average, and rounding allows {allowed:.2g}"
            yield self._differs("values", text)

    def _attacked(self) -> Iterator[Line]:
        """Yield a line on the audit; where bits may differ, an attack may succeed once more or less."""
        pair = [_plain(each) for each in (self.computed.audit, self.setting.audit)]
        if self.reasons and None not in pair:
            bounds = [each.pop("epsilon_lower") for each in pair]
            pair = pair if math.isclose(*bounds, rel_tol=0.1, abs_tol=0.1) else bounds
        if not _close(*pair):
            text = f"is {self.setting.audit} there, and {self.computed.audit} here"
            yield self._differs("audit", text)
        else:
            yield Line(
                Status.EQUAL, f"{self.setting.title}: its audit was made again, and is the same"
            )

    def _differs(self, field: str, text: str) -> Line:
        return _differs(self.setting, field, text)


_FOLLOW = (
    *("epsilon", "delta", "dataset", "metric", "relation", "unit", "trust"),
    *("guarantee", "conditions", "rounds", "gradients"),
)
"""Fields that follow from the settings of a run and the method."""
_OF_TRACES = ("n_test", "floats_sent", "mu", "regret")
"""Fields that follow from a run."""
