"""Shared fixtures: small data that need no files, and a cache that belongs to the test session."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.metadata
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers
from xdist.scheduler import LoadScopeScheduling

from admmbench import compiled, plugins
from admmbench.contracts.made_up_data import make_dataset
from admmbench.datasets import Dataset

pytest_plugins = ["tests.made"]  # fixtures of made-up results
pytest.register_assert_rewrite("tests.algorithms")  # transcriptions compare trajectories

# A slow machine is no fault of the code. What hypothesis chooses where it finds itself in continuous integration is not
# taken over.
_PATIENT = hypothesis.settings(
    hypothesis.settings.get_profile("default"),
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
# Examples follow from the test alone, so that a change that passes here passes elsewhere.
hypothesis.settings.register_profile("same", _PATIENT, derandomize=True, database=None)
# They are fresh, and what is found is kept and tried first the next time.
hypothesis.settings.register_profile("explore", _PATIENT)
hypothesis.settings.load_profile("same")

# So many times more examples are drawn to explore.
EXPLORED = 10

# Tests make many objects that live long; looking through them for garbage less often saves 4 % of their time.
gc.set_threshold(100_000, 50, 50)


# Folders and files whose tests take longest: they come first, so that no process is left with one of them at the end.
LONGEST = {"workflow", "contracts", "test_compiled.py", "test_device.py", "test_findings.py"}


def pytest_configure(config: pytest.Config) -> None:
    """Draw nothing from numbers in the code that happens to be imported: which it is depends on the tests before."""
    if not _explores(config):
        assert callable(providers._get_local_constants)
        providers._get_local_constants = providers.Constants


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests first, and more examples for who explores."""
    items.sort(key=lambda item: LONGEST.isdisjoint((item.path.parent.name, item.path.name)))
    if _explores(config):
        tests = {item.obj for item in items if isinstance(item, pytest.Function)}
        for test in filter(hypothesis.is_hypothesis_test, tests):
            own = test._hypothesis_internal_use_settings
            test._hypothesis_internal_use_settings = hypothesis.settings(
                own, max_examples=EXPLORED * own.max_examples
            )


def _explores(config: pytest.Config) -> bool:
    return bool(config.getoption("--hypothesis-profile", None) == "explore")


class ByFile(LoadScopeScheduling):
    """Share out tests over processes by their files, and contracts by the method that keeps them."""

    def _split_scope(self, nodeid: str) -> str:
        file, _, name = nodeid.partition("::")
        if Path(file).parent.name == "contracts":
            return file + name.partition("[")[2].partition(":")[0]
        return file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process more than there are cores: tests of the workflow wait for Snakemake a good part of their time."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Take files in their order, not by their numbers of tests."""
    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[None]:
    """Prepared data of the tests do not touch the user's cache; processes that share the tests share it.

    Compiled code stays for the next session: sixty kernels take two minutes to compile, and their names are hashes of
    their source.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    kept: pytest.Cache | None = getattr(pytestconfig, "cache", None)  # its plugin may be off
    if kept is not None:
        (folder / "cache").mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):  # another process was first
            (folder / "cache" / compiled.FOLDER).symlink_to(kept.mkdir("kernels"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADMMBENCH_CACHE", str(folder / "cache"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _packages_looked_up_once() -> Iterator[None]:
    """Packages stay while tests run; looking them up takes a tenth of a short run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugins, "entry_points", functools.cache(importlib.metadata.entry_points))
        yield


@pytest.fixture
def signals_heard() -> Iterator[None]:
    """Signals of a terminal do what they do by default, also where the tests were started so that they ignore them.

    `nohup`, cron and a shell's `&` start processes that way, and commands that a test starts inherit it.
    """
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    former = {number: signal.signal(number, default) for number, default in defaults.items()}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.fixture
def made() -> Dataset:
    return make_dataset()
