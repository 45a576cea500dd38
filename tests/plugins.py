"""Methods in files of their own."""

import textwrap
from pathlib import Path


def write_method(path: Path, body: str = "pass") -> str:
    """Write a method that is objective perturbation but for these lines, and is called as its file; return the path."""
    path.write_text(
        "from admmbench.algorithms.objp import ObjP\n"
        "from admmbench.base.algorithm import parameters\n\n\n"
        f"@parameters\nclass {path.stem.capitalize()}(ObjP):\n"
        + textwrap.indent(textwrap.dedent(body).strip(), "    ")
        + "\n"
    )
    return str(path)
