"""a9a: Adult with its attributes cut into 123 binary features, as LIBSVM distributes it."""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import read_bytes, sources

FILES = sources("a9a")


class A9a(DatasetDefinition):
    """a9a in file order, features as they are: 0 or 1.

    All records of Adult, also those with missing values. The last feature occurs in no test record.
    """

    name = "a9a"

    facts = {
        "title": "a9a (Adult, binary features)",
        "n_train": 32_561,
        "n_test": 16_281,
        "n_features": 123,
        "class_names": ("<=50K", ">50K"),
        "files": FILES,
        "licence": "not stated by LIBSVM; that of Adult is CC BY 4.0",
        "citation": (
            "J. C. Platt. Fast training of support vector machines using sequential minimal "
            "optimization. Advances in Kernel Methods: Support Vector Learning, MIT Press, "
            "1998; as distributed by C.-C. Chang and C.-J. Lin. LIBSVM: A library for support "
            "vector machines. ACM Transactions on Intelligent Systems and Technology 2(3), "
            "2011. doi:10.1145/1961189.1961199"
        ),
        "default_problem": "logistic",
    }

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse both files; labels are +1 and -1."""
        from sklearn.datasets import load_svmlight_files  # slow to import

        X_train, y_train, X_test, y_test = load_svmlight_files(
            [io.BytesIO(read_bytes(paths[file.name])) for file in FILES],
            n_features=info.n_features,
            dtype=np.float32,
            zero_based=False,
        )
        y_train, y_test = ((y > 0).astype(np.int64) for y in (y_train, y_test))
        return Arrays(X_train.toarray(), y_train, X_test.toarray(), y_test)
