"""Partitions: every row once, in the order that the scheme says."""

import itertools
import json
import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench import partition, simulate
from admmbench.contracts.made_up_data import make_dataset, make_regression, written_by
from admmbench.datasets import Attribute, Split, n_rows
from admmbench.partition.rows import IID
from admmbench.partition.targets import gini, label_distances


def split_of(scheme, dataset, seeds=1):
    """The split of a partition for some seeds, which has as many agents as the scheme counts."""
    scheme = partition.as_partition(scheme)
    draws = [partial(np.random.default_rng, seed) for seed in range(seeds)]
    split = scheme.split(dataset, draws)
    parts = split.shares if isinstance(split, Split) else split.columns
    assert len(parts) == scheme.n_agents(dataset.info)
    return split


def rows_of(scheme, dataset, seeds=1):
    split = split_of(scheme, dataset, seeds)
    everything = np.arange(split.dataset.n_train)
    return [[(seeds, everything[rows]) for seeds, rows in agent] for agent in split.shares]


def of_seed(agents, s, seeds):
    """Rows of every agent for one of the seeds."""
    return [rows for agent in agents for k, rows in agent if s in range(*k.indices(seeds))]


@settings(max_examples=100)
@given(n=st.integers(1, 60), n_test=st.integers(1, 20), data=st.data(), seeds=st.integers(1, 3))
def test_iid_gives_every_row_to_one_agent_or_to_the_test(n, n_test, data, seeds):
    shuffle = data.draw(st.booleans())
    train = data.draw(st.none() | st.integers(1, n + n_test - 1)) if shuffle else None
    agents = data.draw(st.integers(1, train or n))
    dataset = make_dataset(n, n_test)
    scheme = {"scheme": "iid", "agents": agents, "shuffle": shuffle, "train": train}
    split, shares = split_of(scheme, dataset, seeds), rows_of(scheme, dataset, seeds)
    for name in ("X", "y"):
        parts = [getattr(dataset, f"{name}_{part}") for part in ("train", "test")]
        expected = np.concatenate(parts) if train else parts[0]
        np.testing.assert_array_equal(getattr(split.dataset, f"{name}_train"), expected)
    assert (split.held_out is None) == (train is None)
    for s in range(seeds):
        own = of_seed(shares, s, seeds)
        sizes = [len(rows) for rows in own]
        assert sum(sizes) == (train or n)
        assert max(sizes) - min(sizes) <= 1
        if not shuffle:
            for rows, expected in zip(own, np.array_split(np.arange(n), agents), strict=True):
                np.testing.assert_array_equal(rows, expected)
        if train:
            assert split.held_out[s][0] == slice(s, s + 1)
            own.append(split.held_out[s][1])
        assert sorted(np.concatenate(own)) == list(range(n + n_test if train else n))


# Strata


def stratified(dataset, agents, seeds=1, **settings):
    """Rows of every agent for every seed, as classes and as numbers of rows."""
    scheme = partition.as_partition({"scheme": "stratified", "agents": agents, **settings})
    split = split_of(scheme, dataset, seeds)
    assert split.held_out is None
    np.testing.assert_array_equal(split.dataset.X_test, dataset.X_test)
    used = sum(n_rows(agent[0][1]) for agent in split.shares)
    assert scheme.n_train(dataset) == used
    assert used <= scheme.n_train(dataset.info)
    assert scheme.n_test(dataset) == dataset.n_test
    return split


@settings(max_examples=50)
@given(
    counts=st.lists(st.integers(0, 20), min_size=1, max_size=4).filter(any),
    test=st.integers(0, 9),
    data=st.data(),
    shuffle=st.booleans(),
    everything=st.booleans(),
)
def test_strata_give_every_agent_the_same_classes(counts, test, data, shuffle, everything):
    """What is left out is less than an agent's worth of each class."""
    rng = np.random.default_rng(sum(counts))
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    made = make_dataset(len(y), test, n_classes=len(counts))
    made = replace(made, y_train=y, y_test=rng.integers(0, len(counts), test))
    pool = np.concatenate([y, made.y_test]) if everything else y
    counts = np.bincount(pool, minlength=len(counts))
    agents = data.draw(st.integers(1, int(counts[counts > 0].min())))
    seeds = 2
    split = stratified(
        made, agents, seeds, shuffle=shuffle, **({"train": "all"} if everything else {})
    )
    np.testing.assert_array_equal(split.dataset.y_train, pool)
    for s in range(seeds):
        own = of_seed(split.shares, s, seeds)
        for rows in own:
            assert (np.diff(rows) > 0).all()
            assert np.bincount(pool[rows], minlength=len(counts)).tolist() == [
                count // agents for count in counts
            ]
        assert len(set(np.concatenate(own).tolist())) == sum(map(len, own))


