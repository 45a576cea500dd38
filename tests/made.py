"""Synthetic results in the schema of ``results.nc``, with every number under the test's control."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from admmbench.figures import Figure

INF = float("inf")
METHODS = {
    "OutP": "outp",
    "OutP+": "outp",
    "ObjP": "objp",
    "ObjPM": "objp",
    "ObjT": "objt",
    "Non-private": "iadmm",
}
PARAMS = {"ObjPM": {"local_updates": 10}, "OutP+": {"rho": {"scale": 0.01}}}
RELEASES = {
    "outp": ("approximate", "gaussian"),
    "objp": ("pure", "laplace"),
    "objt": ("pure", "laplace"),
}
CAVEATS = {"ObjPM": "local_updates", "OutP": "sigma_squared"}


def build(
    errors: Mapping[str, Mapping[float, float]],
    *,
    name: str = "study",
    seeds: int = 10,
    rounds: tuple[int, ...] = (1, 100, 200, 300),
    spread: float = 0.005,
    diverged: Mapping[tuple[str, float], int] | None = None,
    timed_out: Mapping[tuple[str, float], int] | None = None,
    noise: Mapping[str, float] | None = None,
    shared_noise: float = 0.0,
    agents: int = 10,
    methods: Mapping[str, str] | None = None,
    params: Mapping[str, object] | None = None,
    **attrs: object,
) -> xr.Dataset:
    """Results whose final test error has exactly the given mean over the seeds.

    ``errors`` maps label -> epsilon -> mean of the final test error (a fraction). The error falls
    linearly from 0.9. Seeds are spread evenly by ``spread``, in an order that differs between labels,
    plus ``shared_noise`` times the seed number for all labels alike. ``methods`` and ``params`` say what is behind a
    label where its first word does not: a method of nobody's otherwise.
    """
    labels = list(errors)
    epsilons = sorted({eps for given in errors.values() for eps in given})
    shape = (len(labels), len(epsilons), seeds, len(rounds))
    dims = ("algorithm", "epsilon", "seed", "round")
    test_error = np.full(shape, np.nan)
    magnitude = np.full(shape, np.nan)
    status = np.full(shape[:3], -1, np.int8)
    fade = np.linspace(1, 0, len(rounds))
    for a, label in enumerate(labels):
        order = np.random.default_rng(a).permutation(seeds)
        offsets = (order - (seeds - 1) / 2) * spread + np.arange(seeds) * shared_noise
        for eps, mean in errors[label].items():
            e = epsilons.index(eps)
            ends = mean + offsets
            test_error[a, e] = ends[:, None] + fade * (0.9 - ends[:, None])
            size = 0.0 if eps == INF else (noise or {}).get(label, 1.0) / eps
            magnitude[a, e] = size * (1 + 0.01 * offsets)[:, None]
            status[a, e] = 0
            for code, broken in ((1, diverged), (2, timed_out)):
                count = (broken or {}).get((label, eps), 0)
                status[a, e, :count] = code
                test_error[a, e, :count, len(rounds) // 2 :] = np.nan
                magnitude[a, e, :count, len(rounds) // 2 :] = np.nan
    epsilon = np.array(epsilons)[None, :, None] * np.ones((len(labels), 1, len(rounds)))
    ran = (status >= 0).any(axis=2)[..., None]
    composed = np.where(ran, epsilon * np.sqrt(rounds), np.nan)
    units = {"long_name": "test error", "units": "1", "valid_range": [0.0, 1.0]}
    known = {**METHODS, **(methods or {})}
    behind = [known.get(label.split()[0], "mine") for label in labels]
    releases = [RELEASES.get(method, ("none", "none")) for method in behind]
    worst = attrs.get("sensitivity", "local") == "global"
    relation = attrs.get("relation", "zero_out")
    guarantees = ["proved" if worst and notion != "none" else "none" for notion, _ in releases]
    ds = xr.Dataset(
        {
            "test_error": (dims, test_error, units),
            "test_loss": (dims, 3 * test_error, {"long_name": "test loss", "units": "nat"}),
            "train_loss": (dims, 2 * test_error, {"long_name": "training loss", "units": "nat"}),
            "noise_magnitude": (dims, magnitude, {"long_name": "noise magnitude", "units": "1"}),
            "consensus_violation": (
                dims,
                40 * np.where(np.isnan(test_error), np.nan, fade),
                {"long_name": "consensus violation", "units": "1"},
            ),
            "epsilon_composed": (
                ("algorithm", "epsilon", "round"),
                composed,
                {"long_name": "composed epsilon", "units": "1"},
            ),
            "epsilon_total": (
                ("algorithm", "epsilon", "round"),
                np.where(np.array(guarantees)[:, None, None] == "none", np.inf, composed),
                {"long_name": "guaranteed epsilon", "units": "1"},
            ),
            "epsilon_claimed": (
                ("algorithm", "epsilon", "round"),
                np.where(ran, epsilon * np.array(rounds), np.nan),
                {"long_name": "epsilon by the paper's accounting", "units": "1"},
            ),
            "epsilon_moments": (
                ("algorithm", "epsilon", "round"),
                1.6 * composed,
                {"long_name": "composed epsilon, moments accountant", "units": "1"},
            ),
            "floats_sent": (
                ("algorithm", "epsilon", "round"),
                np.where(ran, 7840.0 * np.array(rounds), np.nan),
                {"long_name": "numbers sent", "units": "1"},
            ),
            "status": (
                dims[:3],
                status,
                {
                    "long_name": "state of the run",
                    "units": "1",
                    "flag_values": np.array([-1, 0, 1, 2], np.int8),
                    "flag_meanings": "not_run completed diverged timed_out",
                },
            ),
        },
        coords={
            "algorithm": labels,
            "epsilon": epsilons,
            "seed": np.arange(seeds),
            "round": list(rounds),
            "method": ("algorithm", behind),
            "notion": ("algorithm", [release[0] for release in releases]),
            "noise": ("algorithm", [release[1] for release in releases]),
            "relation": (
                "algorithm",
                ["none" if notion == "none" else relation for notion, _ in releases],
            ),
            "unit": (
                "algorithm",
                ["none" if notion == "none" else "record" for notion, _ in releases],
            ),
            "guarantee": ("algorithm", guarantees),
            "caveats": (
                "algorithm",
                [json.dumps({CAVEATS[label]: {}} if label in CAVEATS else {}) for label in labels],
            ),
            "variant": (
                "algorithm",
                ["paper" if "paper" in label else "reference" for label in labels],
            ),
            "params": (
                "algorithm",
                [json.dumps({**PARAMS, **(params or {})}.get(label, {})) for label in labels],
            ),
            "agents": ("algorithm", [agents] * len(labels)),
            "features": ("algorithm", [784] * len(labels)),
            "rounds": (
                ("algorithm", "epsilon"),
                np.full((len(labels), len(epsilons)), rounds[-1]),
            ),
            "delta": ("algorithm", [1e-6] * len(labels)),
            "fingerprint": ("algorithm", [f"{a:02d}" + 62 * "f" for a in range(len(labels))]),
        },
        attrs={
            "experiment": name,
            "title": f"Study {name}",
            "paper": "ryu2022",
            "dataset": "mnist",
            "dataset_note": "",
            "rounds": rounds[-1],
            "delta": 1e-6,
            "sensitivity": "local",
            "relation": "zero_out",
            "partition": json.dumps({"scheme": "iid", "agents": 10}),
            "problem": json.dumps({"loss": "softmax"}),
            "metric": "test_error",
            "dtype": "float32",
            "data_checksums": json.dumps({"train-images-idx3-ubyte.gz": "ab" * 32}),
            "versions": json.dumps({"numpy": "2.4.6", "xarray": "2026.9.0"}),
            "machine": "x86_64, 2 cores",
            "n_train": 60000,
            "n_test": 10000,
            "n_features": 784,
            "n_classes": 10,
        },
    )
    ds["epsilon"].attrs["budget_of"] = "iteration"
    return ds.assign_attrs(**attrs)


def totals(results: xr.Dataset) -> xr.Dataset:
    """Let budgets be those of whole runs: the same results, with noise that was solved for them."""
    spent = 0.998 * results["epsilon"] * results["round"] / results["round"].max()
    guaranteed = results["guarantee"] != "none"
    total = xr.where(guaranteed, spent, np.inf).reset_coords(drop=True)
    total = total.transpose(*results["epsilon_total"].dims)
    found = results.assign(epsilon_total=total.assign_attrs(results["epsilon_total"].attrs))
    found["epsilon"].attrs["budget_of"] = "run"
    return found


ERRORS = {
    "OutP": {0.05: 0.24, 0.1: 0.20, 1.0: 0.15},
    "ObjP": {0.05: 0.14, 0.1: 0.13, 1.0: 0.12},
    "ObjPM": {0.05: 0.12, 0.1: 0.11, 1.0: 0.10},
    "Non-private": {INF: 0.091},
}


@pytest.fixture
def results() -> xr.Dataset:
    return build(ERRORS, noise={"OutP": 0.1})


@pytest.fixture(scope="session")
def figure() -> Callable[..., Figure]:
    """Make a figure, curves of the test error if nothing else is given."""

    def make(**given: object) -> Figure:
        return Figure.model_validate({"name": "curves", "kind": "curves", **given})

    return make


def described(**given: object) -> SimpleNamespace:
    """Make what the report reads of an experiment's configuration."""
    return SimpleNamespace(
        **{
            "title": "A study",
            "description": "",
            "artefacts": [],
            "figures": [],
            "algorithms": [],
            "params": {},
            "chosen": {},
            "searches": {},
            **given,
        }
    )


def seeds(*values: float) -> xr.DataArray:
    """One value for each seed."""
    return xr.DataArray(list(values), dims="seed")
