"""adult-a: all records of Adult, by the attributes of adult-b that are never missing."""

from collections.abc import Mapping
from pathlib import Path

from admmbench.datasets import adult, adult_b
from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo


class AdultA(DatasetDefinition):
    """Features of adult-b without work class and occupation, 20, and a column of ones.

    So all records can stay, as the sizes in he2023 (section 5.2) say, and the number of features is the one that the
    paper states. The paper does not say how it prepares the records. An unknown country counts as another than the
    United States.
    """

    name = "adult_a"

    facts = {
        **adult.Adult.facts,
        "title": "adult-a (census income, all records)",
        "n_train": 32_561,
        "n_test": 16_281,
        "n_features": 21,
        "domain": adult_b.DOMAIN,
    }

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse both files and make the table of both together."""
        train, test = (adult.read_people(paths[file.name], incomplete=True) for file in adult.FILES)
        return adult.assemble(train, test, lambda people: adult_b.table(people, work=False))
