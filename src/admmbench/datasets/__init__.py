"""Data sets: one module for each, and the parts that all share.

A module gives a `DatasetDefinition`: static facts, files with checksums, and how to read them. The
rest (fetching, verifying, the prepared form, caching) is common to all.
"""

from admmbench.datasets._base import TARGET_END as TARGET_END
from admmbench.datasets._base import Arrays as Arrays
from admmbench.datasets._base import Attribute as Attribute
from admmbench.datasets._base import Dataset as Dataset
from admmbench.datasets._base import DatasetDefinition as DatasetDefinition
from admmbench.datasets._base import DatasetInfo as DatasetInfo
from admmbench.datasets._base import untested as untested
from admmbench.datasets._checks import check_dataset as check_dataset
from admmbench.datasets._fetch import DatasetError as DatasetError
from admmbench.datasets._fetch import RemoteFile as RemoteFile
from admmbench.datasets._fetch import checksum as checksum
from admmbench.datasets._fetch import read_bytes as read_bytes
from admmbench.datasets._missing import MissingData as MissingData
from admmbench.datasets._prepared import is_of_earlier_version as is_of_earlier_version
from admmbench.datasets._prepared import open_prepared as open_prepared
from admmbench.datasets._registry import Spec as Spec
from admmbench.datasets._registry import are_arrays as are_arrays
from admmbench.datasets._registry import compare_stated as compare_stated
from admmbench.datasets._registry import describe as describe
from admmbench.datasets._registry import files_beside as files_beside
from admmbench.datasets._registry import find_module as find_module
from admmbench.datasets._registry import identity as identity
from admmbench.datasets._registry import is_built_in as is_built_in
from admmbench.datasets._registry import is_foreign as is_foreign
from admmbench.datasets._registry import key as key
from admmbench.datasets._registry import list_datasets as list_datasets
from admmbench.datasets._registry import load_dataset as load_dataset
from admmbench.datasets._registry import missing_files as missing_files
from admmbench.datasets._registry import normalize as normalize
from admmbench.datasets._registry import open_as as open_as
from admmbench.datasets._registry import prepare as prepare
from admmbench.datasets._registry import without as without
from admmbench.datasets._splits import ColumnSplit as ColumnSplit
from admmbench.datasets._splits import RowSelection as RowSelection
from admmbench.datasets._splits import Shares as Shares
from admmbench.datasets._splits import Split as Split
from admmbench.datasets._splits import n_rows as n_rows
