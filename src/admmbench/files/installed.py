"""Paths of the installed workflow and of the papers' configurations, and of the user's files of the same kinds.

The package holds workflow and configurations; in a clone they are links to the folders of the repository. The functions
below find them in a wheel, an editable installation or a clone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from admmbench.validation import unknown

_SHARE = Path(__file__).parents[1] / "share"
# File that `module:` of the user's own Snakefile names.
SNAKEFILE = _SHARE / "workflow" / "Snakefile"
PROFILES = _SHARE / "workflow" / "profiles"
# The configurations of the papers' studies.
CONFIG = _SHARE / "config"
# Reference results, which come with the suite.
REFERENCE = _SHARE / "reference"
# Environment variable with the user's folder of the configuration, for processes that a sweep starts: its own folder.
CONFIG_FOLDER = "ADMMBENCH_CONFIG"
# Configuration and reference results of the user, relative to the working directory.
OWN, OWN_REFERENCE = Path(os.environ.get(CONFIG_FOLDER, "config")), Path("reference")
SUFFIXES = (".yaml", ".yml")


def find_all(kind: str = "", folder: Path = OWN) -> dict[str, Path]:
    """Find the YAML files of a kind, the installed ones and the user's own.

    Parameters
    ----------
    kind
        Folder below the folder of the configuration: ``experiments``, ``claims``, ``tuned``, ``seeds`` or
        ``pairs``; by default the folder itself, which holds ``config.yaml`` and its overlays.
    folder
        The user's folder of the configuration; a file there replaces the installed one of the same name.

    Returns
    -------
    dict
        Files, by name without suffix (``.yaml`` or ``.yml``), in alphabetical order; the names of ``config.yaml`` and
        its overlays have the suffix, as users write it.

    Raises
    ------
    ValueError
        If a folder of a kind has two files of one name.
    """
    files: dict[str, Path] = {}
    for place in (CONFIG, folder):
        for path in yaml_files(place / kind):
            name = path.stem if kind else path.name
            other = files.get(name)
            if other and other.parent == path.parent and other.suffix != path.suffix:
                raise ValueError(f"{other} and {path} have one name; remove one of them")
            files[name] = path
    return dict(sorted(files.items()))


def yaml_files(folder: Path) -> Iterator[Path]:
    """Yield the YAML files of a folder."""
    return (path for path in folder.glob("*") if path.suffix in SUFFIXES)


def find(name: str) -> Path:
    """Find an installed file of the configuration, such as ``laptop.yaml`` or ``experiments/quick.yaml``.

    Raises
    ------
    ValueError
        If there is none; the message gives the nearest name.
    """
    path = CONFIG / name
    if not path.is_file():
        names = sorted(str(path.relative_to(CONFIG)) for path in CONFIG.rglob("*.yaml"))
        raise ValueError(unknown("file of the configuration", name, names))
    return path


def link_package(folder: Path) -> Path:
    """Link this package, and no other, into a folder for the path of another Python, which has its own packages.

    Returns
    -------
    Path
        The folder, as an absolute path.
    """
    package = Path(__file__).parents[1]
    link = folder.absolute() / package.name
    if not (link.is_symlink() and link.readlink() == package):
        link.unlink(missing_ok=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(package)
    return link.parent
