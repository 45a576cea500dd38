"""Code made from equations: kept between processes, and never stale."""

import functools
import os
import pickle
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from admmbench import compiled, plugins
from admmbench.base.linearized import proximal_step, trust_region_step
from admmbench.files import write
from admmbench.plugins import import_file

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

    def derivative(self, u, y):
        """Of a field."""
        return self.steep * u - y


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        (Sloped().derivative, "takes self: write a function, and give it numbers"),
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
    compiled._warn_not_kept.cache_clear()
    assert compiled.load("VALUE = 3\n", "a value").VALUE == 3
    assert "compiled code is not kept" in caplog.text


KERNEL = """
from admmbench.compiled import njit

@njit(nogil=True)
def double(x):
    return 2 * x
"""


@pytest.fixture
def double(tmp_path, monkeypatch):
    """Call a kernel as a new process would; return what it gives, and whether it was found on the disk."""
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path))

    def call():
        compiled._load.cache_clear()
        kernel = compiled.load(KERNEL, "a product").double
        value = kernel(3)
        return value, sum(kernel.stats.cache_hits.values()) == 1

    call()
    return call


class Evil:
    """Its file does what nobody asked for."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def flipped(content):
    changed = bytearray(content)
    changed[len(content) // 2] ^= 1
    return bytes(changed)


def instead(path, make):
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    make()


@pytest.mark.parametrize(
    "damage",
    [
        lambda code: code.write_bytes(b""),
        lambda code: code.write_bytes(code.read_bytes()[:-9]),
        lambda code: code.write_bytes(flipped(code.read_bytes())),
        lambda code: code.write_bytes(pickle.dumps(Evil(code.with_name("evil")))),
        lambda code: code.chmod(0o666),
        lambda code: instead(code, code.mkdir),
        lambda code: instead(code, lambda: os.mkfifo(code)),
        lambda code: instead(code, lambda: code.symlink_to(code)),
        lambda code: shutil.rmtree(code.parent),
        lambda code: instead(code.parent, code.parent.touch),
        lambda code: code.parents[1].joinpath("kernel_0.py").write_text("x"),
        lambda code: next(code.parents[1].glob("*.py")).write_bytes(b"\xff("),
    ],
)
def test_code_that_is_damaged_or_of_others_is_compiled_again(double, tmp_path, damage):
    assert double() == (6, True)
    (code,) = tmp_path.glob("kernels/__pycache__/*.nbc")
    damage(code)
    assert double()[0] == 6
    assert not list(tmp_path.rglob("evil"))
    if code.is_file():
        assert double() == (6, True)


def test_code_that_another_user_wrote_is_not_run(double, tmp_path, monkeypatch, caplog):
    (code,) = tmp_path.glob("kernels/__pycache__/*.nbc")
    uid = os.geteuid()
    monkeypatch.setattr(compiled, "_TRUSTED", ())
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    assert double() == (6, False)
    assert double() == (6, False)
    assert f"others can write to {tmp_path}/user-{uid + 1}" in caplog.text
    assert code.exists()


def test_where_others_can_write_code_is_kept_in_a_folder_of_its_own(double, tmp_path):
    tmp_path.chmod(0o777)
    assert double() == (6, False)
    assert double() == (6, True)
    own = tmp_path / f"user-{os.geteuid()}"
    assert own.stat().st_mode & 0o777 == 0o700
    assert len(list(own.glob("kernels/__pycache__/*.nbc"))) == 1


def test_functions_of_a_package_that_is_read_only_are_kept_by_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "package" / "module.py"
    write(path, KERNEL)
    write(path.with_name("__pycache__"), "no folder: as if nothing could be written there")
    for hits in (0, 1):
        kernel = import_file(path, "module").double
        assert kernel(3) == 6
        assert sum(kernel.stats.cache_hits.values()) == hits
    shutil.rmtree(tmp_path / "cache")
    write(tmp_path / "cache", "no folder either")
    assert import_file(path, "module").double(3) == 6


def test_a_file_that_was_edited_after_its_import_is_refused(tmp_path):
    path = tmp_path / "equations.py"
    path.write_text("def step(a, b):\n    return a + b\n")
    module = plugins.load_file(path)
    path.write_text("def step(a, b):\n    return a - b\n")
    with pytest.raises(ValueError, match="the file of the equation 'step' changed"):
        compiled.equation_source(module.step, "step")


@pytest.mark.parametrize(
    ("mark", "encoding"), [("", "utf-8-sig"), ("# coding: latin-1\n", "latin-1")]
)
def test_a_file_has_the_encoding_that_it_states(mark, encoding, tmp_path):
    path = tmp_path / "equations.py"
    path.write_text(mark + '"""Für mich."""\ndef step(a, b):\n    return a + b\n', encoding)
    step = plugins.load_file(path).step
    assert "return a + b" in compiled.equation_source(step, "step")


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
        "from admmbench import simulate; from admmbench.contracts.made_up_data import make_dataset; import sys; "
        "t = simulate(make_dataset(), sys.argv[1], agents=2, rounds=3, seeds=1, dtype='float64'); "
        "print(repr(float(t.train_loss[0, -1])))"
    )
    environment = {**os.environ, "ADMMBENCH_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.slow
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
