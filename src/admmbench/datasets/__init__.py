"""Data sets: one module for each, and what they share.

A module gives a `DatasetDefinition`: static facts, files with checksums, and how to read them. The
rest (fetching, verifying, the prepared form, caching) is common to all.
"""

from admmbench.datasets._base import Arrays, Attribute, Dataset, DatasetDefinition, DatasetInfo
from admmbench.datasets._checks import check_dataset
from admmbench.datasets._fetch import DatasetError, RemoteFile, checksum, read_bytes
from admmbench.datasets._prepared import open_prepared
from admmbench.datasets._registry import (
    describe,
    find_module,
    is_built_in,
    is_foreign,
    key,
    list_datasets,
    load_dataset,
    normalize,
    open_as,
    prepare,
    tables_of,
)

__all__ = [
    "Arrays",
    "Attribute",
    "Dataset",
    "DatasetDefinition",
    "DatasetError",
    "DatasetInfo",
    "RemoteFile",
    "check_dataset",
    "checksum",
    "describe",
    "find_module",
    "is_built_in",
    "is_foreign",
    "key",
    "list_datasets",
    "load_dataset",
    "normalize",
    "open_as",
    "open_prepared",
    "prepare",
    "read_bytes",
    "tables_of",
]
