"""Voters: 44,932 respondents of 51 states, and whether they voted for Trump in 2016."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from admmbench.datasets._base import DatasetInfo
from admmbench.datasets._clients import RDataset
from admmbench.datasets._table_settings import Columns

if TYPE_CHECKING:
    import pandas as pd

RACES = [
    "Asian",
    "Black",
    "Hispanic",
    "Middle Eastern",
    "Mixed",
    "Native American",
    "Other",
    "White",
]


class Voters(RDataset):
    """Respondents who state a vote, by their state of residence.

    Ranges are the codes of the questionnaire. The three latent scales are left out, as they were estimated from all
    respondents together, and so are the numbers of respondents.
    """

    name = "voters"
    item = ("stevedata", "TV16")
    sha256 = "09451c6ead368c949d2fec774ecf2cb9afb05ef508921c42a6642a75fa0d2c6a"
    columns = Columns(
        target="vote",
        group="state",
        ranges={
            "age": (18, 100),
            "female": (0, 1),
            "collegeed": (0, 1),
            "famincr": (1, 12),
            "ideo": (1, 5),
            "pid7na": (1, 7),
            "bornagain": (0, 1),
            "religimp": (1, 4),
            "churchatd": (1, 6),
            "prayerfreq": (1, 7),
            "angryracism": (1, 5),
            "whiteadv": (1, 5),
            "fearraces": (1, 5),
            "racerare": (1, 5),
        },
        categories={"racef": RACES, "vote": ["other", "Trump"]},
    )
    facts = {
        "title": "Voters of the 2016 election in the United States",
        "n_train": 35_966,
        "n_test": 8_966,
        "n_features": 34,
        "class_names": ("other", "Trump"),
        "attributes": {"state": 51},
        "group": "state",
        "licence": "not stated by the study; GPL-2 or later in the package stevedata",
        "citation": (
            "S. Ansolabehere and B. F. Schaffner. Cooperative Congressional Election Study, 2016: common content. "
            "doi:10.7910/DVN/GDF6Z0. Table TV16 of the R package stevedata"
        ),
        "default_problem": "logistic",
    }

    def table(self, info: DatasetInfo, paths: Mapping[str, Path]) -> pd.DataFrame:
        """Return those who state a vote."""
        records = self.load().dropna(subset="votetrump")
        return records.assign(vote=records["votetrump"].map({0: "other", 1: "Trump"}))
