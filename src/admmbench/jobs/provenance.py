"""Provenance of a result: the run, its data, its code and packages, and the machine."""

from __future__ import annotations

import json
import os
import platform
from functools import lru_cache
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from admmbench.datasets import Dataset
from admmbench.engine import devices
from admmbench.jobs import fingerprint
from admmbench.problems.metrics import BY_CLIENT, best_constant, describe_clients
from admmbench.problems.rows import Rows
from admmbench.spec.run import RunSpec

# Settings of a run that are attributes as they are.
_AS_STATED = (
    "epsilon",
    "delta",
    "sensitivity",
    "noise_ratio",
    "rounds",
    "evaluate_every",
    "dtype",
    "time_limit",
)
_PACKAGES = ("admmbench", "dp-accounting", "numba", "numpy", "scipy", "xarray")


def describe(spec: RunSpec, dataset: Dataset, device: str = devices.CPU) -> dict[str, Any]:
    """Return the global attributes of a trace; mappings are JSON text, as netCDF has no nested attributes."""
    # A scheme may train on more rows than the training part has, or on fewer, so it states the numbers.
    scheme = spec.scheme
    return {
        "title": f"{spec.algorithm} on {dataset.name}",
        **requested(spec),
        "code": _json(fingerprint.parts(spec)),
        "dataset_note": dataset.note,
        "shares": _json(scheme.shares(dataset)),
        "n_train": scheme.n_train(dataset),
        "n_test": scheme.n_test(dataset),
        "n_features": spec.n_features,
        "n_classes": dataset.n_classes,
        "data_checksums": _json(dataset.checksums),
        "citation": dataset.citation,
        "versions": _json(versions(spec.method.resources.packages)),
        "machine": machine(),
        "arithmetic": arithmetic(device),
    }


def metric_attributes(spec: RunSpec, dataset: Dataset) -> dict[str, float]:
    """Return the attributes of the metric: the value of the best constant if the metric is of the test part."""
    usual, problem = "test_error" if dataset.n_classes else "test_rmse", spec.as_problem
    if problem.loss.metric != usual or not spec.scheme.tests_on_test_part:
        return {}
    if isinstance(problem, Rows) and problem.metric:
        owners = spec.scheme.test_owners(dataset)
        constant = best_constant(problem.metric, dataset, owners, problem.by_client or 1)
        return {"best_constant": constant}
    return {"best_constant": dataset.constant_error}


def client_attributes(spec: RunSpec, dataset: Dataset) -> dict[str, dict[str, int]]:
    """Return the attributes of metrics by client, by variable; none where no client is tested apart."""
    fewest = getattr(spec.as_problem, "by_client", None)
    owners = spec.scheme.test_owners(dataset)
    if fewest is None or owners is None:
        return {}
    names = [facts.variable for facts in BY_CLIENT.values()]
    return {name: describe_clients(owners, fewest, name) for name in names}


def requested(spec: RunSpec) -> dict[str, Any]:
    """Return the attributes that follow from the specification of a run, and the fingerprint of its code."""
    complete = spec.complete()
    return {
        "dataset": spec.info.name,
        "dataset_settings": _json(spec.info.settings),
        "algorithm": spec.algorithm,
        "variant": spec.variant,
        "params": _json(complete["params"]),
        "problem": _json(complete["problem"]),
        "metric": spec.as_problem.judged_by,
        "partition": _json(complete["agents"]),
        "agents": spec.n_agents,
        "privacy": _json(complete["privacy"]),
        "accountants": _json(complete["accountants"]),
        **{name: complete[name] for name in _AS_STATED if name in complete},
        **({"mirror": 1} if spec.mirror else {}),
        "fingerprint": fingerprint.of_run(spec),
    }


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


@lru_cache
def versions(more: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the versions of Python, of the packages that numbers depend on, and of more packages of a method."""
    packages = {name: fingerprint.version(name) for name in (*_PACKAGES, *more)}
    return {"python": platform.python_version(), **packages}


@lru_cache
def arithmetic(device: str = devices.CPU) -> str:
    """Return the causes of rounding: kernels of linear algebra, and the instructions that loops are compiled for.

    The libraries choose both by the processor, or by their environment variables.
    """
    if device != devices.CPU:
        return devices.find(device).describe()
    from numba.core.registry import cpu_target

    libraries = (library for library in threadpool_info() if library["user_api"] == "blas")
    blas = {
        f"{library['internal_api']} {library.get('architecture', '')}".strip()
        for library in libraries
    }
    _, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return f"{', '.join(sorted(blas))}; numba {processor} {fingerprint.of_text(features)[:8]}"


@lru_cache
def machine() -> str:
    """Return the processor, the number of cores and the operating system, as text."""
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