def test_strata_are_cut_in_file_order_or_drawn_for_each_seed():
    made = replace(make_dataset(9, 3, n_classes=2), y_train=np.array([0, 1, 1, 0, 0, 1, 0, 1, 0]))
    shares = stratified(made, 2, seeds=3).shares
    assert [[(k, rows.tolist()) for k, rows in agent] for agent in shares] == [
        [(slice(0, 3), [0, 1, 2, 3])],
        [(slice(0, 3), [4, 5, 6, 7])],
    ]
    shares = stratified(make_dataset(80), 2, seeds=2, shuffle=True).shares
    assert [k for k, _ in shares[0]] == [slice(0, 1), slice(1, 2)]
    assert not np.array_equal(shares[0][0][1], shares[0][1][1])
    again = stratified(make_dataset(80), 2, seeds=2, shuffle=True).shares
    np.testing.assert_array_equal(shares[1][1][1], again[1][1][1])


def test_attributes_of_rows_that_train_too_go_with_them():
    made = make_dataset(20, 10, writers=3)
    split = stratified(made, 2, train="all")
    writer = made.attributes["writer"]
    np.testing.assert_array_equal(
        split.dataset.attributes["writer"].train, np.concatenate([writer.train, writer.test])
    )


def test_a_class_with_fewer_rows_than_agents_is_refused():
    made = replace(make_dataset(9, 3, n_classes=2), y_train=np.array([0, 1, 1, 0, 0, 0, 0, 0, 0]))
    with pytest.raises(ValueError, match="3 agents cannot share the 2 rows of class '1' of made"):
        stratified(made, 3)


def test_a_run_says_how_many_rows_trained():
    made = make_dataset(60, 30)
    kept = sum(count - count % 4 for count in np.bincount(made.y_train))
    trace = simulate(made, "objp", agents={"scheme": "stratified", "agents": 4}, rounds=2)
    assert (trace.attrs["n_train"], trace.attrs["n_test"]) == (kept, 30)
    drawn = {"scheme": "iid", "agents": 4, "shuffle": True, "train": 70}
    for agents, sizes in ((drawn, (70, 20)), (4, (60, 30))):
        trace = simulate(made, "objp", agents=agents, rounds=2)
        assert (trace.attrs["n_train"], trace.attrs["n_test"]) == sizes


SORTED = np.repeat(range(5), 20)
MIXED = np.random.default_rng(0).permutation(SORTED)


@pytest.mark.parametrize(
    ("labels", "scheme", "warned"),
    [
        (SORTED, 5, True),
        (SORTED[::-1].copy(), 3, True),
        (np.repeat([0, 1], [80, 20]), 2, True),
        (MIXED, 5, False),
        (np.tile(range(5), 20), 5, False),
        (SORTED, {"scheme": "iid", "agents": 5, "shuffle": True}, False),
        (SORTED, {"scheme": "quantity", "agents": 5, "alpha": 1}, False),
        (SORTED, 1, False),
        (0 * SORTED, 5, False),
        (SORTED, 100, False),  # with a row each nothing tells an order from chance
    ],
)
@pytest.mark.parametrize("numbers", [False, True])
def test_a_run_on_a_file_in_the_order_of_its_targets_warns(labels, scheme, warned, numbers, caplog):
    made = make_dataset(100, n_classes=5)
    if numbers:
        y = 0.1 + labels.astype(np.float32)
        given = {"class_names": (), "y_test": made.y_test.astype(np.float32)}
        made = replace(made, y_train=y, **given, default_problem="huber")
    else:
        made = replace(made, y_train=labels)
    simulate(made, "objp", agents=scheme, rounds=1, seeds=1)
    assert ("rows in file order" in caplog.text) == warned
    if warned:
        assert f"{{scheme: iid, agents: {scheme}, shuffle: true}}" in caplog.text


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_rare_target_that_two_agents_have_twice_is_no_order(sign, numbers):
    """Of 20 among 1,000 agents with ten rows each, that is so in one of a hundred random orders."""
    rare = np.zeros(10_000, np.int64)
    rare[np.r_[:10_000:625, 1, 626, 5100, 5600]] = 1
    targets = sign * rare if numbers else rare[::-1] if sign < 0 else 1 - rare
    made = make_dataset(len(rare), n_classes=2)
    if numbers:
        given = {"class_names": (), "y_test": made.y_test.astype(np.float32)}
        made = replace(made, **given, default_problem="huber")
    for y, warned in ((targets, False), (np.sort(targets), True)):
        found = replace(made, y_train=y.astype(made.y_test.dtype))
        assert bool(partition.as_partition(1000).order_warning(found)) == warned


