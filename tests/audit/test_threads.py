"""Nothing is said from one audit or run to another but by arguments."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from admmbench.audit.settings import AuditSettings
from admmbench.contracts.runs import run_without_engine
from tests.audit.runs import THREE, TWO, make_spec, short_audit

LONG = AuditSettings(rounds=9, repeats=96, canaries=["worst", "natural"])


def found(name):
    """Final model of each of some runs, one after another."""
    spec = make_spec(name, epsilon=float("inf"), seeds=3)
    return np.array([run_without_engine(spec, THREE, 9).state.w for _ in range(8)])


WORK = {
    "an audit": lambda: short_audit("outp"),
    "a longer one": lambda: short_audit("objp", settings=LONG),
    "one with noise in problems": lambda: short_audit("dvp", TWO),
    "runs": lambda: found("iadmm"),
    "optima": lambda: found("centralized"),
}


def test_side_by_side_each_gives_what_it_gives_alone():
    alone = {name: work() for name, work in WORK.items()}
    ready = Barrier(len(WORK))

    def together(work):
        ready.wait()
        return work()

    with ThreadPoolExecutor(len(WORK)) as pool:
        results = dict(zip(WORK, pool.map(together, WORK.values()), strict=True))
    for name, one in alone.items():
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(results[name], one, err_msg=name)
        else:
            assert results[name] == one, name
