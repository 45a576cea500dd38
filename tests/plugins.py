"""Methods in files of their own."""

import textwrap
from pathlib import Path


def write_method(path: Path, body: str = "pass") -> str:
    """Write a method that is objective perturbation but for these lines, and is called as its file; return the path."""
    path.write_text(
        "from admmbench.algorithms.objp import ObjP\n"
        "from admmbench.base.algorithm import PrivacyFacts, Resources, parameters\n\n\n"
        f"@parameters\nclass {path.stem.capitalize()}(ObjP):\n"
        + textwrap.indent(textwrap.dedent(body).strip(), "    ")
        + "\n"
    )
    return str(path)


PARTS = '''
"""A data set in two files, each the records of two writers; nothing serves them."""

import hashlib

import numpy as np

from admmbench.api import Arrays, Attribute, DatasetDefinition, DatasetInfo, RemoteFile


def content(part):
    return bytes(range(part, part + 40))


class Parts(DatasetDefinition):
    name = "parts"
    defaults = {"parts": [0, 1]}

    def without(self, settings, missing):
        left = [part for part in settings["parts"] if f"part_{part}" not in missing]
        return {"parts": left} if left else None

    def describe(self, settings):
        n = len(settings["parts"])
        files = tuple(
            RemoteFile(
                f"part_{part}",
                (f"http://127.0.0.1:9/part_{part}",),
                f"part_{part}",
                f"sha256:{hashlib.sha256(content(part)).hexdigest()}",
            )
            for part in settings["parts"]
        )
        return DatasetInfo(
            name="parts", title="Parts", settings=settings, n_train=32 * n, n_test=8 * n,
            n_features=2, class_names=("even", "odd"), attributes={"writer": 2 * n}, files=files,
            licence="none", citation="nobody", note="" if n == 2 else "a part",
        )

    def read(self, info, paths):
        parts = info.settings["parts"]
        values = [np.frombuffer(paths[f"part_{part}"].read_bytes(), np.uint8) for part in parts]
        kinds = [(v[:32], v[32:]) for v in values]
        train, test = (np.concatenate(each).astype(np.int64) for each in zip(*kinds))
        rows = [np.stack([each / 255, np.ones(len(each))], 1, dtype=np.float32) for each in (train, test)]
        names = [f"{part}{half}" for part in parts for half in "ab"]
        writer = Attribute.of(
            names,
            [f"{part}{'ab'[k % 2]}" for part in parts for k in range(32)],
            [f"{part}{'ab'[k % 2]}" for part in parts for k in range(8)],
        )
        return Arrays(rows[0], train % 2, rows[1], test % 2, {"writer": writer})
'''


def write_parts(folder: Path, mirrored: int = 1) -> str:
    """Write a data set of two parts, and a mirror with so many of them; return the path of its module."""
    module, mirror = folder / "parts.py", folder / "mirror"
    module.write_text(PARTS)
    mirror.mkdir(exist_ok=True)
    for part in range(mirrored):
        (mirror / f"part_{part}").write_bytes(bytes(range(part, part + 40)))
    return str(module)
