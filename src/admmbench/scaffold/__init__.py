"""Files that ``admmbench new`` and ``admmbench init`` write: a complete module or study for the user to change."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Mapping
from pathlib import Path

from admmbench import algorithms, files
from admmbench.files.installed import PROFILES
from admmbench.problems import losses

_FOLDER = Path(__file__).parent
_STUDY = _FOLDER / "study"


def write(kind: str, name: str, folder: Path, like: str | None = None) -> Path:
    """Write a module to start from.

    Parameters
    ----------
    kind
        ``method``, ``loss`` or ``dataset``.
    name
        Name of the module, in lower case with underscores; its class is named after it.
    folder
        Folder of the module, which is made if necessary.
    like
        Method or loss of which the module is a copy; a short example if absent.

    Returns
    -------
    Path of the file.

    Raises
    ------
    ValueError
        If the name is no name of a module, or there is no such method or loss.
    FileExistsError
        If the file exists.
    """
    if not (name.isidentifier() and name.islower()):
        raise ValueError(f"{name!r}: expected a name in lower case, such as my_{kind}")
    path = folder / f"{name}.py"
    if path.exists():
        raise FileExistsError(f"{path} is there already; nothing was written")
    if like:
        if kind == "dataset":
            raise ValueError("--like: methods and losses alone are copied; leave it out")
        find = algorithms.find_module if kind == "method" else losses.find_module
        source = inspect.getsource(find(like))
    else:
        source = (_FOLDER / f"{kind}.py").read_text("utf-8")
        cls = "".join(word.capitalize() for word in name.split("_"))
        source = source.replace("Template", cls).replace('"template"', f'"{name}"')
    files.write(path, source)
    return path


def write_study(folder: Path) -> None:
    """Write a folder for a study: a Snakefile that uses the installed workflow, an experiment, and a method to change.

    Parameters
    ----------
    folder
        Folder to write, which is made if necessary.

    Raises
    ------
    FileExistsError
        If the path is no folder, or the folder is not empty.
    """
    _begin(folder)
    shutil.copytree(_STUDY / "config", folder / "config")
    shutil.copy(_STUDY / "README.md", folder)
    write("method", "my_method", folder / "plugins")


def write_experiments(texts: Mapping[str, str], folder: Path) -> None:
    """Write a folder for a study of some experiments; a folder that has this study already stays as it is.

    Parameters
    ----------
    texts
        Content of the file of each experiment, by name.
    folder
        Folder to write, which is made if necessary.

    Raises
    ------
    FileExistsError
        If the folder has other content.
    """
    paths = {name: folder / "config/experiments" / f"{name}.yaml" for name in texts}
    if any(path.exists() for path in paths.values()):
        for name, path in paths.items():
            if not path.exists() or path.read_text("utf-8") != texts[name]:
                raise FileExistsError(
                    f"{path} asks something else, or is of an earlier version; nothing was written: give the name of "
                    "a new folder, or go on with that study by `admmbench study` in its folder"
                )
        return
    _begin(folder)
    files.write(folder / "config/config.yaml", f"experiments: [{', '.join(texts)}]\n")
    for name, path in paths.items():
        files.write(path, texts[name])


def _begin(folder: Path) -> None:
    """Write the files that all studies have, into a folder that is new, or has resources of the suite alone."""
    if folder.exists() and (
        not folder.is_dir() or {path.name for path in folder.iterdir()} - {"resources"}
    ):
        raise FileExistsError(
            f"{folder} is not empty; nothing was written: give the name of a new folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(_STUDY / "Snakefile", folder)
    shutil.copy(_STUDY / "gitignore", folder / ".gitignore")
    shutil.copytree(PROFILES, folder / "profiles")
