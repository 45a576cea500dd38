"""Problems whose records are partitioned over agents.

Agent p holds I_p of the I records. Its objective is

    f_p(W) = (1/n_p) sum_i loss(W x_i, y_i) + s R(W),

where n_p = I if the mean is over all records (``average: records``, as in ryu2021 and ryu2022), n_p = I_p if each
agent counts alike (``average: agents``, as in huang2019), and s is the agent's weight of the penalty. The problem is to
minimise the sum of the f_p. Methods whose server takes a mean of models or gradients write the same function as a mean
of objectives over an agent's own records, see `Objective`. Models have shape
(K, J), a row for each output as in scikit-learn, and carry the seeds in front: (S, K, J). All seeds that share an
agent's records go through one matrix product; agents are served in blocks of a few, so that what is small is done for
several of them at once: (B, S, K, J). `admmbench.problems.records` has the records of all agents and the
bounds on them, `admmbench.problems.batches` the products.

One record contributes d x^T to a gradient, with the derivative d of the loss in its predictions: its l1 norm is exactly
||d||_1 ||x||_1 and its l2 norm ||d||_2 ||x||_2, so that sensitivities need no K x J terms.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from admmbench.datasets import RowSelection, Split, n_rows
from admmbench.problems.base import (
    Array,
    Fit,
    Gradient,
    LocalModels,
    Map,
    Setting,
    State,
    on_host,
    weights_and_intercepts,
)
from admmbench.problems.batches import (
    Batch,
    Piece,
    Share,
    chunks,
    join_rows,
    make_batches,
    predict,
    rows_in_span,
    rows_of_seed,
)
from admmbench.problems.loss import Loss, Norms
from admmbench.problems.records import BoundRecords, RowParameters
from admmbench.problems.used_columns import Narrow
from admmbench.sensitivity import Sensitivity


@dataclass(frozen=True)
class Rows(RowParameters):
    """Problem over rows."""

    def bound(self, split: Split, setting: Setting) -> BoundRows:
        """Return the problem on rows that are partitioned over agents."""
        return BoundRows(self, split, setting)


class BoundRows(BoundRecords["RowParts"]):
    """Problem on a data set whose rows are partitioned over agents.

    Raises
    ------
    ValueError
        If the data set lacks the targets of the loss, or there is no worst case to bound.
    """

    @cached_property
    def smoothness(self) -> Array:
        """Return the Lipschitz constant of the gradients of all ``f_p``, the largest of an agent's, shape (S,)."""
        return np.asarray(self.block(slice(None)).smoothness.max(axis=0))

    # Solution and evaluation

    def optimum(self) -> Array:
        """Find the feasible minimiser of ``sum_p f_p`` for each seed, shape (S, K, J)."""
        return self.fitted(self.minimize)

    def fitted(self, fit: Fit) -> Array:
        """Fit models, perhaps with an intercept, to the records of all agents; shape (S, K, J), or (S, K, J + 1)."""
        models: list[Array] = []
        for seed in range(self.n_seeds):
            parts = [rows_of_seed(shares, seed) for shares in self.split.shares]
            sizes = np.array([n_rows(part) for part in parts])
            rows = np.concatenate([np.arange(len(self.y))[part] for part in parts])
            weights = np.repeat(1 / self.counts(sizes), sizes)
            X, y = self.X[rows].astype(np.float64), self.y[rows]
            models.append(fit(X, y, weights, self.total_strength))
            # Where seeds share all records, one model serves them all.
            if all(len(shares) == 1 for shares in self.split.shares):
                models *= self.n_seeds
                break
        return np.stack(models).astype(self.dtype)

    def block(self, agents: slice) -> RowParts:
        """Return the parts of some agents."""
        return RowParts(self, self.split.shares[agents])

    def evaluate(self, state: State, blocks: Sequence[RowParts], run: Map) -> dict[str, Array]:
        """Measure the global model, and the local ones, see `LocalModels`.

        Returns
        -------
        Arrays of shape (S,): the metric of the loss, ``test_loss`` (mean), ``train_loss`` (the objective sum_p f_p(w)),
        where agents have equal weights ``empirical_loss``, (1/P) sum_p (1/I_p) sum_i of the loss at z_p (huang2019,
        section VI), and where they are asked for ``local_error``, the mean test error of the z_p, and another metric,
        and errors by client, see `admmbench.problems.metrics`.
        """
        if not isinstance(state, LocalModels):
            raise TypeError(f"the state {type(state).__name__} has no local models z")
        w, z = state.w, state.z
        weights, _ = weights_and_intercepts(on_host(w), self.model_shape[1])
        test_loss, metric = self._tested(w, run)
        n_samples = np.concatenate([block.n_samples for block in blocks])
        shared = np.concatenate(run(lambda block: block.losses(w[None]), blocks))
        values = {
            self.loss.metric: metric,
            "test_loss": test_loss,
            "train_loss": (shared / self.counts(n_samples)[:, None]).sum(axis=0)
            + self.total_strength * self.penalty.value(weights),
        }
        if self.agents_alike:
            ends = itertools.accumulate((len(block.n_samples) for block in blocks), initial=0)
            places = itertools.starmap(slice, itertools.pairwise(ends))
            pairs = list(zip(blocks, places, strict=True))
            local = np.concatenate(run(lambda pair: pair[0].losses(z[pair[1]]), pairs))
            values["empirical_loss"] = (local / n_samples.clip(1)[:, None]).mean(axis=0)
        if self.problem.local_error:
            values["local_error"] = self._tested(z, run)[1].mean(axis=0)
        return values | self.measure_further(on_host(w))

    @cached_property
    def _test_parts(self) -> list[tuple[slice, RowSelection]]:
        """Pairs of some seeds, and some of their test rows."""
        return [
            (seeds, rows_in_span(rows, span))
            for seeds, rows in self.held_out
            for span in chunks(n_rows(rows), self.whole_chunk)
        ]

    def _tested(self, w: Array, run: Map) -> tuple[Array, Array]:
        """Return the mean test loss and the metric of models of shape (..., S, K, J), shape (..., S)."""
        loss, mistakes = np.zeros((2, *w.shape[:-2]))

        def test(part: tuple[slice, RowSelection]) -> tuple[slice, Array, Array]:
            seeds, *records = part
            return seeds, *self._test(w[..., seeds, :, :], *records)

        for seeds, *sums in run(test, self._test_parts):
            loss[..., seeds] += sums[0]
            mistakes[..., seeds] += sums[1]
        n = n_rows(self.held_out[0][1])
        return loss / n, self.loss.score(mistakes / n) * self.split.dataset.target_scale

    def _test(self, w: Array, rows: RowSelection) -> tuple[Array, Array]:
        """Sum losses and mistakes of models of shape (..., S, K, J) on some test rows, shape (..., S)."""
        X, y = (array[rows] for array in self.test_data)
        u, shape = predict(X, w.reshape(-1, *w.shape[-2:])), w.shape[:-2]
        mistakes = self.loss.mistakes(u, y[:, None]).sum(axis=0, dtype=np.float64)
        return self.loss.losses(u, y[:, None]).sum(axis=0).reshape(shape), mistakes.reshape(shape)

    def mistakes(self, state: State, run: Map) -> Array | None:
        """Tell which test records each seed's model gets wrong, shape (S, R).

        None where no records are set aside for the test of all seeds, or nothing is classified.
        """
        if self.split.held_out is not None or not self.loss.fraction:
            return None
        X, y = self.test_data
        mistakes = [
            self.loss.mistakes(predict(X[rows], state.w), y[rows][:, None]).T
            for _, rows in self._test_parts
        ]
        return np.concatenate(mistakes, axis=1)


