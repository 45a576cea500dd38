"""dp-accounting by parts, in processes of commands."""

import sys

import dp_accounting as dp
import pytest

from admmbench.jobs import library


def test_parts_of_dp_accounting_stand_for_the_whole(monkeypatch):
    monkeypatch.delitem(sys.modules, library.NAME)
    library.import_parts_alone()
    package = sys.modules[library.NAME]
    assert package is not dp
    assert package.pld is dp.pld
    assert package.LaplaceDpEvent is dp.LaplaceDpEvent
    with pytest.raises(AttributeError, match="nothing"):
        _ = package.nothing
