"""A GPU in Python: numba's simulator of kernels, and NumPy in the place of CuPy, with addresses in this process.

    NUMBA_ENABLE_CUDASIM=1 python -m tests.device.simulated

compares local updates of all kinds, and a few rounds of some methods on it, with those of the processor.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import sys
import types
from dataclasses import replace
from typing import Any

import numpy as np

NAME = "a simulated GPU"


class Array(np.ndarray[Any, Any]):
    """An array that is copied before others use it, as that of a GPU."""

    __cuda_array_interface__: dict[str, Any] = {}
    """Tells that it is one."""

    @property
    def data(self) -> Any:
        return types.SimpleNamespace(ptr=self.ctypes.data)

    def get(self, out: Any = None, blocking: bool = True) -> Any:
        if out is None:
            return np.array(self)
        out[...] = self
        return out


def _multiply(kind: Any) -> Any:
    """Products of many matrices whose columns follow each other in memory, as cuBLAS has them."""

    def at(address: int, rows: int, columns: int, leading: int) -> Any:
        room = (kind * (leading * columns)).from_address(address)
        return np.ctypeslib.as_array(room).reshape(columns, leading)[:, :rows].T

    def multiply(
        handle: Any,
        op_a: int,
        op_b: int,
        m: int,
        n: int,
        k: int,
        alpha: int,
        a: int,
        lda: int,
        b: int,
        ldb: int,
        beta: int,
        c: int,
        ldc: int,
        count: int,
    ) -> None:
        lists = ((ctypes.c_uint64 * count).from_address(each) for each in (a, b, c))
        for one, two, out in zip(*lists, strict=True):
            left = at(one, k, m, lda).T if op_a else at(one, m, k, lda)
            right = at(two, n, k, ldb).T if op_b else at(two, k, n, ldb)
            at(out, m, n, ldc)[:] = left @ right

    return multiply


def _made(name: str) -> Any:
    function = getattr(np, name)
    return lambda *given, **options: np.array(function(*given, **options)).view(Array)


def _cupy() -> Any:
    cupy: Any = types.ModuleType("cupy")
    for name in (
        "ascontiguousarray",
        "asarray",
        "broadcast_to",
        "concatenate",
        "empty",
        "stack",
        "zeros",
    ):
        setattr(cupy, name, _made(name))
    products = {"sgemmBatched": ctypes.c_float, "dgemmBatched": ctypes.c_double}
    cublas = types.SimpleNamespace(
        CUBLAS_OP_N=0,
        CUBLAS_OP_T=1,
        **{name: _multiply(kind) for name, kind in products.items()},
    )
    here = types.SimpleNamespace(compute_capability="0", id=0)
    event = types.SimpleNamespace(record=lambda: None, synchronize=lambda: None, done=True)
    cupy.cuda = types.SimpleNamespace(
        cublas=cublas,
        device=types.SimpleNamespace(get_cublas_handle=lambda: 0),
        Device=lambda: here,
        Event=lambda: event,
        runtime=types.SimpleNamespace(getDeviceProperties=lambda which: {"name": NAME.encode()}),
    )
    return cupy


def _found(facts: dict[str, Any]) -> Any:
    """Array at an address."""
    memory = types.SimpleNamespace(__array_interface__=facts)
    return np.asarray(memory)


def install() -> None:
    """Let the suite find this GPU."""
    cuda: Any = importlib.import_module("numba.cuda")
    fake = importlib.import_module("numba.cuda.simulator.cudadrv.devicearray").FakeCUDAArray
    cupy, numba_cuda = _cupy(), types.ModuleType("numba_cuda")
    for each in cupy, numba_cuda:
        vars(each)["__version__"] = "0"
    cupyx: Any = types.ModuleType("cupyx")
    cupyx.zeros_pinned = np.zeros
    libdevice: Any = types.ModuleType("numba.cuda.libdevice")
    libdevice.rint = np.rint
    sys.modules.update(
        {
            "cupy": cupy,
            "cupyx": cupyx,
            "numba_cuda": numba_cuda,
            "numba.cuda.libdevice": libdevice,
        }
    )
    cuda.libdevice, compiled = libdevice, cuda.jit
    cuda.jit = lambda function=None, device=False, **_: compiled(function, device=device)
    # Not a copy for each argument: two may be the same array.
    cuda.as_cuda_array = lambda memory, sync: fake(_found(memory.__cuda_array_interface__))


# Methods with parameters, sensitivity and noise; together they have all kinds of updates and both laws.
RUNS: tuple[tuple[str, dict[str, Any], Any, Any], ...] = (
    ("objp", {"local_updates": 3}, "local", "laplace"),
    ("objt", {}, "global", "gaussian"),
    ("outp", {}, "local", "published"),
    ("iadmm", {}, "local", "published"),
    ("iceadmm", {"local_updates": 2}, "local", "laplace"),
)


def compare_updates() -> None:
    """Compare one local update of each kind: where noise is, which of the round, who begins, where the penalty is."""
    from admmbench.base.types import LocalUpdate, Pass
    from admmbench.problems.base import Gradient
    from admmbench_cuda import update
    from tests.base import test_kernel as kernel

    # Agents of one group are summed one after another.
    update._GROUPS = 1
    for number, (noise, place, order) in enumerate(kernel.COMBINED):
        # Some have a whole tile and a part of one, the others a part, which takes half the time.
        kernel.J = 520 if number % 6 == 0 else 150
        step, argument = kernel.STEPS["trust region" if number % 5 == 0 else "proximal"]
        fused = Pass(step, "l2", ("local", "global")[number % 2], noise, place, order)
        outcomes = []
        for strategy in (kernel.Uncompiled(), update.OnDevice()):
            sub, gradient, numbers = kernel.block(updates=place)
            z, sent, dual, w, partial = (
                array.copy().view(Array)
                for array in (sub.z, sub.sent, sub.dual, sub.w, sub.partial)
            )
            sent = z if place == "only" else sent
            sub = replace(sub, z=z, sent=sent, dual=dual, w=w, partial=partial)
            draw = kernel.draw(measure=True)[0] if noise else None
            known = Gradient(gradient.view(Array), None)
            strategy.update(LocalUpdate(fused, sub, known, draw, {argument: numbers}, 0.3, 0.25))
            outcomes.append([z, sent, dual, partial, draw.drawn.magnitude if draw else 0.0])
        for cpu, gpu in zip(*outcomes, strict=True):
            np.testing.assert_allclose(gpu, cpu, rtol=1e-12, atol=1e-13, err_msg=str(fused))
        print("update agrees:", noise, place, order)


def main() -> None:
    install()
    compare_updates()
    from admmbench.contracts.made_up_data import make_dataset, using_some_columns
    from admmbench.engine.context import Context
    from admmbench.engine.rounds import assemble, run_rounds
    from admmbench.engine.threads import one_by_one
    from admmbench.spec.run import RunSpec
    from admmbench_cuda import noise, rows

    # Few records go through the columns that they use, as many do.
    rows.COPY = 0
    whole = make_dataset(40, 9, 6, 3, writers=3)
    whole = replace(whole, X_test=np.asfortranarray(whole.X_test))
    narrow = using_some_columns(make_dataset(40, 9, 20, 3, writers=3), [6, 12, 0])
    for data, (method, params, sensitivity, law) in itertools.product((narrow, whole), RUNS):
        spec = RunSpec(
            dataset=data,
            algorithm=method,
            params=params,
            agents={"scheme": "by_writer"},
            epsilon=1,
            rounds=2,
            evaluate_every=1,
            seeds=(2,),
            sensitivity=sensitivity,
            dtype="float64",
            privacy={"noise": law},
            mirror=data is whole and method != "iadmm",
        )
        cpu = run_rounds(spec, data).variables()["arrays"]
        gpu = run_rounds(spec, data, Context(device="cuda")).variables()["arrays"]
        for name in set(cpu) - {"seconds"}:
            np.testing.assert_allclose(gpu[name], cpu[name], rtol=1e-12, err_msg=name)
        print(method, params, sensitivity, law, data.X_train.shape[1], "columns agree")
    for data in (narrow, whole):
        given = spec.model_copy(update={"dataset": data})
        (cpu_block,) = assemble(given, data, one_by_one).blocks
        (block,) = assemble(given, data, one_by_one, Context(device="cuda")).blocks
        assert (block.parts._index is None) == (data is whole)
        rng, J = np.random.default_rng(0), data.X_train.shape[1]
        z = [rng.random((3, 1, 3, J)).view(Array) for _ in range(2)]
        first, second = (block.parts.gradient(each, 40) for each in z)
        again = block.parts.gradient(z[0], 40)
        np.testing.assert_array_equal(first.entries, again.entries)
        np.testing.assert_array_equal(first.sensitivity.l1, again.sensitivity.l1)
        assert (first.sensitivity.l1 != second.sensitivity.l1)[:2].all()
        used = np.flatnonzero(data.X_train[data.attributes["writer"].train == 0].any(axis=0))
        for number in (1.0, np.nan, np.inf, -np.inf):
            z[0][0, 0, 1, used[0]] = number
            with np.errstate(invalid="ignore"):
                cpu, gpu = (each.parts.gradient(z[0], 40) for each in (cpu_block, block))
                losses = [each.parts.losses(z[0]) for each in (cpu_block, block)]
            np.testing.assert_allclose(gpu.value, cpu.value, atol=1e-14)
            np.testing.assert_allclose(gpu.sensitivity.l1, cpu.sensitivity.l1)
            np.testing.assert_allclose(*losses)
    # No zero has the sign of the value: some entries below 0 are 0 once they have their noise.
    room = noise.Room(np.empty(noise.EACH, np.uint64), np.empty(noise.EACH))
    for law, dtype in itertools.product((0, 1), (np.float32, np.float64)):
        found = np.full((100, noise.EACH), -1e-9, dtype)
        for lane, values in enumerate(found):
            release, thread = noise.Release(law, 1, 0, False), noise.Thread(0, lane, noise.TILE)
            noise.perturb(values, release, np.array([1, 2]), thread, 0.5, 0.25, room)
        assert (found == 0).any()
        assert not np.signbit(found[found == 0]).any()
    # A mirror adds the negated noise to the bit, on a coarse grid and on one with more bits for each entry.
    for law, grid, lane in itertools.product((0, 1), (0.25, 2.0**-45), range(20)):
        one, other = np.zeros((2, noise.EACH))
        release, thread = noise.Release(law, 1, 0, False), noise.Thread(0, lane, noise.TILE)
        for values, scale in ((one, 0.5), (other, -0.5)):
            noise.perturb(values, release, np.array([1, 2]), thread, scale, grid, room)
        np.testing.assert_array_equal(other, -one)
        assert one.any() or grid > 1e-9
    # Models cost more to copy than products of 13 records.
    rows.COPY = 13
    given = spec.model_copy(update={"dataset": narrow})
    (block,) = assemble(given, narrow, one_by_one, Context(device="cuda")).blocks
    assert block.parts._index is None


if __name__ == "__main__":
    main()
