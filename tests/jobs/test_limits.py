"""What a limit on the memory of a process ends in."""

import os
import resource
import subprocess
import sys

import pytest

from admmbench.jobs import limits


@pytest.fixture
def limit(monkeypatch):
    """Set a limit that nothing but the suite sees."""

    def set_(value):
        monkeypatch.setattr(resource, "getrlimit", lambda which: (value, resource.RLIM_INFINITY))

    return set_


ERRORS = [
    MemoryError(),
    RuntimeError("can't start new thread"),
    OSError(12, "Cannot allocate memory"),
    "Traceback ...\nRuntimeError: can't start new thread",
]


@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_an_error_of_memory_names_the_limit_if_there_is_one(limit, error):
    limit(1_500_000_000)
    assert limits.explain(error).startswith(
        "out of memory: `ulimit -v` limits each process to 1.50 GB"
    )
    assert limits.explain(ValueError("epsilon: 0")) == ""
    limit(resource.RLIM_INFINITY)
    assert limits.explain(error) == ""


def test_a_limit_is_refused_that_no_study_can_do_with(limit):
    limit(limits.LEAST)
    limits.refuse_small_limit()
    limit(resource.RLIM_INFINITY)
    limits.refuse_small_limit()
    limit(limits.LEAST - 1)
    with pytest.raises(MemoryError):
        limits.refuse_small_limit()


def test_a_study_under_a_small_limit_ends_in_one_line(tmp_path):
    command = f'ulimit -v 900000; exec "{sys.executable}" -m admmbench study'
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "`ulimit -v` limits each process to 0.92 GB" in line
    assert done.stdout == ""
