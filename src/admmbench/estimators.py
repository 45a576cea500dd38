"""Private federated methods as estimators of scikit-learn; `fit` makes one run, and never tunes."""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from admmbench.datasets import TARGET_END, Attribute, Dataset
from admmbench.engine.rounds import run_rounds
from admmbench.problems.base import RecordBounds
from admmbench.problems.batches import scale_down
from admmbench.problems.losses import as_loss
from admmbench.spec import guarantees
from admmbench.spec.run import RunSpec
from admmbench.validation import checked

Array = NDArray[Any]
# Parameters of methods whose own defaults are those of a paper, for records in [0, 1].
_DEFAULT_PARAMS: Mapping[str, Mapping[str, Any]] = {"dp_gd": {"learning_rate": 2.0}}
_SEEDS = 2**63
"""Seeds are whole numbers below."""


class PrivacyLeakWarning(UserWarning):
    """Warning that a fact was taken from private records, so that nothing is guaranteed."""


@dataclass(kw_only=True, repr=False, eq=False)
class _PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """Fit of a linear model by a private federated method."""

    method: str = "dp_gd"
    total_epsilon: float = 1.0
    delta: float = 1e-5
    params: Mapping[str, Any] | None = None
    rounds: int = 20
    loss: str | None = None
    strength: float = 1e-6
    max_norm: float | None = None
    bounds: tuple[Any, Any] | None = None
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit the model to features of shape (n, J) and targets of shape (n,).

        Parameters
        ----------
        X, y
            Records.
        groups
            Whose each record is, shape (n,): each group has an agent. Without groups there is one agent.

        Raises
        ------
        ValueError
            If an argument is wrong, or the run diverged.
        """
        for name in ("total_epsilon", "max_norm"):
            value: object = getattr(self, name)
            # NaN is no infinity.
            if not (
                (isinstance(value, Real) and float(value) > 0)
                or (name, value) == ("max_norm", None)
            ):
                raise ValueError(f"{name}: expected a number above 0, got {value!r}")
        self._leaks: list[str] = []
        features, targets, facts = self._prepare(X, y)
        low, high = self._ends(features)
        self._scaler = MinMaxScaler(clip=True).fit(np.stack([low, high]))
        max_norm = self.max_norm or math.sqrt((features.shape[1] + 1) / 2)
        self._records = RecordBounds(max_l2_norm=max_norm)
        data = self._dataset(self._scaled(features), targets, groups, facts)
        spec = self._run(data)
        trace = run_rounds(spec, data)
        self.model_ = trace.labelled_models(spec.info).isel(seed=0, drop=True)
        if not np.isfinite(self.model_).all():
            raise ValueError("the run diverged; state other params, or a larger total_epsilon")
        self.privacy_ = self._privacy(spec, float(trace.dataset(spec, {})["epsilon_total"][-1]))
        if self._leaks:
            warnings.warn(
                f"{' and '.join(self._leaks)} taken from the records, so that no privacy is guaranteed; state what is "
                "known without them",
                PrivacyLeakWarning,
                stacklevel=2,
            )
        return self

    def _ends(self, X: Array) -> tuple[Array, Array]:
        """Return the lowest and highest value of each feature, shape (J,); of the records if none are stated."""
        if self.bounds is None:
            self._leaks.append("bounds:")
            return X.min(axis=0), X.max(axis=0)
        low, high = (np.broadcast_to(np.asarray(end, float), X.shape[1]) for end in self.bounds)
        if not (np.isfinite(high - low).all() and (low < high).all()):
            raise ValueError(f"bounds: expected finite (low, high), low < high, got {self.bounds}")
        return low, high

    def _scaled(self, X: Array) -> Array:
        """Return features in [0, 1], and a column of ones, shape (n, J + 1)."""
        return np.hstack([self._scaler.transform(X), np.ones((len(X), 1))]).astype(np.float32)

    def _dataset(self, X: Array, y: Array, groups: Any, facts: Mapping[str, Any]) -> Dataset:
        """Return the records as a data set; its test part, which no result is of, is the training part."""
        names = getattr(
            self, "feature_names_in_", [f"x{number}" for number in range(X.shape[1] - 1)]
        )
        attributes = {}
        if groups is not None:
            values, places = np.unique(column_or_1d(groups), return_inverse=True)
            check_consistent_length(X, places)
            codes = np.asarray(places, np.int32)
            attributes["group"] = Attribute(tuple(map(str, values)), codes, codes)
        return Dataset(
            name="arrays",
            settings={},
            feature_names=(*map(str, names), "intercept"),
            X_train=X,
            y_train=y,
            X_test=X,
            y_test=y,
            attributes=attributes,
            group="group" if attributes else "",
            **facts,
        )

    def _run(self, data: Dataset) -> RunSpec:
        """Return the run that fits the model."""
        seed = self.random_state
        if seed is None:
            seed = secrets.randbelow(_SEEDS)
        elif not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(_SEEDS, dtype=np.int64)
        private = math.isfinite(self.total_epsilon)
        usual = _DEFAULT_PARAMS.get(self.method, {})
        settings = {
            "dataset": data,
            "algorithm": self.method,
            "params": dict(usual if self.params is None else self.params),
            "problem": {
                "loss": self.loss or data.default_problem,
                "strength": self.strength,
                "per": "total",
                "average": "records",
                "records": self._records.model_dump(),
            },
            "agents": None if data.group else 1,
            "privacy": {"total": self.total_epsilon if private else None},
            "delta": self.delta,
            "sensitivity": "global",
            "rounds": self.rounds,
            "evaluate_every": self.rounds,
            "seeds": [int(seed)],
        }
        return checked(RunSpec, settings, "")

    def _privacy(self, spec: RunSpec, spent: float) -> dict[str, Any]:
        """Return the total privacy loss, and what it is worth."""
        worth = guarantees.guarantee(spec)
        if worth.keys == ("stated_domain",):  # which holds, as records are clipped to the bounds
            worth = spec.method.guarantee("global")
        kind, conditions = worth.kind, worth.conditions
        if self._leaks:
            kind, conditions = "none", f"{' and '.join(self._leaks)} taken from the records"
        return {
            "total": math.inf if kind == "none" else spent,
            "delta": spec.delta,
            "unit": spec.neighbours.unit,
            "relation": spec.neighbours.relation,
            "guarantee": kind,
            "conditions": conditions,
        }

    def _outputs(self, X: ArrayLike) -> Array:
        """Return the outputs of the model, shape (n, K)."""
        check_is_fitted(self)
        features = self._scaled(validate_data(self, X, reset=False))
        records = scale_down(features, self._records, np.dtype(np.float64))
        return np.asarray(records @ np.atleast_2d(self.model_.to_numpy()).T.astype(np.float64))


@dataclass(kw_only=True, repr=False, eq=False)
class PrivateClassifier(ClassifierMixin, _PrivateEstimator):  # type: ignore[misc]
    """Linear classifier, fitted by a private federated method at a total privacy loss.

    Parameters
    ----------
    method
        Name of a method, or the path of a plug-in.
    total_epsilon
        Total privacy loss epsilon of the fit; infinity adds no noise.
    delta
        Failure probability of the total.
    params
        Parameters of the method; its defaults if absent, but a learning rate of 2 for ``dp_gd``.
    rounds
        Number of rounds.
    loss
        ``logistic`` for two classes and ``softmax`` for more if absent.
    strength
        Weight of half the squared norm of the model beside the mean loss.
    max_norm
        Norm that scaled records are clipped to; sqrt((J + 1) / 2) for J features if absent.
    bounds
        Lowest and highest value of features, numbers or arrays of shape (J,), known without the records. Features are
        clipped to them and scaled to [0, 1].
    classes
        All classes, known without the records.
    random_state
        Seed of the noise; drawn from the system's entropy if None. Who knows a seed can take the noise away, so a
        fixed one is for simulations alone.

    Attributes
    ----------
    model_
        `xarray.DataArray` with the dims ``class`` and ``feature``; features are scaled.
    privacy_
        ``total``, ``delta``, ``unit``, ``relation``, ``guarantee``, and its ``conditions``. There is no guarantee where
        bounds or classes are taken from the records, which a `PrivacyLeakWarning` says.
    classes_

    Examples
    --------
    >>> from admmbench import PrivateClassifier
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PrivateClassifier(total_epsilon=4, bounds=(0, 16), classes=range(10)).fit(X, y)
    >>> model.privacy_["guarantee"]
    'proved'
    """

    classes: ArrayLike | None = None

    def _prepare(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, Array, dict[str, Any]]:
        """Return features, indices of classes, and facts of the data set."""
        features, targets = validate_data(self, X, y)
        check_classification_targets(targets)
        if self.classes is None:
            self._leaks.append("classes:")
        self.classes_ = np.unique(targets if self.classes is None else np.asarray(self.classes))
        if len(self.classes_) < 2:
            raise ValueError(f"a classifier needs two classes, got one class: {self.classes_[0]}")
        if len(others := np.setdiff1d(targets, self.classes_)):
            raise ValueError(f"classes: records have {others[0]}, which is none of them")
        names = tuple(map(str, self.classes_))
        usual = "logistic" if len(names) == 2 else "softmax"
        codes = np.searchsorted(self.classes_, targets).astype(np.int64)
        return features, codes, {"class_names": names, "default_problem": usual}

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the output for each class, shape (n, K), or for the second of two, shape (n,)."""
        outputs = self._outputs(X)
        if len(self.classes_) > 2:
            return outputs
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs[:, 1] - outputs[:, 0]

    def predict(self, X: ArrayLike) -> Array:
        """Return the class of each record."""
        outputs = self.decision_function(X)
        codes = outputs.argmax(axis=1) if outputs.ndim == 2 else (outputs > 0).astype(int)
        return np.asarray(self.classes_[codes])

    @available_if(lambda self: self.loss is None or as_loss(self.loss).likelihood)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probability of each class, shape (n, K), which the losses logistic and softmax have."""
        outputs = self.decision_function(X)
        if outputs.ndim == 2:
            return np.asarray(softmax(outputs, axis=1))
        return np.stack([expit(-outputs), expit(outputs)], axis=1)

    def __sklearn_tags__(self) -> Any:
        """Return the tags, which allow a poor score, as noise may leave little accuracy."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


