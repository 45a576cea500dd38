"""Sums of some rows of a matrix, each times a number.

The rows lie anywhere, so that the sums wait for loads and stores more than for arithmetic. So they go through few
columns at a time: a tile of them is copied to memory near a core, and its sums stay in the processor's registers. Where
columns become rows, squares of the matrix are turned in registers. The compiler finds neither by itself: both are
written as vector instructions.

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

# Bytes of a row of a tile, and of one of matrices that have no more.
_WIDE, _NARROW = 128, 64
# Rows of a sum that are added in one step, to several numbers that are added at the end: each addition waits for the
# one before, others go on meanwhile.
STEP = 4
_LINE_BYTES = 64
# Rows and columns of a square that is turned in registers, in bytes of a row.
_SQUARE = 64
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
    """Return room for n rows of some of M columns, and a last row that no sum needs, in whole cache lines."""
    narrow = _NARROW // dtype.itemsize
    shape = n + 1, _WIDE // dtype.itemsize if narrow < M else narrow
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
    (n, M), J, width = sums.shape, matrix.shape[1], tile.shape[1]
    rest = np.empty((n, width), sums.dtype)
    # Row of the tile that a column of the matrix becomes: the last one, if no sum needs the column.
    unused = len(columns)
    rows = np.full(J, unused, np.intp)
    for j in range(len(columns)):
        rows[columns[j]] = j
    side = _SQUARE // matrix.itemsize
    end = J - J % side
    squares = [c for c in range(0, end, side) if rows[c : c + side].min() < unused]
    for first in range(0, M, width):
        needed = min(width, M - first)
        whole = needed - needed % side
        tile[:, needed:] = 0
        for m in range(0, whole, side):
            for start in squares:
                _turn(matrix, first + m, start, tile, rows, start, m, False)
        for m in range(needed):
            row = matrix[first + m]
            for j in range(end if m < whole else 0, J):
                tile[rows[j], m] = row[j]
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
    side = _SQUARE // sums.itemsize
    rows = np.arange(M)
    for first in range(0, M, width):
        needed = min(width, M - first)
        tile[:, needed:] = 0
        for i in range(len(matrix)):
            row, target = matrix[i, first : first + needed], tile[i]
            for m in range(needed):
                target[m] = row[m]
        _sum_tile(values, levels, places, starts, tile, turned, 0, needed)
        for m in range(0, needed, side):
            whole = n - n % side if m + side <= needed else 0
            for j in range(0, whole, side):
                if add:
                    _turn(turned, j, m, sums, rows, first + m, j, True)
                else:
                    _turn(turned, j, m, sums, rows, first + m, j, False)
            for i in range(m, min(m + side, needed)):
                line = sums[first + i]
                for j in range(whole, n):
                    line[j] = turned[j, i] + (line[j] if add else 0)


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
        if needed * tile.itemsize > _NARROW:
            _add_up(values, levels, places, starts[i], starts[i + 1], tile, sums, i, column, _WIDE)
        else:
            _add_up(
                values, levels, places, starts[i], starts[i + 1], tile, sums, i, column, _NARROW
            )


def _pointers(
    context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any
) -> Callable[..., Any]:
    """Return the function that points to an item of an argument, by the argument's number and the item's index."""

    def pointer(argument: int, *index: Any) -> Any:
        kind = signature.args[argument]
        array = context.make_array(kind)(context, builder, arguments[argument])
        return cgutils.get_item_pointer(context, builder, kind, array, index)  # type: ignore[no-untyped-call]

    return pointer


@_vector_instructions
def _turn(
    typing: Any,
    source: Any,
    row: Any,
    column: Any,
    target: Any,
    rows: Any,
    first: Any,
    start: Any,
    add: Any,
) -> Any:
    """Set parts of rows of the target to the columns of a square of the source, or add the columns to them.

    The square has `_SQUARE` bytes in a row, and begins at ``row`` and ``column`` of the source. Its first column goes
    to row ``rows[first]`` of the target, from column ``start`` on; the next one goes to row ``rows[first + 1]``.
    """
    signature = types.void(source, row, column, target, rows, first, start, add)
    side = 8 * _SQUARE // source.dtype.bitwidth

    def code(context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> Any:
        intp = context.get_value_type(types.intp)

        pointer = _pointers(context, builder, signature, arguments)

        def vector_at(argument: int, kind: Any, *index: Any) -> tuple[Any, dict[str, int]]:
            number = context.get_value_type(kind)
            where = builder.bitcast(
                pointer(argument, *index), ir.VectorType(number, side).as_pointer()
            )
            return where, {"align": kind.bitwidth // 8}

        def shuffle(a: Any, b: Any, index: list[int]) -> Any:
            return builder.shuffle_vector(
                a, b, ir.Constant(ir.VectorType(ir.IntType(32), side), index)
            )

        lines = []
        for x in range(side):
            where, aligned = vector_at(
                0, source.dtype, builder.add(arguments[1], intp(x)), arguments[2]
            )
            lines.append(builder.load(where, **aligned))
        half = 1
        while half < side:
            # Squares of this size above and below the diagonal change places.
            for x in range(side):
                if not x & half:
                    a, b = lines[x], lines[x + half]
                    lines[x] = shuffle(
                        a, b, [side + y - half if y & half else y for y in range(side)]
                    )
                    lines[x + half] = shuffle(
                        a, b, [side + y if y & half else y + half for y in range(side)]
                    )
            half *= 2
        for y, line in enumerate(lines):
            place = builder.load(pointer(4, builder.add(arguments[5], intp(y))))
            where, aligned = vector_at(3, target.dtype, place, arguments[6])
            if target.dtype != source.dtype:
                line = builder.fpext(line, where.type.pointee)
            if add.literal_value:
                line = builder.fadd(line, builder.load(where, **aligned))
            builder.store(line, where, **aligned)
        return context.get_dummy_value()

    return signature, code


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
    size: Any,
) -> Any:
    """Set a part of a row of ``sums``, so many bytes, to the sum of values times rows of a tile.

    The values are those from ``start`` to ``stop``.
    """
    signature = types.void(values, levels, places, start, stop, rows, sums, row, column, size)
    columns = 8 * size.literal_value // rows.dtype.bitwidth
    aligned = {"align": rows.dtype.bitwidth // 8}

    def code(context: Any, builder: ir.IRBuilder, _: Any, arguments: Any) -> Any:
        begin, end = arguments[3:5]
        intp, number = (context.get_value_type(kind) for kind in (types.intp, rows.dtype))
        vector = ir.VectorType(number, columns)
        nothing, zeros = ir.Constant(vector, ir.Undefined), ir.Constant(vector, None)
        first = ir.Constant(ir.VectorType(ir.IntType(32), columns), None)

        pointer = _pointers(context, builder, signature, arguments)

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
