"""The suite as `pip install` leaves it: in an environment of its own, from a wheel."""

import subprocess
import sys
import venv
from contextlib import chdir
from pathlib import Path

from hatchling import build

ROOT = Path(__file__).parents[1]


def wheel(folder: Path, source: Path = ROOT) -> Path:
    """The wheel of a source, built in a folder."""
    with chdir(source):
        return folder / build.build_wheel(str(folder))


def install(folder: Path) -> Path:
    """Python of a new environment with the suite; what that depends on comes from the environment of the tests."""
    folder.mkdir(exist_ok=True)
    venv.create(folder / "environment", symlinks=True)
    python = folder / "environment/bin/python"
    (packages,) = (folder / "environment").glob("lib/*/site-packages")
    (packages / "dependencies.pth").write_text(
        "\n".join(path for path in sys.path if Path(path).name == packages.name)
    )
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"),
            *("--no-deps", "--no-index", "--disable-pip-version-check", str(wheel(folder))),
        ],
        check=True,
    )
    return python
