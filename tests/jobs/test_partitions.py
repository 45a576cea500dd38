"""Files of partitions: a run that reads one computes what a run that draws it computes, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from admmbench.contracts.made_up_data import make_dataset, make_regression
from admmbench.datasets import Attribute
from admmbench.engine.context import Context
from admmbench.files import netcdf
from admmbench.jobs import partitions
from admmbench.jobs.simulate import run_spec
from admmbench.spec.run import RunSpec
from admmbench.study.address import partition_files

SEEDS = (8, 9, 10, 11)
CLASSES = make_dataset(n_train=90, n_classes=4, writers=5)
NUMBERS = make_regression(n_train=61)


def mixed(data):
    """Records whose hospitals are in no order, one of which has none."""
    hospital = Attribute(
        ("a", "b", "none", "c"),
        np.random.default_rng(3).choice([0, 1, 3], data.n_train).astype(np.int32),
        np.zeros(data.n_test, np.int32),
    )
    return replace(data, attributes={"hospital": hospital})


SCHEMES = {
    "equal shares": (CLASSES, 4),
    "one agent": (CLASSES, {"scheme": "iid", "agents": 1, "shuffle": True}),
    "shuffled": (CLASSES, {"scheme": "iid", "agents": 4, "shuffle": True}),
    "drawn rows": (CLASSES, {"scheme": "iid", "agents": 4, "shuffle": True, "train": 70}),
    "numbers": (NUMBERS, {"scheme": "iid", "agents": 4, "shuffle": True}),
    "folds": (CLASSES, {"scheme": "stratified", "agents": 4}),
    "drawn folds": (
        CLASSES,
        {"scheme": "stratified", "agents": 4, "shuffle": True, "train": "all"},
    ),
    "writers": (CLASSES, {"scheme": "by_writer"}),
    "hospitals": (mixed(CLASSES), {"scheme": "by", "column": "hospital"}),
    "quantity": (CLASSES, {"scheme": "quantity", "agents": 4, "alpha": 0.3}),
    "quantity of numbers": (NUMBERS, {"scheme": "quantity", "agents": 4, "alpha": 0.3}),
    "dirichlet": (CLASSES, {"scheme": "dirichlet", "agents": 4, "alpha": 0.3}),
    "labels": (CLASSES, {"scheme": "labels", "agents": 4, "per_agent": 2}),
    "columns": (make_dataset(n_classes=2), {"scheme": "columns", "blocks": [2, 4, 1]}),
    "some columns": (
        make_dataset(n_classes=2),
        {"scheme": "columns", "blocks": 3, "features": 5},
    ),
}


def spec_of(data, agents, **changes):
    columns = isinstance(agents, dict) and agents["scheme"] == "columns"
    method = {"algorithm": "dp_admm_sharing", "problem": "logistic"} if columns else {}
    given = {"algorithm": "objp", "epsilon": 1.0, "rounds": 4, "evaluate_every": 2, "seeds": SEEDS}
    return RunSpec.model_validate({"dataset": data, "agents": agents, **given, **method, **changes})


def written(folder, spec, data):
    """Files as the workflow has them."""
    paths = []
    for name, seeds in partition_files(spec, "made").items():
        paths.append(folder / name)
        netcdf.write(partitions.draw(spec.scheme, data, seeds), paths[-1])
    return paths


@pytest.mark.parametrize("name", SCHEMES)
def test_a_run_with_files_is_the_run_without_bit_for_bit(tmp_path, name):
    data, agents = SCHEMES[name]
    spec = spec_of(data, agents)
    files = written(tmp_path, spec, data)
    assert len(files) == (2 if spec.scheme.shuffled else 1)
    read, drawn = (
        run_spec(spec, data, Context(partition=partition))
        for partition in (partitions.read(spec, data, files), None)
    )
    xr.testing.assert_identical(read.drop_vars("seconds"), drawn.drop_vars("seconds"))


def test_a_run_has_the_rows_of_its_file(tmp_path):
    """It does not draw them once more."""
    data, agents = SCHEMES["shuffled"]
    spec = spec_of(data, agents, seeds=(3,))
    (file,) = written(tmp_path, spec, data)
    stored = netcdf.read(file)
    stored["owner"][:] = np.arange(90) % 4
    netcdf.write(stored, file)
    split = partitions.read(spec, data, [file]).split(spec.scheme, data, spec.seeds)
    for agent, ((seeds, rows),) in enumerate(split.shares):
        assert seeds == slice(0, 1)
        np.testing.assert_array_equal(rows, np.arange(agent, 90, 4))


def test_rows_in_order_are_slices_of_all_seeds(tmp_path):
    """Slices copy nothing, and all seeds then share one problem."""
    data, agents = SCHEMES["writers"]
    spec = spec_of(data, agents)
    read = partitions.read(spec, data, written(tmp_path, spec, data))
    split = read.split(spec.scheme, data, spec.seeds)
    for ((seeds, rows),), writer in zip(split.shares, range(5), strict=True):
        assert seeds == slice(0, 4)
        assert (data.attributes["writer"].train[rows] == writer).all()
        assert isinstance(rows, slice)


@pytest.mark.parametrize("name", SCHEMES)
def test_counts_are_those_of_a_count(name):
    data, agents = SCHEMES[name]
    scheme = spec_of(data, agents).scheme
    drawn = partitions.draw(scheme, data, SEEDS)
    owner, counts = (
        each if "seed" in each.dims else each.expand_dims("seed") for each in drawn.values()
    )
    for s in range(owner.sizes["seed"]):
        for agent in range(counts.sizes["agent"]):
            (own,) = np.nonzero(owner.values[s] == agent)
            if "class" not in counts.dims:
                assert counts.values[s, agent] == len(own)
                continue
            targets = np.concatenate([data.y_train, data.y_test])[own]
            for label, name in enumerate(data.class_names):
                number = counts.isel(seed=s, agent=agent).sel({"class": name})
                assert number == sum(target == label for target in targets)


def test_what_is_of_something_else_is_refused(tmp_path):
    data, agents = SCHEMES["shuffled"]
    spec = spec_of(data, agents)
    first, second = written(tmp_path, spec, data)
    for other, key in (
        (spec_of(data, {**agents, "agents": 3}), "scheme"),
        (spec_of(replace(data, key="other"), agents), "records"),
    ):
        with pytest.raises(netcdf.StaleResultError, match=f"nc: .* another {key}; remove"):
            partitions.read(other, other.dataset, [first, second])
    with pytest.raises(netcdf.StaleResultError, match="no partition for seed 8; name the files"):
        partitions.read(spec, data, [second])
    second.write_bytes(second.read_bytes()[:-1])
    with pytest.raises(netcdf.StaleResultError, match=r"incomplete, altered .* makes it again"):
        partitions.read(spec, data, [second])
