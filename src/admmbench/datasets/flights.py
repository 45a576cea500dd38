"""Flights: 327,346 from New York in 2013, by carrier, and how late they arrived; a regression."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from admmbench.datasets._base import DatasetInfo
from admmbench.datasets._clients import RDataset
from admmbench.datasets._table_settings import Columns

if TYPE_CHECKING:
    import pandas as pd

# Minutes; later and earlier arrivals count as these.
DELAYS = (-60.0, 180.0)


class Flights(RDataset):
    """Flights with a known arrival, with what is known of them when they are booked.

    Features are month, weekday, scheduled hour of departure, airport of origin, and distance.
    """

    name = "flights"
    item = ("nycflights13", "flights")
    sha256 = "9d1dc51c7cffc92530474edf0f6791245bef4beabb397d84baf0aa8919d7a52b"
    columns = Columns(
        target="arr_delay",
        group="carrier",
        target_range=DELAYS,
        ranges={"distance": (0, 5000)},
        categories={
            "month": list(range(1, 13)),
            "weekday": list(range(7)),
            "hour": list(range(24)),
            "origin": ["EWR", "JFK", "LGA"],
        },
    )
    facts = {
        "title": "Delays of flights from New York in 2013",
        "n_train": 261_885,
        "n_test": 65_461,
        "n_features": 48,
        "class_names": (),
        "target_unit": "min",
        "target_range": DELAYS,
        "attributes": {"carrier": 16},
        "group": "carrier",
        "licence": "CC0 in the package nycflights13; from a publication of the United States' government",
        "citation": (
            "Bureau of Transportation Statistics, United States. Airline on-time performance, 2013. Table flights of "
            "the R package nycflights13"
        ),
        "default_problem": "huber",
    }

    def table(self, info: DatasetInfo, paths: Mapping[str, Path]) -> pd.DataFrame:
        """Return the flights that arrived."""
        import pandas as pd  # slow to import

        records = self.load().dropna(subset="arr_delay")
        days = pd.to_datetime(records[["year", "month", "day"]])
        return records.assign(weekday=days.dt.day_of_week)
