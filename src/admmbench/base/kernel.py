"""An agent's local update, as one pass over its model.

An update consists of the gradient of the penalty, noise, the step, the mean of the local updates, the dual ascent and
the sum for the server. Each of these reads and writes models that do not fit into a cache. One after another, they
would take most of a round if agents have few records. So they are one function, `make_update`, which is compiled for
each `Pass`. In plain arrays, the same function serves methods that solve their subproblems otherwise, and audits.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numba
import numpy as np

from admmbench import compiled
from admmbench.base.types import Array, LocalUpdate, Pass, Step, Strategy, factors
from admmbench.privacy import samplers
from admmbench.privacy.samplers import Drawn, Room
from admmbench.problems import used_columns
from admmbench.problems.penalties import PENALTIES

Entry = TypeVar("Entry", float, Array)
"""One entry of a model, or all entries."""

# A module changes with the text of what it imports: numba does not see that.
_IMPORTED = hashlib.sha256(
    b"".join(Path(str(module.__file__)).read_bytes() for module in (used_columns, samplers))
).hexdigest()
_MODULE = '''\
"""Local update with {name}."""

from __future__ import annotations

import math

import numba
import numpy as np
from admmbench.base.kernel import Iterates
from admmbench.compiled import njit
from admmbench.privacy.samplers import TILE, perturb
from admmbench.problems.used_columns import take_tile
# {imported}

number = np.{dtype}
equation = numba.njit(nogil=True, error_model="numpy", inline="always")
# What takes a tuple of numbers is inlined later, by the compiler.
function = numba.njit(nogil=True, error_model="numpy")

{equations}


@function
{step}


@equation
def numbers_of(numbers, p, s):
    return ({numbers})


{functions}

solve = equation(make_solve(step, penalty_gradient, {at_global}))
finish = function(make_finish(solve, number, {finish}))
# Compiled apart: inside of the update, the compiler does not make vector instructions of these loops.
solve_tile = function(make_solve_tile(solve))
finish_tile = function(make_finish_tile(finish))
update = njit(nogil=True, error_model="numpy")(
    make_update(solve_tile, finish_tile, numbers_of, take_tile, perturb, {update})
)
'''


def message(z: Entry, dual: Entry, rho: float) -> Entry:
    """Part of an agent in the server's mean, which minimises (4a) of ryu2021 and ryu2022."""
    return z - dual / rho


def dual_ascent(dual: Entry, rho: float, w: Entry, z: Entry) -> Entry:
    """Return the dual variables after an ascent along the gap: (4c) of ryu2021 and ryu2022."""
    return dual + rho * (w - z)


class Iterates(NamedTuple):
    """Arrays that an update reads and writes, see `Subproblem`: models of a block, and what all agents share."""

    z: Array
    w: Array
    dual: Array
    sent: Array
    partial: Array


class Weights(NamedTuple):
    """Numbers that are the same for all entries of an update, see `Subproblem` and `LocalUpdate`."""

    rho: float
    rho_dual: float
    rho_message: float
    strength: float
    share: float


def make_solve(step: Step, penalty_gradient: Callable[[Any], Any], at_global: bool) -> Step:
    """Make the equation of a subproblem's solution from the gradient of the loss; see `Pass` for step and penalty."""

    def solve(
        known: Any, z: Any, w: Any, dual: Any, weights: Weights, numbers: tuple[Any, ...]
    ) -> Any:
        full_gradient = known + weights.strength * penalty_gradient(w if at_global else z)
        return step(full_gradient, z, w, dual, weights.rho, *numbers)

    return solve


def make_finish(
    solve: Step,
    number: Callable[[Any], Any],
    first: bool,
    last: bool,
    agents_begin: bool,
    solved: bool,
    noise_on_solution: bool,
) -> Callable[..., None]:
    """Make what is done with an entry once it has its noise; the parameters are those of `make_update`."""

    def finish(
        known: Any, of: Iterates, j: int, weights: Weights, numbers: tuple[Any, ...]
    ) -> None:
        # What noise is added to may be in double precision; all else is as the models are.
        new = number(known)
        if not (solved or noise_on_solution):
            new = solve(new, of.z[j], of.w[j], of.dual[j], weights, numbers)
        of.z[j] = new
        if not last:
            # What was sent last is not needed any more.
            of.sent[j] = new if first else of.sent[j] + new
        else:
            if not first:
                new = (of.sent[j] + new) * weights.share
                of.sent[j] = new
            if not agents_begin:
                of.dual[j] = dual_ascent(of.dual[j], weights.rho_dual, of.w[j], new)
            of.partial[j] += message(new, of.dual[j], weights.rho_message)

    return finish


