"""Data sets: their static facts, their arrays, and the definition that a module gives."""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field, StrictStr

from admmbench.datasets._fetch import DatasetError, RemoteFile
from admmbench.validation import Text

# End of a range of targets that is scaled. Derivatives of `huber` are then about as large, and models about as far
# from zero, as those of classifiers, for which methods have their usual settings.
TARGET_END = 10
# Names of data sets and of attributes are parts of names of files.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


def check_name(name: Any) -> str:
    """Return a name; ValueError if it cannot be a part of the name of a file, or is a path of a plug-in."""
    if not (isinstance(name, str) and _NAME.fullmatch(name)) or name.endswith(".py"):
        raise ValueError(
            f"{name!r} is no name: take up to 64 letters, digits, _, - and ., the first a letter, a digit or _"
        )
    return name


def plain(value: Any) -> Any:
    """Return a value in types of Python instead of NumPy."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _fields(file: Any) -> Any:
    """Return the fields of a file, so that they are checked too."""
    return vars(file) if isinstance(file, RemoteFile) else file


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of classes; ValueError if two are equal, or there is only one."""
    if len(names) == 1 or len(set(names)) < len(names):
        raise ValueError("expected two different names or more, or none where targets are numbers")
    return names


def _ordered(ends: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a range; ValueError if the first is above the second."""
    if not ends[0] <= ends[1]:
        raise ValueError(f"{ends} is no pair of numbers (low, high)")
    return ends


def check_range(ends: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a range to scale from; ValueError if it has no width."""
    if not ends[0] < ends[1]:
        raise ValueError(f"expected two numbers, the first below the second, got {list(ends)}")
    return ends


# Types of facts, as `admmbench.datasets._checks` checks them.
Names = Annotated[tuple[str, ...], AfterValidator(_different), BeforeValidator(plain)]
Ends = Annotated[
    tuple[Annotated[float, BeforeValidator(plain)], Annotated[float, BeforeValidator(plain)]],
    AfterValidator(_ordered),
    BeforeValidator(plain),
]
Files = tuple[Annotated[RemoteFile, BeforeValidator(_fields)], ...]
Count = Annotated[int, Field(ge=0), BeforeValidator(plain)]


@dataclass(frozen=True, eq=False)
class Attribute:
    """Attribute of each record besides its features and its target, such as its writer.

    Attributes
    ----------
    values
        Names of the values, all different; a value need not occur.
    train
        Index into `values` for each training row, shape (n_train,).
    test
        Likewise for the test part, shape (n_test,).
    """

    values: tuple[str, ...]
    train: NDArray[np.int32]
    test: NDArray[np.int32]

    @classmethod
    def of(cls, values: Sequence[str], train: Iterable[str], test: Iterable[str]) -> Self:
        """Make an attribute from the value of each row; DatasetError for a value that is none of `values`."""
        codes = {value: code for code, value in enumerate(values)}
        try:
            parts = [np.array([codes[value] for value in part], np.int32) for part in (train, test)]
        except KeyError as error:
            raise DatasetError(
                f"'{error.args[0]}' is none of the {len(values)} values of an attribute"
            ) from None
        return cls(tuple(values), *parts)


@dataclass(frozen=True, eq=False, kw_only=True)
class DatasetFacts:
    """Facts of a data set that are known with and without its arrays.

    Attributes
    ----------
    name
    settings
        All settings, defaults filled in, so that ``{"name": name, **settings}`` loads the same again; of a plug-in,
        with its path as name.
    class_names
        Empty where targets are numbers.
    feature_names
        Empty where features have no names.
    checksums
        Checksum by source.
    licence, citation
    default_problem
        Loss to minimise when none is asked for.
    target_unit
        Unit of targets that are numbers.
    target_range
        Range in this unit that targets are scaled from, to [-10, 10]; None: targets are in this unit.
    domain
        Bounds of each feature of an admissible record (not of the sample), unit: none.
    note
        One sentence for reports if the selection is not complete, else empty.
    presumed
        Facts found in records that a guarantee of privacy presupposes besides the domain; empty without any.
    group
        Attribute by whose values records are partitioned by default; empty if there is none.
    drawn
        Whether problems are drawn from the seed, so that there are no records.
    """

    name: Text
    settings: dict[str, Any]
    class_names: Names
    feature_names: tuple[Text, ...] = ()
    checksums: dict[str, StrictStr] = field(default_factory=dict)
    licence: Text = ""
    citation: Text = ""
    default_problem: str = "softmax"
    target_unit: Text = "1"
    target_range: Annotated[Ends, AfterValidator(check_range)] | None = None
    domain: Ends = (0.0, 1.0)
    note: Text = ""
    presumed: Text = ""
    group: str = ""
    drawn: bool = False

    @property
    def n_classes(self) -> int:
        """Return the number of classes."""
        return len(self.class_names)

    @property
    def target_scale(self) -> float:
        """Return the difference in the targets' unit that is 1 in targets as they are stored."""
        if self.target_range is None:
            return 1.0
        low, high = self.target_range
        return high / (2 * TARGET_END) - low / (2 * TARGET_END)

    def in_unit(self, y: Any) -> Any:
        """Return targets that are numbers in their unit."""
        low, high = self.target_range or (0.0, 0.0)
        return y * self.target_scale + (low / 2 + high / 2)

    @property
    def facts(self) -> dict[str, Any]:
        """Return these facts by name."""
        return {field.name: getattr(self, field.name) for field in fields(DatasetFacts)}


@dataclass(frozen=True, kw_only=True)
class DatasetInfo(DatasetFacts):
    """Facts of a data set that are known without any file, with those of `DatasetFacts`.

    Attributes
    ----------
    title
    n_train, n_test, n_features
    files
        Files to fetch; empty if the data come with a library. Their checksums need not be stated again.
    attributes
        Number of values of each attribute of records, see `Dataset`.
    exact
        Whether `n_train` was counted; otherwise it is an estimate.
    summary
        Lines that `admmbench prepare` prints: how records became features.
    class_sizes
        Number of records of each class in both parts, of a table; else empty.
    """

    title: str
    n_train: Count
    n_test: Count
    n_features: Count
    files: Files = ()
    attributes: dict[Annotated[str, AfterValidator(check_name)], Count] = field(
        default_factory=dict
    )
    exact: bool = True
    summary: tuple[str, ...] = ()
    class_sizes: tuple[Count, ...] = ()


@dataclass(frozen=True, eq=False)
class Arrays:
    """Arrays of a data set, as its definition reads them from files.

    Attributes
    ----------
    X_train
        Features, float32, C-contiguous, shape (n_train, n_features).
    y_train
        Class indices 0 to `n_classes` - 1 (int64), or numbers where there are no classes (float32), shape (n_train,).
    X_test, y_test
        Likewise for the test part.
    attributes
        Attributes of each record besides features and target, by name.
    """

    X_train: NDArray[np.float32]
    y_train: NDArray[np.int64] | NDArray[np.float32]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64] | NDArray[np.float32]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset(DatasetFacts, Arrays):
    """Data set that is ready to use: facts, and `Arrays`, which are read-only and mapped from disk.

    Attributes
    ----------
    key
        Digest of all that determines the arrays, see `admmbench.datasets.key`; empty if made in Python.
    """

    key: str = ""

    @property
    def n_train(self) -> int:
        """Return the number of training rows."""
        return len(self.X_train)

    @property
    def n_test(self) -> int:
        """Return the number of test rows."""
        return len(self.X_test)

    @property
    def n_features(self) -> int:
        """Return the number of features."""
        return int(self.X_train.shape[1])

    @property
    def constant_error(self) -> float:
        """Return the test error of the best constant: of the commonest class, or of the mean (RMSE), of training."""
        if self.drawn:
            return float("nan")
        if self.class_names:
            return float(np.mean(self.y_test != np.bincount(self.y_train).argmax()))
        errors = self.y_test - self.y_train.mean(dtype=np.float64)
        return float(np.sqrt(np.mean(np.square(errors)))) * self.target_scale

    @property
    def info(self) -> DatasetInfo:
        """Return the facts that are known without files, here read from the arrays."""
        return DatasetInfo(
            **self.facts,
            title=self.name,
            n_train=self.n_train,
            n_test=self.n_test,
            n_features=self.n_features,
            attributes={name: len(attribute.values) for name, attribute in self.attributes.items()},
        )

    def __repr__(self) -> str:
        settings = "".join(f", {key}={value!r}" for key, value in self.settings.items())
        return (
            f"<Dataset {self.name}{settings}: {self.n_train} + {self.n_test} rows, "
            f"{self.n_features} features, "
            + (f"{self.n_classes} classes>" if self.n_classes else "numbers as targets>")
        )