@dataclass(kw_only=True, repr=False, eq=False)
class PrivateRegressor(RegressorMixin, _PrivateEstimator):  # type: ignore[misc]
    """Linear regression, fitted by a private federated method at a total privacy loss.

    Parameters and attributes are those of `PrivateClassifier`, but for classes and the loss.

    Parameters
    ----------
    loss
        ``huber`` if absent; of targets that are scaled to [-10, 10].
    target_bounds
        Lowest and highest target, known without the records. Targets are clipped to them.
    """

    target_bounds: tuple[float, float] | None = None

    def _prepare(self, X: ArrayLike, y: ArrayLike) -> tuple[Array, Array, dict[str, Any]]:
        """Return features, targets that are scaled from their bounds, and facts of the data set."""
        features, targets = validate_data(self, X, y, y_numeric=True)
        ends = self.target_bounds
        if ends is None:
            self._leaks.append("target_bounds:")
            low, high = float(targets.min()), float(targets.max())
            ends = (low, high) if low < high else (low - 0.5, low + 0.5)
        if not (ends[0] < ends[1] and math.isfinite(ends[1] - ends[0])):
            raise ValueError(f"target_bounds: expected finite (low, high), low < high, got {ends}")
        self._middle, self._half = (float(ends[1] / 2 + sign * (ends[0] / 2)) for sign in (1, -1))
        scaled = (targets - self._middle) / self._half * TARGET_END
        facts = {"class_names": (), "default_problem": "huber", "target_range": tuple(ends)}
        return features, scaled.clip(-TARGET_END, TARGET_END).astype(np.float32), facts

    def predict(self, X: ArrayLike) -> Array:
        """Return the target of each record, in its unit."""
        return self._outputs(X)[:, 0] * (self._half / TARGET_END) + self._middle

    def __sklearn_tags__(self) -> Any:
        """Return the tags, which allow a poor score, as noise may leave little accuracy."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