def test_numbers_far_out_do_not_hide_an_order():
    y = np.sort(np.random.default_rng(0).standard_cauchy(1000)).astype(np.float32)
    y[1::2] = y[1::2][::-1]
    y[5:7] = 1e9
    made = replace(make_dataset(1000), y_train=y, class_names=(), default_problem="huber")
    made = replace(made, y_test=made.y_test.astype(np.float32))
    assert partition.as_partition(4).order_warning(made)


def test_a_look_at_the_order_takes_little_memory_for_many_classes():
    y = np.random.default_rng(0).permutation(np.arange(20_000) % 500)
    made = replace(make_dataset(20_000, n_classes=500), y_train=y)
    tracemalloc.start()
    try:
        assert not partition.as_partition(10).order_warning(made)
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


def test_shares_of_numbers_are_in_their_unit():
    made = make_dataset(100, n_classes=5)
    y = np.repeat([-10, 10], 50).astype(np.float32)
    given = {"class_names": (), "y_test": y[:20], "target_range": (1e9, 1e9 + 40)}
    made = replace(made, y_train=y, **given, X_test=made.X_test[:20], default_problem="huber")
    shares = partition.as_partition(2).shares(made)
    assert shares["order"] == "file"
    assert shares["lowest"] == 1e9
    assert made.in_unit(made.y_train.astype(float)).tolist() == [1e9] * 50 + [1e9 + 40] * 50


def held(lowest, highest, every, agents):
    values = {"lowest": lowest, "highest": highest, "all": every}
    return {"label": "0", **values, "agents": agents}


@pytest.mark.parametrize(
    ("labels", "scheme", "shares"),
    [
        (np.repeat(range(5), 20), 5, {"order": "file", **held(0, 1, 0.2, 5)}),
        (np.repeat([0, 1], [90, 10]), 10, {"order": "file", **held(0, 1, 0.9, 10)}),
        (np.tile(range(5), 20), 5, {"order": "file", **held(0.2, 0.2, 0.2, 5)}),
        (np.repeat([0, 1], 50), {"scheme": "by_writer"}, held(0, 1, 0.5, 4)),
        (
            np.repeat([0, 1], 50),
            {"scheme": "iid", "agents": 2, "shuffle": True},
            {"order": "random"},
        ),
        (np.repeat([0, 1], 50), {"scheme": "stratified", "agents": 2}, {}),
        (MIXED, {"scheme": "quantity", "agents": 4, "alpha": 0.5}, {"drawn": "sizes"}),
        (MIXED, {"scheme": "dirichlet", "agents": 4, "alpha": 0.5}, {"drawn": "labels"}),
        (
            MIXED,
            {"scheme": "labels", "agents": 4, "per_agent": 2},
            {"drawn": "labels", "labels": 2},
        ),
    ],
)
def test_a_run_says_what_agents_hold(labels, scheme, shares):
    made = make_dataset(100, n_classes=5)
    made = written_by(replace(made, y_train=labels), np.repeat([0, 1, 3], [50, 25, 25]), "abcd")
    trace = simulate(made, "objp", agents=scheme, rounds=1, seeds=1)
    assert json.loads(trace.attrs["shares"]) == shares


# Writers


