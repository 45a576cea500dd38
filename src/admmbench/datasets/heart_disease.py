"""Heart disease: 920 patients of four hospitals, and whether their coronary arteries are narrowed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admmbench.datasets._base import DatasetInfo
from admmbench.datasets._clients import ClientTable
from admmbench.datasets._fetch import sources
from admmbench.datasets._table_settings import Columns
from admmbench.validation import one_of

if TYPE_CHECKING:
    import pandas as pd

FILES = sources("heart_disease")
HOSPITALS = [file.name.split(".")[1] for file in FILES]
NAMES = [
    *("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak"),
    *("slope", "ca", "thal", "num"),
]
# Numbers of training and test records, and of features, by the treatment of gaps.
SIZES = {"impute": (738, 182, 22), "drop": (593, 147, 18)}


class HeartDisease(ClientTable):
    """Processed files of the four hospitals, with ten of their thirteen measurements.

    ``slope``, ``ca`` and ``thal`` are left out, as two hospitals hardly have them. A cholesterol or blood pressure of
    zero is a missing value: Switzerland measured no cholesterol.

    Parameters
    ----------
    missing
        ``impute``: all records stay, see `ClientTable`; ``drop``: those without a ``?`` in the ten columns, which are
        303, 261, 46 and 130. Zeros are imputed in either case.
    """

    name = "heart_disease"
    defaults = {"missing": "impute"}
    columns = Columns(
        target="disease",
        group="hospital",
        ranges={
            "age": (20, 90),
            "sex": (0, 1),
            "trestbps": (80, 200),
            "chol": (80, 600),
            "fbs": (0, 1),
            "thalach": (60, 220),
            "exang": (0, 1),
            "oldpeak": (-3, 7),
        },
        categories={"cp": [1, 2, 3, 4], "restecg": [0, 1, 2], "disease": ["no", "yes"]},
    )
    facts = {
        "title": "Heart disease in four hospitals",
        "class_names": ("no", "yes"),
        "files": FILES,
        "attributes": {"hospital": 4},
        "group": "hospital",
        "licence": "CC BY 4.0",
        "citation": (
            "A. Janosi, W. Steinbrunn, M. Pfisterer and R. Detrano. Heart Disease. UCI Machine Learning "
            "Repository, 1989. doi:10.24432/C52P4X"
        ),
        "default_problem": "logistic",
    }

    def validate(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Check what is done with gaps."""
        one_of("heart_disease: missing", settings["missing"], SIZES)
        return settings

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the static facts; sizes depend on the treatment of gaps."""
        n_train, n_test, n_features = SIZES[settings["missing"]]
        return DatasetInfo(
            name=self.name,
            settings=settings,
            n_train=n_train,
            n_test=n_test,
            n_features=n_features,
            **self.facts,
        )

    def table(self, info: DatasetInfo, paths: Mapping[str, Path]) -> pd.DataFrame:
        """Read the files of all hospitals."""
        import pandas as pd  # slow to import

        parts = [
            pd.read_csv(paths[file.name], names=NAMES, na_values="?").assign(hospital=hospital)
            for file, hospital in zip(FILES, HOSPITALS, strict=True)
        ]
        records = pd.concat(parts, ignore_index=True)
        if info.settings["missing"] == "drop":
            records = records.dropna(subset=NAMES[:10])
        measured = ["trestbps", "chol"]
        records[measured] = records[measured].mask(records[measured] == 0)
        return records.assign(disease=(records["num"] > 0).map({False: "no", True: "yes"}))
