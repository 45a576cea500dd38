"""Sums of some rows of a matrix, each times a number.

The rows lie anywhere, so that the sums wait for loads and stores more than for arithmetic. So they go through few
columns at a time, whose sums stay in the processor's registers. The compiler does not find this by itself: the sum of
a tile is written as vector instructions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from admmbench.compiled import njit

Array = NDArray[Any]

# Columns of a tile, and of the last one, if no more are left.
_TILE, _HALF = 32, 16
# Sums of numbers that are under way: each addition waits for the one before, others go on meanwhile.
_SUMS = 64
_LINE_BYTES = 64
# Compiled functions call what it makes without the first argument.
_vector_instructions: Callable[[Any], Any] = intrinsic(prefer_literal=True)


def weighted_sums(values: Array, places: Array, starts: Array, rows: Array, sums: Array) -> None:
    """Set each row of an array to the weighted sum of some rows of another.

    Parameters
    ----------
    values
        Weights, one sum after another, perhaps in a lower precision.
    places
        Which rows they belong to, unsigned.
    starts
        Where those of each of the n sums begin, and the end of the last one, shape (n + 1,).
    rows
        Shape (N, M).
    sums
        To be set, shape (n, M); all is computed in its precision.
    """
    _sums_of_tiles(values, places, starts, _in_tiles(rows, sums.dtype), sums)


def _in_tiles(rows: Array, dtype: np.dtype[Any]) -> Array:
    """Copy a matrix in stretches of columns, each with all rows one after another in whole cache lines.

    Parameters
    ----------
    rows
        Shape (n, M).
    dtype
        Of the copy.

    Returns
    -------
    Shape (tiles, n, `_TILE`), with zeros behind the last column.
    """
    n, M = rows.shape
    shape = -(-M // _TILE), n, _TILE
    room = np.empty(math.prod(shape) + _LINE_BYTES // dtype.itemsize, dtype)
    before = -room.ctypes.data % _LINE_BYTES // dtype.itemsize
    tiles = room[before : before + math.prod(shape)].reshape(shape)
    for tile, columns in zip(tiles, range(0, M, _TILE), strict=True):
        part = rows[:, columns : columns + _TILE]
        tile[:, : part.shape[1]] = part
        tile[:, part.shape[1] :] = 0
    return tiles


@njit(nogil=True)
def _sums_of_tiles(values: Array, places: Array, starts: Array, tiles: Array, sums: Array) -> None:
    """Make `weighted_sums` of rows in tiles."""
    total = np.empty(_TILE, sums.dtype)
    for k in range(len(tiles)):
        found = sums[:, k * _TILE : (k + 1) * _TILE]
        width = found.shape[1]
        for i in range(len(starts) - 1):
            if width > _HALF:
                _sum_rows(values, places, starts[i], starts[i + 1], tiles[k], total, _TILE)
            else:
                _sum_rows(values, places, starts[i], starts[i + 1], tiles[k], total, _HALF)
            row = found[i]
            for m in range(width):
                row[m] = total[m]


@_vector_instructions
def _sum_rows(
    typing: Any,
    values: Any,
    places: Any,
    start: Any,
    stop: Any,
    rows: Any,
    total: Any,
    width: Any,
) -> Any:
    """Set ``total`` to the sum of values times the first columns of rows, of those from ``start`` to ``stop``.

    Several sums are made at once, of every second or fourth row, and added at the end.
    """
    signature = types.void(values, places, start, stop, rows, total, width)
    columns, at_once = width.literal_value, _SUMS // width.literal_value
    aligned = {"align": rows.dtype.bitwidth // 8}

    def code(context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> Any:
        begin, end = arguments[2:4]
        intp, number = (context.get_value_type(kind) for kind in (types.intp, rows.dtype))
        vector = ir.VectorType(number, columns)
        nothing, zeros = ir.Constant(vector, ir.Undefined), ir.Constant(vector, None)
        first = ir.Constant(ir.VectorType(ir.IntType(32), columns), None)

        def pointer(argument: int, *index: Any) -> Any:
            kind = signature.args[argument]
            array = context.make_array(kind)(context, builder, arguments[argument])
            return cgutils.get_item_pointer(context, builder, kind, array, index)  # type: ignore[no-untyped-call]

        def vector_at(argument: int, *index: Any) -> Any:
            return builder.bitcast(pointer(argument, *index, intp(0)), vector.as_pointer())

        def add(p: Any, to: Any) -> None:
            weight = builder.load(pointer(0, p))
            if values.dtype != rows.dtype:
                weight = builder.fpext(weight, number)
            value = builder.insert_element(nothing, weight, intp(0))
            place = builder.zext(builder.load(pointer(1, p)), intp)
            row = builder.load(vector_at(4, place), **aligned)
            product = builder.fmul(
                builder.shuffle_vector(value, nothing, first), row, flags=["contract"]
            )
            builder.store(builder.fadd(builder.load(to), product, flags=["contract"]), to)

        sums = [cgutils.alloca_once(builder, vector) for _ in range(at_once)]  # type: ignore[no-untyped-call]
        for each in sums:
            builder.store(zeros, each)
        rest = builder.srem(builder.sub(end, begin), intp(at_once))
        whole = builder.sub(end, rest)
        with cgutils.for_range_slice(builder, begin, whole, intp(at_once)) as (p, _):
            for k, each in enumerate(sums):
                add(builder.add(p, intp(k)), each)
        with cgutils.for_range_slice(builder, whole, end, intp(1)) as (p, _):
            add(p, sums[0])
        result = functools.reduce(builder.fadd, map(builder.load, sums))
        builder.store(result, vector_at(5), **aligned)
        return context.get_dummy_value()

    return signature, code
