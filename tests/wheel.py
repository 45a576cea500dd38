"""The suite as `pip install` leaves it: in an environment of its own, from a wheel."""

import subprocess
import sys
import sysconfig
import venv
from contextlib import chdir
from pathlib import Path

from hatchling import build

ROOT = Path(__file__).parents[1]


def wheel(folder: Path, source: Path = ROOT) -> Path:
    """The wheel of a source, built in a folder."""
    with chdir(source):
        return folder / build.build_wheel(str(folder))


def environment(folder: Path) -> Path:
    """Python of a new environment that has all packages of the one of the tests but the suite."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/*/site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "admmbench" not in path.name:
            (packages / path.name).symlink_to(path)
    return folder / "bin/python"


def install(folder: Path) -> Path:
    """Python of a new environment with the suite; what that depends on comes from the environment of the tests."""
    folder.mkdir(exist_ok=True)
    python = environment(folder / "environment")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"),
            *("--no-deps", "--no-index", "--disable-pip-version-check", str(wheel(folder))),
        ],
        check=True,
    )
    return python
