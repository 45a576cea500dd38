"""What a dry run shows of many jobs."""

from types import SimpleNamespace

from admmbench.watch.dryrun import table

STUDY = SimpleNamespace(shared=["mnist/a-1", "mnist/b-2"])


def test_a_data_set_is_one_row():
    stats = {"prepare": 1, "run_mnist_a_1": 3, "run_mnist_b_2": 2, "total": 6}
    rows = [line.split() for line in table(stats, STUDY).split("\n")]
    assert rows == [["prepare", "1"], ["runs", "on", "mnist", "5"], ["total", "6"]]
    assert table({f"suite_{rule}": count for rule, count in stats.items()}, STUDY).split("\n")[
        1
    ] == ("runs on mnist       5")
