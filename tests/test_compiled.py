"""Code made from equations: kept between processes, and never stale."""

import functools
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from admmbench import compiled, plugins
from admmbench.algorithms.linearized import proximal_step, trust_region_step

FACTOR = 2.0


@functools.cache
def documented(a: float, b: float) -> float:
    """Say what it is."""
    middle = np.sqrt(a)
    return middle + math_free(b) if b > 0 else abs(b)


def math_free(b):
    return b


def test_an_equation_stands_alone():
    source = compiled.equation_source(trust_region_step, "step")
    assert source.startswith("def step(gradient, z, w, dual, rho, radius):")
    assert '"""' not in source
    assert "@" not in source
    assert compiled.equation_source(proximal_step, "step") != source


class Sloped:
    """Owner of an equation."""

    steep = 2.0

    def slope(self, u, y):
        """Of a field."""
        return self.steep * u - y


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        (Sloped().slope, "takes self: write a function, and give it numbers"),
        (documented, "'documented' uses math_free: write it out, or take it as an argument"),
        (np.add, "has no source"),
        (lambda a: a * FACTOR, "is no function of its own: write it with def"),
    ],
)
def test_one_that_does_not_is_refused(equation, message):
    with pytest.raises(ValueError, match=message):
        compiled.equation_source(equation, "step")


def test_a_module_is_kept_and_named_by_its_text(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path))
    caplog.set_level("INFO")
    one = compiled.load("VALUE = 1\n", "a value")
    assert one.VALUE == 1
    assert compiled.load("VALUE = 2\n", "a value").VALUE == 2
    assert len(list((tmp_path / "kernels").glob("kernel_*.py"))) == 2
    assert caplog.text.count("compiling a value, once for this machine") == 2
    compiled._load.cache_clear()
    assert compiled.load("VALUE = 1\n", "a value").VALUE == 1
    assert caplog.text.count("compiling") == 2


def test_without_a_place_to_keep_it_nothing_fails(tmp_path, monkeypatch, caplog):
    (tmp_path / "cache").write_text("a file where a folder should be")
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path / "cache"))
    assert compiled.load("VALUE = 3\n", "a value").VALUE == 3
    assert "compiled code is not kept" in caplog.text


def test_a_file_that_was_edited_after_its_import_is_refused(tmp_path):
    path = tmp_path / "equations.py"
    path.write_text("def step(a, b):\n    return a + b\n")
    module = plugins.load_file(path)
    path.write_text("def step(a, b):\n    return a - b\n")
    with pytest.raises(ValueError, match="the file of the equation 'step' changed"):
        compiled.equation_source(module.step, "step")


METHOD = textwrap.dedent('''
    """Mine."""

    from admmbench.api import Linearized, parameters


    def my_step(gradient: float, z: float, w: float, dual: float, rho: float, inverse: float) -> float:
        """Mine."""
        return (-gradient + rho * w + dual + inverse * z) / (rho + inverse)


    @parameters
    class Mine(Linearized):
        """Mine."""

        order = "server"
        mean_over = "all"
        step = staticmethod(my_step)

        def schedule(self, sub):
            """Mine."""
            return {"inverse": 1.0 / self.a}
''')


def run(path, cache):
    """Training loss of the plug-in, by a process of its own."""
    code = (
        "from admmbench import simulate; from admmbench.checks.made import make_dataset; import sys; "
        "t = simulate(make_dataset(), sys.argv[1], agents=2, rounds=3, seeds=1, dtype='float64'); "
        "print(repr(float(t.train_loss[0, -1])))"
    )
    environment = {**os.environ, "ADMMBENCH_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def test_an_edited_equation_changes_the_numbers_at_once(tmp_path):
    """Also if it comes back: what was compiled before is found again."""
    path, cache = tmp_path / "mine.py", tmp_path / "cache"
    made, times = [], []
    for text in (METHOD, METHOD.replace("rho * w", "0.5 * rho * w"), METHOD):
        path.write_text(text)
        made.append(run(path, cache))
        code = (cache / "kernels" / "__pycache__").glob("*.nbc")
        times.append({file: file.stat().st_mtime_ns for file in code})
    assert made[0] == made[2] != made[1]
    assert len(list((cache / "kernels").glob("kernel_*.py"))) == 2
    assert times[0].items() < times[1].items() == times[2].items()