def make_solve_tile(solve: Step) -> Callable[..., None]:
    """Make a loop that puts the solutions of a tile's subproblems in place of the gradients."""

    def solve_tile(tile: Array, of: Iterates, weights: Weights, numbers: tuple[Any, ...]) -> None:
        for j in range(len(tile)):
            tile[j] = solve(tile[j], of.z[j], of.w[j], of.dual[j], weights, numbers)

    return solve_tile


def make_finish_tile(finish: Callable[..., None]) -> Callable[..., None]:
    """Make a loop over the entries of a tile from what `make_finish` makes."""

    def finish_tile(tile: Array, of: Iterates, weights: Weights, numbers: tuple[Any, ...]) -> None:
        for j in range(len(tile)):
            finish(tile[j], of, j, weights, numbers)

    return finish_tile


def make_update(
    solve_tile: Callable[..., None],
    finish_tile: Callable[..., None],
    numbers_of: Callable[[Any, int, int], Any],
    take: Callable[..., None],
    perturb: Callable[..., float],
    first: bool,
    agents_begin: bool,
    noise_on_gradient: bool,
    noise_on_solution: bool,
) -> Callable[..., None]:
    """Make the local update from what is known when it is compiled.

    Parameters
    ----------
    solve_tile, finish_tile
        What `make_solve_tile` and `make_finish_tile` make. `make_finish` takes besides ``number``, the type of the
        models' entries; ``last``, whether it is the last of a round's local updates; and ``solved``, whether what is
        taken is the solution of the subproblem already.
    numbers_of
        Picks the further arguments of the step, a tuple, for an agent and a seed.
    take
        Fills a tile with the gradient of the loss, or with the solution; see
        `admmbench.problems.used_columns.take_tile`.
    perturb
        Adds noise to a tile; see `admmbench.privacy.samplers.perturb`.
    first, agents_begin, noise_on_gradient, noise_on_solution
        What a `Pass` says of updates, order and noise.
    """

    def update(
        gradient: Array,
        position: Array,
        models: Iterates,
        weights: Weights,
        numbers: tuple[Array, ...],
        draw: Drawn,
        room: Room,
        tiles: Array,
    ) -> None:
        agents, seeds, size = models.z.shape[:3]
        most = len(tiles)
        if draw.measure:
            draw.magnitude[:] = 0
        for s in range(seeds):
            for p in range(agents):
                step_arguments = numbers_of(numbers, p, s)
                for start in range(0, size, most):
                    stop = min(start + most, size)
                    # Each array is cut to the tile: the compiler makes vector instructions of plain indices. Models are
                    # read from the first entry to the last, which processors foresee.
                    tile, part = tiles[: stop - start], slice(start, stop)
                    w, partial = models.w[s, part], models.partial[s, part]
                    z, dual = models.z[p, s, part], models.dual[p, s, part]
                    sent = models.sent[p, s, part]
                    if agents_begin and first:
                        for j in range(len(tile)):
                            dual[j] = dual_ascent(dual[j], weights.rho_dual, w[j], sent[j])
                    of = Iterates(z, w, dual, sent, partial)
                    take(gradient[p, s], position[p], start, tile)
                    if noise_on_solution:
                        solve_tile(tile, of, weights, step_arguments)
                    if noise_on_gradient or noise_on_solution:
                        added = perturb(tile, draw, p, s, start // most, room)
                        if draw.measure:
                            draw.magnitude[p, s] += added
                    finish_tile(tile, of, weights, step_arguments)

    return update


def source(
    fused: Pass, dtype: str, module: str = _MODULE, make: Callable[..., Any] = make_update
) -> str:
    """Write a module with the update, for models of a precision.

    Parameters
    ----------
    fused, dtype
        What is known of it, and the precision.
    module
        Its text, with places for ``name`` of the step, ``dtype``, ``equations`` and the ``step`` itself, which it
        decorates, ``numbers`` of an agent and seed, ``functions`` that make others, and their flags, ``at_global``,
        ``finish`` and ``update``.
    make
        What makes the update of equations.
    """
    equations: dict[str, Callable[..., Any]] = {
        "penalty_gradient": PENALTIES[fused.penalty].gradient,
        "dual_ascent": dual_ascent,
        "message": message,
    }
    written = [
        f"@equation\n{compiled.equation_source(equation, name)}"
        for name, equation in equations.items()
    ]
    functions = make_solve, make_finish, make_solve_tile, make_finish_tile, make

    def flags(of: Callable[..., Any]) -> str:
        return ", ".join(f"{name}={value}" for name, value in fused.flags(of).items())

    return module.format(
        name=getattr(fused.step, "__name__", "a step"),
        imported=_IMPORTED,
        equations="\n\n\n".join(written),
        step=compiled.equation_source(fused.step, "step"),
        numbers="".join(
            f"number(numbers[{k}][p, s]), " for k in range(len(_arguments(fused.step)))
        ),
        functions="\n\n".join(compiled.source(function) for function in functions),
        dtype=dtype,
        at_global=fused.at == "global",
        finish=flags(make_finish),
        update=flags(make),
    )


def step_numbers(update: LocalUpdate) -> list[Array | float]:
    """Return further arguments of the step, in its order."""
    step, schedule = update.fused.step, update.schedule
    names = _arguments(step)
    if sorted(schedule) != sorted(names):
        raise ValueError(
            f"schedule gives {', '.join(schedule) or 'nothing'}, the step {step.__name__} takes "
            f"{', '.join(names) or 'nothing'} besides gradient, z, w, dual and rho"
        )
    return [schedule[name] for name in names]


def weights(update: LocalUpdate) -> Weights:
    """Return the numbers of an update in the precision of its models."""
    sub, like = update.sub, update.sub.z.dtype.type
    return Weights(
        *map(like, (sub.rho, sub.rho_dual, sub.rho_message, update.strength, update.share))
    )


class Compiled(Strategy):
    """Local updates by code that is compiled for the processor."""

    def update(self, update: LocalUpdate) -> None:
        """Update the models of a block in place, see `Strategy.update`."""
        sub, draw, gradient = update.sub, update.draw, update.gradient
        if gradient is None:
            in_plain_arrays(update)
            return
        leading, dtype, tile = sub.z.shape[:2], sub.z.dtype, samplers.TILE
        noise = draw.drawn if draw else Drawn.nothing(leading)
        entries, position = np.ascontiguousarray(gradient.entries), gradient.position
        self.make(update.fused, dtype.name)(
            entries,
            np.zeros((len(sub.z), 0), np.uint32) if position is None else position,
            Iterates(
                _flat(sub.z, 2),
                _flat(np.ascontiguousarray(sub.w), 1),
                _flat(sub.dual, 2),
                _flat(sub.sent, 2),
                _flat(sub.partial, 1),
            ),
            weights(update),
            tuple(
                np.array(np.broadcast_to(number, leading), dtype) for number in step_numbers(update)
            ),
            noise,
            Room(np.empty(2 * tile, np.uint32), np.empty(tile)),
            np.empty(tile, entries.dtype),
        )
        noise.magnitude[:] /= math.prod(sub.w.shape[1:])

    def make(self, fused: Pass, dtype: str) -> Callable[..., None]:
        """Compile the function that `make_update` makes, for models of a precision."""
        return _compiled(fused, dtype)


COMPILED = Compiled()


def in_plain_arrays(update: LocalUpdate) -> None:
    """Update the models of a block as `Strategy.update` does, but in plain arrays: a block is one entry."""
    fused, sub, z, none = update.fused, update.sub, update.sub.z, np.zeros((1, 1))

    def take(gradient: Array, position: Array, start: int, tile: list[Array]) -> None:
        # Subproblems are solved now: if the agents begin a round, the dual variables are those of the round by then.
        if update.gradient is None:
            assert update.solve is not None
            tile[0] = update.solve()
        else:
            tile[0] = update.gradient.value

    def perturb(tile: list[Array], *rest: Any) -> float:
        tile[0] = tile[0] + update.draw
        return 0.0

    numbers = tuple(
        factors(np.broadcast_to(number, z.shape[:2]), z) for number in step_numbers(update)
    )
    partial = np.zeros_like(z)
    step, penalty_gradient = _elementwise(fused.step), PENALTIES[fused.penalty].gradient
    solve = make_solve(step, penalty_gradient, fused.at == "global")
    finish = make_finish(solve, z.dtype.type, **fused.flags(make_finish))
    make_update(
        make_solve_tile(solve),
        make_finish_tile(finish),
        lambda numbers, p, s: numbers,
        take,
        perturb,
        **fused.flags(make_update),
    )(
        none,
        none,
        Iterates(
            z[None, None, None],
            sub.w[None, None],
            sub.dual[None, None, None],
            sub.sent[None, None, None],
            partial[None, None],
        ),
        weights(update),
        numbers,
        Drawn.nothing((1, 1)),
        Room(none, none),
        [None],
    )
    sub.partial[:] += partial.sum(axis=0)


@cache
def _arguments(step: Step) -> tuple[str, ...]:
    """Names of the further arguments of a step."""
    return tuple(inspect.signature(inspect.unwrap(step)).parameters)[5:]


@cache
def _elementwise(step: Step) -> Step:
    """An equation between numbers, for arrays."""
    found: Step = numba.vectorize(step)  # type: ignore[no-untyped-call]
    return found


@cache
def _compiled(fused: Pass, dtype: str) -> Callable[..., None]:
    what = f"the update with {getattr(fused.step, '__name__', 'a step')}"
    update: Callable[..., None] = compiled.load(source(fused, dtype), what).update
    return update


def _flat(models: Array, leading: int) -> Array:
    """Models as vectors, without a copy."""
    return models.reshape((*models.shape[:leading], -1), copy=False)
