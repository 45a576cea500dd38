"""Ratings: 73,421 of lectures, by 2,972 students."""

from __future__ import annotations

from admmbench.datasets._clients import RDataset
from admmbench.datasets._table_settings import Columns

DEPARTMENTS = [*range(1, 13), 14, 15]
RATINGS = ("1", "2", "3", "4", "5")


class Ratings(RDataset):
    """Ratings of lectures at ETH Zurich from 1 (poor) to 5 (very good), which are the classes, by student.

    A student is a user with many records: ask for totals about whole agents (``unit: agent``) under a secure sum. The
    lecturers' numbers are left out.
    """

    name = "ratings"
    item = ("lme4", "InstEval")
    sha256 = "d9f6555d7e15eeceee211dae29a3a4dbbdfd878600e3d944d2c5563c9d0c598a"
    columns = Columns(
        target="y",
        group="s",
        ranges={"lectage": (1, 6), "service": (0, 1)},
        categories={"studage": [2, 4, 6, 8], "dept": DEPARTMENTS, "y": list(RATINGS)},
    )
    facts = {
        "title": "Ratings of lectures by students",
        "n_train": 59_873,
        "n_test": 13_548,
        "n_features": 21,
        "class_names": RATINGS,
        "attributes": {"s": 2972},
        "group": "s",
        "licence": "not stated by the study; GPL-2 or later in the package lme4",
        "citation": (
            "D. Bates, M. Mächler, B. Bolker and S. Walker. Fitting linear mixed-effects models using lme4. Journal of "
            "Statistical Software 67(1), 2015. doi:10.18637/jss.v067.i01. Table InstEval of the R package lme4"
        ),
        "default_problem": "softmax",
    }