def test_writers_keep_their_rows_as_slices_that_copy_nothing():
    dataset = make_dataset(50, writers=7)
    split = partition.as_partition({"scheme": "by_writer"}).split(dataset, [])
    for g, ((_, rows),) in enumerate(split.shares):
        assert isinstance(rows, slice)
        of_writer = np.flatnonzero(dataset.attributes["writer"].train == g)
        np.testing.assert_array_equal(np.arange(50)[rows], of_writer)


# Any attribute


def of_wards():
    """Rows of three wards in no order; a fourth ward has none."""
    made = make_dataset(50, 20)
    train = np.random.default_rng(1).integers(0, 3, 50).astype(np.int32)
    ward = Attribute(("a", "b", "c", "d"), train, np.zeros(20, np.int32))
    return replace(made, attributes={"ward": ward})


def test_every_value_of_an_attribute_is_an_agent_wherever_its_rows_are():
    dataset = of_wards()
    scheme = {"scheme": "by", "column": "ward"}
    assert partition.as_partition(scheme).n_agents(dataset.info) == 4
    for code, agent in enumerate(rows_of(scheme, dataset)):
        np.testing.assert_array_equal(
            agent[0][1], np.flatnonzero(dataset.attributes["ward"].train == code)
        )


def test_by_writer_is_by_the_column_writer():
    """Equal runs have one spelling, so that they share their results."""
    for scheme in ({"scheme": "by_writer"}, {"scheme": "by", "column": "writer"}):
        assert partition.as_partition(scheme).model_dump() == {"scheme": "by_writer"}


WHOLE = {"scheme": "iid", "agents": 2, "shuffle": True, "train": 90}
REFUSED = [
    ("made", 61, "61 agents cannot share the 60 training rows"),
    ("made", WHOLE, "90 of the 90 rows of made leave none to test on"),
    ("made", {**WHOLE, "shuffle": False}, "needs shuffle: true"),
    ("made", {"scheme": "by_writer"}, "the 'writer' of a row; its records have no attributes"),
    ("made", {"scheme": "stratified", "agents": 61}, "61 agents cannot share the 60 training"),
    ("made", {"scheme": "labels", "agents": 1, "per_agent": 2}, "1 agents with 2 of the 3 classes"),
    ("made", {"scheme": "labels", "agents": 9, "per_agent": 4}, "made has 3 classes, not 4"),
    ("made", {"scheme": "quantity", "agents": 61, "alpha": 1}, "61 agents cannot share the 60"),
    ("made", {"scheme": "dirichelt"}, "unknown scheme 'dirichelt'; did you mean 'dirichlet'"),
    ("made", {"agents": 3}, "lacks the key scheme: iid, stratified, by, by_writer"),
    ("wards", {"scheme": "by", "column": "wrd"}, "say the 'wrd' of a row; did you mean 'ward'"),
    ("wards", {"scheme": "by", "column": "xy"}, r"'xy' of a row \(there are ward\)"),
    ("numbers", {"scheme": "stratified", "agents": 2}, "targets of made numbers are no classes"),
    ("numbers", {"scheme": "dirichlet", "agents": 4, "alpha": 1}, "numbers are no classes"),
    ("numbers", {"scheme": "labels", "agents": 4, "per_agent": 1}, "numbers are no classes"),
    ("made", {"blocks": 8}, "8 parties cannot share the 7 features of made"),
    ("made", {"blocks": [3, 5]}, "blocks have 8 columns in all, 7 features of made are used"),
    ("made", {"blocks": [3, 3]}, "blocks have 6 columns in all, 7 features of made are used"),
    ("made", {"blocks": 3, "features": 8}, "made has 7 features, not 8"),
    ("made", {"blocks": 5, "features": 4}, "5 parties cannot share the 4 features"),
    ("made", {"blocks": [3, 4], "features": 6}, "blocks have 7 columns in all"),
    *(("made", {"blocks": blocks}, "columns") for blocks in (0, [], [3, 0, 4], [7, -1], 2.5)),
    *(("made", {"blocks": 2, key: 0}, "columns") for key in ("features", "agents", "shuffle")),
    ("made", {"scheme": "columns"}, "columns"),
]


@pytest.mark.parametrize(("name", "scheme", "message"), REFUSED)
def test_what_a_data_set_cannot_give_and_wrong_names_are_refused(name, scheme, message):
    data = {"made": make_dataset(60), "wards": of_wards(), "numbers": make_regression()}[name]
    if "blocks" in str(scheme):
        scheme = {"scheme": "columns", **scheme}
    with pytest.raises(ValueError, match=message):
        partition.as_partition(scheme).n_agents(data.info)


