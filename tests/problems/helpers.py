"""Problems on small data, shared out; and records of an agent, as the schemes say in words."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st

from admmbench import partition
from admmbench.contracts.made_up_data import make_dataset
from admmbench.datasets import Attribute
from admmbench.problems import as_problem

SHUFFLED = {"scheme": "iid", "agents": 7, "shuffle": True}
DRAWN = {**SHUFFLED, "train": 61}
BY_WRITER = {"scheme": "by_writer"}

rngs = st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed))


def bind_rows(
    dataset, loss, scheme=1, seeds=(0,), sensitivity="local", dtype="float64", **settings
):
    """A problem over rows; records are as they are unless settings say otherwise."""
    draws = [partial(np.random.default_rng, seed) for seed in seeds]
    split = partition.as_partition(scheme).split(dataset, draws)
    problem = as_problem({"loss": loss, "records": {}, **settings}, "rows")
    return problem.bind(split, len(seeds), sensitivity, dtype)


def rows_by_writer(dataset):
    """Rows of each writer."""
    writer = dataset.attributes["writer"]
    return [np.flatnonzero(writer.train == code) for code in range(len(writer.values))]


def bind_columns(dataset, loss="logistic", blocks=1, seeds=1, dtype="float64", **settings):
    """A problem over columns."""
    scheme = partition.as_partition({"scheme": "columns", "blocks": blocks})
    split = scheme.split(dataset, [None] * seeds)
    return as_problem({"loss": loss, **settings}, "columns").bind(split, seeds, "local", dtype)


def everyone(problem):
    """All agents in one block."""
    return problem.block(slice(0, problem.n_agents))


def gradient_of(block, z, mean_over, floor=0.0):
    """Gradients and their sensitivities in l1."""
    found = block.gradient(z, mean_over=mean_over, floor=floor)
    return found.value, found.sensitivity.l1


def models(w, z=None):
    """The part of a method's state that a problem evaluates."""
    return SimpleNamespace(w=w, z=np.broadcast_to(w, (9, *w.shape)) if z is None else z)


def one_by_one(function, items):
    return [function(item) for item in items]


def with_records(X, y=None, n_test=1, n_classes=2):
    """A data set of given training records and classes."""
    dataset = make_dataset(len(X), n_test, np.shape(X)[1], n_classes)
    targets = dataset.y_train if y is None else np.asarray(y, np.int64)
    return replace(dataset, X_train=np.asarray(X, np.float32), y_train=targets)


def with_numbers(n_train=60, n_test=30, n_features=7, seed=0, **facts):
    """A data set for regressions."""
    dataset = make_dataset(n_train, n_test, n_features, 2, **facts)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=n_features)
    y_train, y_test = (
        (3 * X @ w + rng.standard_t(2, len(X))).astype(np.float32)
        for X in (dataset.X_train, dataset.X_test)
    )
    return replace(dataset, y_train=y_train, y_test=y_test, class_names=(), target_unit="m")


def with_sex(dataset, seed):
    """A data set whose records have an attribute of two values, drawn."""
    rng = np.random.default_rng(seed)
    parts = (rng.integers(0, 2, n).astype(np.int32) for n in (dataset.n_train, dataset.n_test))
    return replace(dataset, attributes={"sex": Attribute(("F", "M"), *parts)})


def records(dataset):
    """a and b = +-1 of all records, those of the training part first."""
    a = np.concatenate([dataset.X_train, dataset.X_test]).astype(np.float64)
    return a, np.where(np.concatenate([dataset.y_train, dataset.y_test]) == 1, 1.0, -1.0)


def shares(scheme, dataset, seed):
    """Rows of every agent, and those that test, as the scheme says in words."""
    n = dataset.n_train
    test = np.arange(n, n + dataset.n_test)
    if scheme == BY_WRITER:
        return rows_by_writer(dataset), test
    train = scheme.get("train")
    order = np.random.default_rng(seed).permutation(n + dataset.n_test if train else n)
    return np.array_split(order[:train], scheme["agents"]), order[train:] if train else test