def untested(class_names: Sequence[str], y_test: NDArray[Any]) -> str:
    """Return a note that names the classes without a record in the test part; empty if all have one."""
    counts = np.bincount(y_test, minlength=len(class_names)) if class_names else np.ones(0)
    lacking = [repr(class_names[code]) for code in np.flatnonzero(counts == 0).tolist()]
    if not lacking:
        return ""
    more = f" and {len(lacking) - 12} more" if len(lacking) > 12 else ""
    return (
        f"the test part has no record of {', '.join(lacking[:12])}{more}: errors do not count there"
    )


class DatasetDefinition(ABC):
    """Definition of a data set, as a module gives it: facts, files, and how to read them."""

    #: Name users write.
    name: ClassVar[str]
    #: Names and defaults of the settings.
    defaults: ClassVar[Mapping[str, Any]] = {}
    #: Facts that do not depend on the settings, by the names that `DatasetInfo` has for them.
    facts: ClassVar[Mapping[str, Any]]

    def validate(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return settings, which have every name of `defaults` and no other, in their one canonical form.

        Raises
        ------
        ValueError
            For a value that is not admissible, naming the setting.
        """
        return settings

    def identity(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the canonical settings that determine the arrays, besides checksums: all but the places of files."""
        return settings

    def without(self, settings: dict[str, Any], missing: Collection[str]) -> dict[str, Any] | None:
        """Return settings of the smaller data set that needs none of the files of these names; None without one."""
        return None

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the static facts for canonical settings, without reading data: `facts`, whatever the settings."""
        return DatasetInfo(name=self.name, settings=settings, **self.facts)

    @abstractmethod
    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse the files.

        Parameters
        ----------
        info
            Facts that `describe` returns for these settings.
        paths
            Verified copy of each of `info.files` by name; open with `read_bytes`.

        Raises
        ------
        DatasetError
            If the content is not as expected, naming the file.
        """