# Drawn shares

DRAWN = [
    {"scheme": "quantity", "agents": 4, "alpha": 0.5},
    {"scheme": "dirichlet", "agents": 4, "alpha": 0.5},
    {"scheme": "labels", "agents": 4, "per_agent": 2},
]


def counts_of(scheme, dataset, seeds):
    """Rows of every agent and class for each seed, shape (seeds, agents, K)."""
    shares = rows_of(scheme, dataset, seeds)
    return np.array(
        [
            [
                np.bincount(dataset.y_train[agent[s][1]], minlength=dataset.n_classes)
                for agent in shares
            ]
            for s in range(seeds)
        ]
    )


@pytest.mark.parametrize("scheme", DRAWN, ids=lambda scheme: scheme["scheme"])
def test_drawn_shares_give_every_row_to_one_agent_anew_for_each_seed(scheme):
    dataset = make_dataset(90)
    shares = rows_of(scheme, dataset, 3)
    for s in range(3):
        assert [agent[s][0] for agent in shares] == [slice(s, s + 1)] * 4
        assert sorted(np.concatenate([agent[s][1] for agent in shares])) == list(range(90))
    assert not np.array_equal(shares[0][0][1], shares[0][1][1])
    again = rows_of(scheme, dataset, 3)
    np.testing.assert_array_equal(shares[2][1][1], again[2][1][1])
    assert partition.as_partition(scheme).fixed.model_dump() == {
        "scheme": "iid", "agents": 4, "shuffle": False, "train": None,
    }  # fmt: skip


@pytest.mark.parametrize("alpha", [0.2, 1, 5])
def test_moments_of_shares_are_those_of_the_dirichlet_distribution(alpha):
    """Of all rows by quantity; of the rows of each class by dirichlet, one class apart from another."""
    agents, seeds = 4, 1500
    made = make_dataset(300)
    made = replace(made, y_train=np.repeat([0, 1, 2], 100))
    variance = (1 - 1 / agents) / (agents * (agents * alpha + 1))
    quantity = counts_of({"scheme": "quantity", "agents": agents, "alpha": alpha}, made, seeds)
    of_classes = counts_of({"scheme": "dirichlet", "agents": agents, "alpha": alpha}, made, seeds)
    for shares in (quantity.sum(axis=2) / 300, *(of_classes[:, :, k] / 100 for k in range(3))):
        np.testing.assert_allclose(shares.mean(axis=0), 1 / agents, atol=0.03)
        np.testing.assert_allclose(shares.var(axis=0), variance, rtol=0.15)
    correlation = np.corrcoef(of_classes[:, 0, 0], of_classes[:, 0, 1])[0, 1]
    assert abs(correlation) < 0.1
    # Who has many rows by quantity has all classes alike: hypergeometric draws.
    large = quantity[quantity.sum(axis=2) > 100]
    np.testing.assert_allclose(
        (large / large.sum(axis=1, keepdims=True)).mean(axis=0), 1 / 3, atol=0.02
    )


@pytest.mark.parametrize(("agents", "per_agent"), [(4, 2), (5, 2), (3, 1), (7, 3)])
def test_each_agent_has_so_many_labels_and_those_of_a_label_share_equally(agents, per_agent):
    scheme = {"scheme": "labels", "agents": agents, "per_agent": per_agent}
    made = make_dataset(300)
    made = replace(made, y_train=np.repeat([0, 1, 2], 100))
    counts = counts_of(scheme, made, 600)
    assert ((counts > 0).sum(axis=2) == per_agent).all()
    owners = (counts > 0).sum(axis=1)
    assert (owners.max(axis=1) - owners.min(axis=1) <= 1).all()
    largest = counts.max(axis=1)
    smallest = np.where(counts > 0, counts, 300).min(axis=1)
    assert (largest - smallest <= 1).all()
    np.testing.assert_allclose((counts > 0).mean(axis=0), per_agent / 3, atol=0.07)


