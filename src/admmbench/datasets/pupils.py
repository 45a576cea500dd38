"""Pupils: 31,022 of 131 education authorities, and their scores in chemistry."""

from __future__ import annotations

from admmbench.datasets._clients import RDataset
from admmbench.datasets._table_settings import Columns

SCORES = ("0", "2", "4", "6", "8", "10")


class Pupils(RDataset):
    """Candidates for A-level chemistry in 1997, by their local education authority; the six scores are classes.

    The centred score of earlier examinations is left out, as its mean is that of all pupils; the score itself stays.
    """

    name = "pupils"
    item = ("mlmRev", "Chem97")
    sha256 = "ced7d60a0318e08183e44a0baf50f3bb6bceb4962ca22a7567395745d8559a3d"
    columns = Columns(
        target="score",
        group="lea",
        ranges={"age": (-6, 5), "gcsescore": (0, 8)},
        categories={"gender": ["F", "M"], "score": list(SCORES)},
    )
    facts = {
        "title": "Pupils with A-level chemistry in 1997",
        "n_train": 24_866,
        "n_test": 6_156,
        "n_features": 5,
        "class_names": SCORES,
        "attributes": {"lea": 131},
        "group": "lea",
        "licence": "not stated by the study; GPL-2 or later in the package mlmRev",
        "citation": (
            "M. Yang, A. Fielding and H. Goldstein. Multilevel ordinal models for examination grades. Statistical "
            "Modelling 3(2), 2003. Table Chem97 of the R package mlmRev"
        ),
        "default_problem": "softmax",
    }
