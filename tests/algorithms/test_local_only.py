"""The optimum of the first parties."""

import numpy as np
import pytest

from tests.algorithms.literal_hu2019 import learnable, scikit_learn, trace_of


@pytest.mark.parametrize("parties", [1, 2])
def test_local_only_is_scikit_learn_on_the_first_columns(parties):
    dataset = learnable(parties=3)
    trace = trace_of(dataset, "local_only", {"parties": parties}, [3, 2, 4], rounds=2)
    columns = {1: 3, 2: 5}[parties]
    best, w = scikit_learn(dataset, 1e-3, columns)
    assert float(trace.train_loss[0, -1]) == pytest.approx(best, abs=1e-8)
    b = 2.0 * dataset.y_test - 1
    test = np.log1p(np.exp(-b * (dataset.X_test[:, :columns] @ w))).mean()
    assert float(trace.test_loss[0, -1]) == pytest.approx(test, abs=1e-4)
    everything, _ = scikit_learn(dataset, 1e-3)
    assert float(trace.train_loss[0, -1]) > everything + 1e-3
    whole = trace_of(dataset, "centralized", blocks=[3, 2, 4])
    assert float(whole.train_loss[0, -1]) == pytest.approx(everything, abs=1e-8)
    assert float(whole.optimum_norm[0, -1]) > np.linalg.norm(w)


def test_local_only_cannot_join_more_parties_than_there_are(monkeypatch):
    """It is refused before anything runs, by the name of the parameter."""
    monkeypatch.setattr("admmbench.jobs.simulate.run_spec", lambda *_: pytest.fail("it ran"))
    with pytest.raises(ValueError, match=r"params\.parties: 3, but there are 2") as raised:
        trace_of(learnable(), "local_only", {"parties": 3})
    assert "\n" not in str(raised.value)
