"""What ``admmbench new`` writes: one module for each kind, complete and correct, to be changed."""

from __future__ import annotations

from pathlib import Path

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
        If the name is none of a module.
    FileExistsError
        If there is such a file.
    """
    if not (name.isidentifier() and name.islower()):
        raise ValueError(f"{name!r}: expected a name in lower case, such as my_{kind}")
    path = folder / f"{name}.py"
    if path.exists():
        raise FileExistsError(f"{path} is there already; nothing was written")
    source = (_FOLDER / f"{kind}.py").read_text()
    cls = "".join(word.capitalize() for word in name.split("_"))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(source.replace("Template", cls).replace('"template"', f'"{name}"'))
    return path