Sample = Sequence[Sequence[Array]]
"""For each agent and seed, which of the agent's records take part in a gradient: their numbers, in their order."""


@dataclass(frozen=True)
class Objective:
    """Objectives ``(1 / divisor) sum_i loss(W x_i, y_i) + strength R(W)`` of B agents."""

    parts: RowParts
    """The agents' parts of the problem."""
    divisor: Array
    """What an agent's sum of losses is divided by, at least 1, shape (B, 1)."""
    strength: float
    """Weight of the penalty."""

    @cached_property
    def weight(self) -> Array:
        """Weight of the mean loss over an agent's own records, shape (B, 1); 1 if agents have equal weights."""
        return np.asarray(self.parts.mean_objective.divisor / self.divisor)

    @property
    def penalty_curvature(self) -> float:
        """Bound on the curvature of the penalty."""
        return self.strength * self.parts.whole.penalty.curvature

    @property
    def curvature(self) -> Array:
        """Bound on the curvature, shape (B, S): c3 + (lambda / n) c4 in huang2019, from the largest of a record."""
        return self.weight * self.parts.curvature_bound + self.penalty_curvature

    def gradient(self, z: Array, floor: float = 0.0) -> Gradient:
        """Return the gradient of the loss at models of shape (B, S, K, J), see `RowParts.gradient`."""
        return self.parts.gradient(z, mean_over=self.divisor[:, 0], floor=floor)

    def full_gradient(self, z: Array) -> Array:
        """Return the gradient, with that of the penalty, shape (B, S, K, J)."""
        gradient = self.gradient(z).value
        return self.parts.whole.add_penalty_gradient(gradient, z, self.strength)

    def slope(self, z: Array) -> Array:
        """Return `full_gradient`, by its name in earlier versions."""
        text = "slope of an objective is now called `full_gradient`; rename it"
        warnings.warn(text, FutureWarning, stacklevel=2)
        return self.full_gradient(z)


