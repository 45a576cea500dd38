"""What ``admmbench new`` and ``admmbench init`` write: a complete module or study, which the user then changes."""

from __future__ import annotations

import shutil
from pathlib import Path

from admmbench import files
from admmbench.files.installed import PROFILES

_FOLDER = Path(__file__).parent


def write(kind: str, name: str, folder: Path) -> Path:
    """Write a module to start from.

    Parameters
    ----------
    kind
        ``method``, ``loss`` or ``dataset``.
    name
        Name of the module, in lower case with underscores; its class is named after it.
    folder
        Where to; it is made if there is none.

    Returns
    -------
    The file.

    Raises
    ------
    ValueError
        If the name cannot be that of a module.
    FileExistsError
        If the file exists.
    """
    if not (name.isidentifier() and name.islower()):
        raise ValueError(f"{name!r}: expected a name in lower case, such as my_{kind}")
    path = folder / f"{name}.py"
    if path.exists():
        raise FileExistsError(f"{path} is there already; nothing was written")
    source = (_FOLDER / f"{kind}.py").read_text("utf-8")
    cls = "".join(word.capitalize() for word in name.split("_"))
    files.write(path, source.replace("Template", cls).replace('"template"', f'"{name}"'))
    return path


def write_study(folder: Path) -> None:
    """Write a folder for a study: a Snakefile that uses the installed workflow, an experiment, and a method to change.

    Parameters
    ----------
    folder
        It is made if there is none.

    Raises
    ------
    FileExistsError
        If it is not a folder, or not empty.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise FileExistsError(
            f"{folder} is not empty; nothing was written: give the name of a new folder"
        )
    shutil.copytree(_FOLDER / "study", folder, dirs_exist_ok=True)
    (folder / "gitignore").rename(folder / ".gitignore")
    shutil.copytree(PROFILES, folder / "profiles")
    write("method", "my_method", folder / "plugins")
