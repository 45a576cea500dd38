"""Tests as other processors run them: `python -m tests.kernels generic Haswell -- tests/problems`.

OpenBLAS and numba choose their code by the processor. Here they take that of another one, as far as this one can run
it.
"""

from __future__ import annotations

import os
import subprocess
import sys

PROCESSORS = {
    "generic": {
        "OPENBLAS_CORETYPE": "Nehalem",
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
    },
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
}
"""Environments, from the oldest processor to the newest; the libraries choose what is not in them."""

# Multiplies matrices by the kernels of numpy and scipy. A kernel whose instructions are not there ends the process.
_PROBE = """
import os
import numpy, scipy.linalg, threadpoolctl
for dtype in (numpy.float32, numpy.float64):
    matrix = numpy.eye(64, dtype=dtype)
    assert (matrix @ matrix == matrix).all()
    assert (scipy.linalg.solve(matrix, matrix) == matrix).all()
blas = [each for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"]
assert all(each["architecture"] == os.environ["OPENBLAS_CORETYPE"] for each in blas)
"""


def main(words: list[str]) -> int:
    """Run pytest with what follows `--` under each processor that is named before it, and print which are left out."""
    at = words.index("--")
    status = 0
    for name in words[:at]:
        environment = os.environ | PROCESSORS[name]
        probe = subprocess.run([sys.executable, "-c", _PROBE], env=environment, capture_output=True)
        if probe.returncode:
            print(f"{name}: left out, this processor cannot run it", flush=True)
            continue
        print(f"{name}:", flush=True)
        command = [sys.executable, "-m", "pytest", *words[at + 1 :]]
        status = subprocess.run(command, env=environment).returncode or status
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