@pytest.mark.parametrize("scheme", DRAWN, ids=lambda scheme: scheme["scheme"])
@pytest.mark.parametrize("method", ["objp", "outp", "dpsgd"])
def test_seeds_that_share_out_unequally_are_what_each_is_alone(scheme, method):
    """Agents may have other numbers of records in each, or none."""
    given = {"agents": {**scheme, "agents": 6}, "epsilon": 1.0, "rounds": 4, "evaluate_every": 1}
    data = make_dataset(60)
    together = simulate(data, method, **given, seeds=[3, 4, 5])
    alone = [simulate(data, method, **given, seeds=[seed]) for seed in (3, 4, 5)]
    for name, values in together.items():
        if "seed" in values.dims:
            expected = np.concatenate([each[name].values for each in alone])
            np.testing.assert_array_equal(values.values, expected, err_msg=name)
    for name in ("epsilon_total", "mistakes", "floats_sent"):
        combine = np.add if name == "mistakes" else np.maximum
        expected = combine.reduce([each[name].values for each in alone])
        np.testing.assert_array_equal(together[name].values, expected, err_msg=name)
    assert (np.diff(together.seconds) >= 0).all()


# Columns


def columns_of(scheme, dataset, seeds=1):
    """Numbers of the columns of every party."""
    split = split_of({"scheme": "columns", **scheme}, dataset, seeds)
    assert split.dataset is dataset
    everything = np.arange(dataset.n_features)
    return [everything[columns] for columns in split.columns]


@settings(max_examples=50)
@given(J=st.integers(1, 40), data=st.data())
def test_a_number_of_blocks_cuts_the_columns_as_numpy_does(J, data):
    parties = data.draw(st.integers(1, J))
    features = data.draw(st.none() | st.integers(parties, J))
    used = J if features is None else features
    found = columns_of({"blocks": parties, "features": features}, make_dataset(5, 1, J))
    for columns, expected in zip(found, np.array_split(np.arange(used), parties), strict=True):
        np.testing.assert_array_equal(columns, expected)


@settings(max_examples=50)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=7), unused=st.integers(0, 4))
def test_blocks_are_a_partition_of_the_columns_in_order(sizes, unused):
    J = sum(sizes)
    scheme = {"blocks": sizes, **({"features": J} if unused else {})}
    found = columns_of(scheme, make_dataset(5, 1, J + unused), seeds=2)
    assert [len(columns) for columns in found] == sizes
    np.testing.assert_array_equal(np.concatenate(found), np.arange(J))


def test_columns_are_the_same_for_all_seeds_and_all_rows_train():
    dataset = make_dataset(60, 30, 7)
    scheme = partition.as_partition({"scheme": "columns", "blocks": [3, 4]})
    assert not scheme.shuffled
    assert scheme.sharing == "columns"
    assert scheme.n_train(dataset.info) == 60
    assert scheme.n_features(dataset.info) == 7
    assert partition.as_partition(2).sharing == "rows"

    def refuse():
        raise AssertionError("columns are not drawn")

    split = scheme.split(dataset, [refuse, refuse])
    assert split.columns == [slice(0, 3), slice(3, 7)]


def test_skew_is_the_gini_coefficient_of_sizes_and_the_total_variation_of_labels():
    """Against the mean absolute difference of all pairs, and half the sum of absolute differences, by plain loops."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 9, (3, 5, 4))
    counts[1, 2] = 0
    sizes = counts.sum(axis=-1)
    for own, found in zip(sizes, gini(sizes), strict=True):
        pairs = [abs(a - b) for a, b in itertools.product(own, own)]
        assert found == pytest.approx(np.mean(pairs) / (2 * own.mean()))
    for own, found in zip(counts, label_distances(counts), strict=True):
        whole = own.sum(axis=0) / own.sum()
        for agent, distance in zip(own, found, strict=True):
            expected = sum(abs(agent / agent.sum() - whole)) / 2 if agent.sum() else np.nan
            assert distance == pytest.approx(expected, nan_ok=True)
    assert gini(np.array([7, 7, 7])) == 0
    assert gini(np.array([0, 0, 21])) == pytest.approx(2 / 3)


def test_test_rows_belong_to_agents_where_an_attribute_says_so():
    data = make_dataset(writers=3)
    split = partition.as_partition({"scheme": "by", "column": "writer"}).split(data, [])
    np.testing.assert_array_equal(split.test_owners, data.attributes["writer"].test)
    assert IID(agents=3).split(data, []).test_owners is None
