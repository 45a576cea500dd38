"""Every data set that needs no download keeps the contracts that the package ships."""

import pytest

from admmbench.contracts.datasets import dataset_checks
from admmbench.datasets import describe, list_datasets

CHECKS = [
    pytest.param(check, id=f"{name}: {check.name}")
    for name in list_datasets()
    if name != "table" and not describe(name).files
    for check in dataset_checks(name)
]


@pytest.mark.parametrize("check", CHECKS)
def test_keeps_its_contract(check):
    check.run()
