"""Sums of some rows of a matrix, each times a number.

The rows lie anywhere, so that the sums wait for loads and stores more than for arithmetic. So they go through few
columns at a time: a tile of them is copied to memory near a core, and its sums stay in the processor's registers. The
compiler does not find this by itself: the sum of a tile is written as vector instructions.

Loops copy numbers one by one: for an array, numba compiles its message on wrong shapes as well, which takes seconds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from admmbench.compiled import njit

Array = NDArray[Any]

# Columns of a tile, and of one of matrices that have no more.
_WIDE, _NARROW = 32, 16
# Rows of a sum that are added in one step, to several numbers that are added at the end: each addition waits for the
# one before, others go on meanwhile.
STEP = 4
_LINE_BYTES = 64
# Compiled functions call the result of this decorator without the first argument.
_vector_instructions: Callable[[Any], Any] = intrinsic(prefer_literal=True)


class Weights(NamedTuple):
    """Weights of some rows in each of n sums."""

    values: Array
    """Weights, one sum after another, perhaps in a lower precision than the sums; or their places among ``levels``, in
    bytes."""
    levels: Array
    """The numbers that are weights, if these are few; else empty."""
    places: Array
    """Rows that the weights belong to, unsigned."""
    starts: Array
    """Places where the weights of each sum begin, and the end of the last sum, shape (n + 1,); multiples of `STEP`."""


def sum_columns(weights: Weights, matrix: Array, columns: Array, sums: Array) -> None:
    """Set ``sums``, shape (n, M), to weighted sums of those columns of a matrix, of M rows and in C order."""
    _sum_columns(*weights, matrix, columns, _tile(len(columns), len(matrix), sums.dtype), sums)


def sum_rows(weights: Weights, matrix: Array, sums: Array, add: bool) -> None:
    """Set ``sums``, shape (M, n), to weighted sums of the rows of a matrix, of M columns; or add these sums to it."""
    n, M = matrix.shape
    _sum_rows(*weights, matrix, _tile(n, M, sums.dtype), sums, add)


def _tile(n: int, M: int, dtype: np.dtype[Any]) -> Array:
    """Return room for n rows of some of M columns, in whole cache lines."""
    shape = n, _WIDE if M > _NARROW else _NARROW
    room = np.empty(math.prod(shape) + _LINE_BYTES // dtype.itemsize, dtype)
    before = -room.__array_interface__["data"][0] % _LINE_BYTES // dtype.itemsize
    return room[before : before + math.prod(shape)].reshape(shape)


@njit(nogil=True)
def _sum_columns(
    values: Array,
    levels: Array,
    places: Array,
    starts: Array,
    matrix: Array,
    columns: Array,
    tile: Array,
    sums: Array,
) -> None:
    """Do what `sum_columns` does, tile by tile: the columns of a tile are turned into rows."""
    (n, M), width = sums.shape, tile.shape[1]
    rest = np.empty((n, width), sums.dtype)
    for first in range(0, M, width):
        needed = min(width, M - first)
        tile[:, needed:] = 0
        for m in range(needed):
            row = matrix[first + m]
            for j in range(len(columns)):
                tile[j, m] = row[columns[j]]
        if needed == width:
            _sum_tile(values, levels, places, starts, tile, sums, first, needed)
        else:
            _sum_tile(values, levels, places, starts, tile, rest, 0, needed)
            for i in range(n):
                for m in range(needed):
                    sums[i, first + m] = rest[i, m]


@njit(nogil=True)
def _sum_rows(
    values: Array,
    levels: Array,
    places: Array,
    starts: Array,
    matrix: Array,
    tile: Array,
    sums: Array,
    add: bool,
) -> None:
    """Do what `sum_rows` does, tile by tile: the sums of a tile are turned into columns."""
    (M, n), width = sums.shape, tile.shape[1]
    turned = np.empty((n, width), sums.dtype)
    for first in range(0, M, width):
        needed = min(width, M - first)
        tile[:, needed:] = 0
        for i in range(len(tile)):
            row, target = matrix[i, first : first + needed], tile[i]
            for m in range(needed):
                target[m] = row[m]
        _sum_tile(values, levels, places, starts, tile, turned, 0, needed)
        for m in range(needed):
            line = sums[first + m]
            if add:
                for j in range(n):
                    line[j] += turned[j, m]
            else:
                for j in range(n):
                    line[j] = turned[j, m]


@numba.njit(nogil=True)
def _sum_tile(
    values: Array,
    levels: Array,
    places: Array,
    starts: Array,
    tile: Array,
    sums: Array,
    column: int,
    needed: int,
) -> None:
    """Set a tile's width of ``sums``, from a column on, to sums of rows of the tile; so many columns are needed."""
    for i in range(len(starts) - 1):
        if needed > _NARROW:
            _add_up(values, levels, places, starts[i], starts[i + 1], tile, sums, i, column, _WIDE)
        else:
            _add_up(
                values, levels, places, starts[i], starts[i + 1], tile, sums, i, column, _NARROW
            )


@_vector_instructions
def _add_up(
    typing: Any,
    values: Any,
    levels: Any,
    places: Any,
    start: Any,
    stop: Any,
    rows: Any,
    sums: Any,
    row: Any,
    column: Any,
    width: Any,
) -> Any:
    """Set a part of a row of ``sums`` to the sum of values, from ``start`` to ``stop``, times rows of a tile."""
    signature = types.void(values, levels, places, start, stop, rows, sums, row, column, width)
    columns = width.literal_value
    aligned = {"align": rows.dtype.bitwidth // 8}

    def code(context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> Any:
        begin, end = arguments[3:5]
        intp, number = (context.get_value_type(kind) for kind in (types.intp, rows.dtype))
        vector = ir.VectorType(number, columns)
        nothing, zeros = ir.Constant(vector, ir.Undefined), ir.Constant(vector, None)
        first = ir.Constant(ir.VectorType(ir.IntType(32), columns), None)

        def pointer(argument: int, *index: Any) -> Any:
            kind = signature.args[argument]
            array = context.make_array(kind)(context, builder, arguments[argument])
            return cgutils.get_item_pointer(context, builder, kind, array, index)  # type: ignore[no-untyped-call]

        def vector_at(argument: int, *index: Any) -> Any:
            return builder.bitcast(pointer(argument, *index), vector.as_pointer())

        def add(p: Any, total: Any) -> None:
            weight = builder.load(pointer(0, p))
            if isinstance(values.dtype, types.Integer):
                weight = builder.load(pointer(1, builder.zext(weight, intp)))
            if levels.dtype != rows.dtype:
                weight = builder.fpext(weight, number)
            value = builder.insert_element(nothing, weight, intp(0))
            place = builder.zext(builder.load(pointer(2, p)), intp)
            row = builder.load(vector_at(5, place, intp(0)), **aligned)
            product = builder.fmul(
                builder.shuffle_vector(value, nothing, first), row, flags=["contract"]
            )
            builder.store(builder.fadd(builder.load(total), product, flags=["contract"]), total)

        totals = [cgutils.alloca_once(builder, vector) for _ in range(STEP)]  # type: ignore[no-untyped-call]
        for total in totals:
            builder.store(zeros, total)
        with cgutils.for_range_slice(builder, begin, end, intp(STEP)) as (p, _):
            for k, total in enumerate(totals):
                add(builder.add(p, intp(k)), total)
        result = functools.reduce(builder.fadd, map(builder.load, totals))
        builder.store(result, vector_at(6, *arguments[7:9]), **aligned)
        return context.get_dummy_value()

    return signature, code