class RowParts:
    """Parts of B agents of a bound problem, served together, from their shares of its rows."""

    def __init__(
        self, whole: BoundRows, shares: Sequence[Sequence[tuple[slice, RowSelection]]]
    ) -> None:
        self.whole = whole
        owners = [(b, seeds, rows) for b, pairs in enumerate(shares) for seeds, rows in pairs]
        joined = join_rows([rows for _, _, rows in owners])
        self._X, self._y = whole.X[joined], whole.y[joined]
        ends = list(itertools.accumulate((n_rows(rows) for _, _, rows in owners), initial=0))
        self._starts = ends[:-1]
        self._shares = [
            Share(b, seeds, self._X[start:stop], self._y[start:stop])
            for (b, seeds, _), (start, stop) in zip(owners, itertools.pairwise(ends), strict=True)
        ]
        self._shape = (len(shares), whole.n_seeds)
        self.n_samples = np.zeros(len(shares), np.int64)
        """I_p, the number of each agent's records, shape (B,); the same for every seed."""
        for share in self._shares:
            self.n_samples[share.agent] = len(share.y)
        if any(len(share.y) != self.n_samples[share.agent] for share in self._shares):
            raise ValueError("seeds give an agent other numbers of records; compute one at a time")
        by_agent = whole.unit == "agent"
        self.n_units = np.where(by_agent, 1, self.n_samples.clip(1))[:, None]
        """Units of privacy of which an agent's mean is made, at least 1: its records, or itself; shape (B, 1)."""
        self.protected = by_agent | (self.n_samples > 0)[:, None]
        """Whether an agent has anything that a total protects, shape (B, 1): its records, or itself."""
        self.silent = by_agent & (self.n_samples == 0)[:, None, None, None]
        """Whether an agent sends noise alone, as the neighbour of one with records does, shape (B, 1, 1, 1)."""

    @property
    def release_shape(self) -> tuple[int, ...]:
        """Return the shape of what an agent releases."""
        return self.whole.model_shape

    @property
    def weights(self) -> Array:
        """Part of each agent in a mean that weighs as the objective does, 1 / P or I_p / I, shape (B, 1, 1, 1)."""
        whole = self.whole
        parts = np.ones(len(self.n_samples)) if whole.agents_alike else self.n_samples
        weights = parts / (whole.n_agents if whole.agents_alike else whole.n_samples)
        return weights[:, None, None, None].astype(whole.dtype)

    @cached_property
    def objective(self) -> Objective:
        """Return f_p; the sum over agents is the stated problem."""
        return Objective(self, self.whole.counts(self.n_samples)[:, None], self.whole.own_strength)

    @cached_property
    def mean_objective(self) -> Objective:
        """Return the mean over an agent's own records with the penalty; the mean by `weights` is the stated problem."""
        return Objective(self, self.n_samples.clip(1)[:, None], self.whole.mean_strength)

    @cached_property
    def gradient_bound(self) -> Array:
        """Bound on the l2 norm of one record's gradient, shape (B, S): c1 of huang2019.

        The largest norm of the agent's own records (``local``) or of the admissible ones (``global``), times the bound
        on the derivative.
        """
        return self.whole.steepest(self.whole.loss).l2 * self._largest_norm

    @cached_property
    def curvature_bound(self) -> Array:
        """Bound on the spectral norm of one record's Hessian, shape (B, S): c3 of huang2019."""
        return self.whole.loss.curvature_bound * self._largest_norm**2

    def optimum(self) -> Array:
        """Find the minimiser of each agent's `mean_objective`, shape (B, S, K, J)."""
        whole = self.whole
        w = np.zeros((*self._shape, *whole.model_shape), whole.dtype)
        for share in self._shares:
            n = len(share.y)
            if n:
                X, weights = share.X.astype(np.float64), np.full(n, 1 / n)
                w[share.agent, share.seeds] = whole.minimize(
                    X, share.y, weights, whole.mean_strength
                )
        return w

    @cached_property
    def _largest_norm(self) -> Array:
        """Largest l2 norm of a record, of the agent's own or of all admissible ones, shape (B, S)."""
        if self.whole.sensitivity == "global":
            return np.full(self._shape, self.whole.bound_l2)
        return self._measure(lambda share: share.norms.l2.max(initial=0.0))

    @cached_property
    def smoothness(self) -> Array:
        """Return a Lipschitz constant L of the gradient of ``f_p``, shape (B, S).

        Curvatures of loss and penalty give c sigma_max(X_p)^2 / n_p + s c4; sigma_max^2 is at most I_p max ||x||_2^2.
        With ``global`` sensitivity this is the bound over admissible records, so a step size made of it tells nothing
        about the agent's own records.
        """
        whole = self.whole
        if whole.sensitivity == "global" or whole.loss.convention.smoothness == "norms":
            squared = self.n_samples[:, None] * self._largest_norm**2
        else:
            squared = self._measure(lambda share: share.largest_singular_value() ** 2)
        loss = whole.loss.curvature_bound * squared / self.objective.divisor
        return loss + whole.penalty_curvature

    @property
    def derivative_bound(self) -> Array:
        """Bound on the l2 norm of the sum of the gradients of an agent's records, for all models, shape (B, S)."""
        norms = self._measure(lambda share: float(share.norms.l2.sum()))
        return self.whole.steepest(self.whole.loss).l2 * norms

    @property
    def contribution_bound(self) -> Array:
        """Bound on the l1 norm of one record's gradient, for all models, shape (B, S).

        Records are the agent's own (``local``) or all admissible ones (``global``).
        """
        if self.whole.sensitivity == "global":
            return np.full(self._shape, self.whole.worst_case(self.whole.loss).l1)
        norms = self._measure(lambda share: share.norms.l1.max(initial=0.0))
        return self.whole.steepest(self.whole.loss).l1 * norms

    def _measure(self, measure: Callable[[Share], float]) -> Array:
        """Return a number for each agent and seed, shape (B, S), from its records."""
        values = np.empty(self._shape)
        for share in self._shares:
            values[share.agent, share.seeds] = measure(share)
        return values

    def gradient(
        self,
        z: Array,
        mean_over: Array | int,
        floor: float = 0.0,
        sample: Sample | None = None,
    ) -> Gradient:
        """Sum gradients of the loss over the agents' records, or a sample of them, in the precision of releases.

        Parameters
        ----------
        z
            Local models, shape (B, S, K, J).
        mean_over
            Divisor of the sums, one number or one for each agent, see `Objective`.
        floor
            Probabilities are clipped to [floor, 1], as the authors' code of ryu2022 does with 1e-9.
        sample
            Records that take part, for each agent and seed; all if absent.
        """
        whole = self.whole
        loss = whole.loss.clipped(floor) if floor else whole.loss
        if whole.model_shape[0] == 1:  # compiled loops are made for one layout
            z = np.ascontiguousarray(z)
        scale = self._scale(mean_over)
        batches, unused = self._batches, self.n_samples == 0
        if sample is not None:
            batches = self._sample_batches(sample)
            unused = np.array([[len(drawn) == 0 for drawn in seeds] for seeds in sample])
        narrow = self._narrow
        width = narrow.X.shape[1] if narrow else z.shape[-1]
        entries = np.empty((*z.shape[:-1], width), np.promote_types(z.dtype, whole.released))
        entries[unused] = 0  # no batch sets these
        derivatives = [batch.gradient(loss, z, entries, scale) for batch in batches]
        position = narrow.position if narrow else None

        def raise_to(largest: Norms) -> None:
            for batch, norms in zip(batches, derivatives, strict=True):
                batch.raise_to_contributions(norms, largest)

        return Gradient(entries, lambda: self._sensitivity(loss, scale, raise_to), position)

    def _scale(self, mean_over: Array | int) -> Array:
        """Return the factor of each agent's sum, shape (B,), from its divisor.

        An agent without records has an empty sum, whatever its divisor.
        """
        divisor = np.broadcast_to(mean_over, len(self.n_samples))
        return np.asarray(1 / np.where(divisor > 0, divisor, 1))

    def _sensitivity(
        self, loss: Loss, scale: Array, raise_to: Callable[[Norms], None]
    ) -> Sensitivity:
        """Bound the contribution of one record to a gradient: of the records that take part, or of all admissible ones.

        ``raise_to`` raises zeros to the largest unscaled contribution of the records of each agent and seed that take
        part.
        """
        if self.whole.unit == "agent":
            raise ValueError(
                "privacy.unit: agent needs a bound on all records of an agent together; what gradient() returns bounds "
                "one record"
            )
        largest = Norms(*np.zeros((2, *self._shape)))
        l1, l2, _ = self.whole.worst_case(loss)
        if self.whole.sensitivity == "global":
            largest.l1[:], largest.l2[:] = l1, l2
        else:
            raise_to(largest)
        factor = scale[:, None]
        return Sensitivity(largest.l1 * factor, largest.l2 * factor, *self.whole.spread(loss))

    def losses(self, z: Array) -> Array:
        """Sum the losses of each agent's records; shape (B, S), float64.

        Models have shape (B, S, K, J), or (1, S, K, J) for one that all agents share.
        """
        total = np.zeros(self._shape)
        for share in self._shares:
            w = z[min(share.agent, len(z) - 1), share.seeds]
            for rows in chunks(len(share.y), self.whole.whole_chunk):
                u = predict(share.X[rows], w)
                values = self.whole.loss.losses(u, share.y[rows, None])
                total[share.agent, share.seeds] += values.sum(axis=0)
        return total

    @cached_property
    def _narrow(self) -> Narrow | None:
        """Records on the columns that each agent uses; None where seeds have records of their own."""
        if len(self._shares) > len(self.n_samples):
            return None
        ends = itertools.accumulate((len(share.y) for share in self._shares), initial=0)
        return Narrow.from_records(
            self._X, list(itertools.starmap(slice, itertools.pairwise(ends)))
        )

    @cached_property
    def _batches(self) -> list[Batch]:
        """Pieces of the agents' records in batches."""
        size = self.whole.chunk
        pieces = (
            (
                slice(start + rows.start, start + rows.stop),
                Piece(share, share.seeds, rows, not rows.start),
            )
            for start, share in zip(self._starts, self._shares, strict=True)
            for rows in chunks(len(share.y), size)
        )
        return self._make_batches(pieces, size)

    def _sample_batches(self, sample: Sample) -> list[Batch]:
        """Put records of a sample in batches; each seed has a sample of its own."""
        size = self.whole.whole_chunk
        pieces = (
            (start + drawn[span], Piece(share, slice(seed, seed + 1), drawn[span], not span.start))
            for start, share in zip(self._starts, self._shares, strict=True)
            for seed in range(share.seeds.start, share.seeds.stop)
            for drawn in [sample[share.agent][seed]]
            for span in chunks(len(drawn), size)
        )
        return self._make_batches(pieces, size)

    def _make_batches(self, pieces: Iterable[tuple[RowSelection, Piece]], size: int) -> list[Batch]:
        if self._narrow:
            return make_batches(self._narrow.X, self._y, self._narrow.index, pieces, size)
        return make_batches(self._X, self._y, None, pieces, size)
