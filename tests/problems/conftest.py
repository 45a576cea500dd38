"""Data with two classes."""

import numpy as np
import pytest

from admmbench.contracts.made_up_data import make_dataset, written_by


@pytest.fixture
def two():
    return make_dataset(n_classes=2)


@pytest.fixture
def written():
    """Three writers, of very different diligence."""
    dataset = make_dataset(n_classes=2, writers=3)
    return written_by(dataset, np.repeat(np.arange(3), [4, 40, 16]))
