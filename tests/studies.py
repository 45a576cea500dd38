"""A small experiment, and folders of studies."""

from pathlib import Path
from typing import Any

import yaml

from admmbench.engine.devices import Machine
from admmbench.forecast.timing import Speeds
from admmbench.spec.run import RunSpec
from admmbench.study.config import Study

SMALL: dict[str, Any] = {
    "title": "Small",
    "dataset": "digits",
    "agents": 3,
    "rounds": 10,
    "seeds": 2,
    "epsilon": [1],
    "algorithms": [{"name": "objp", "label": "ObjP"}],
}


def write_study(folder: Path, config: str = "", **experiments: Any) -> None:
    """Write experiments of a study, which runs all of them, and further lines of its configuration."""
    path = folder / "config/experiments"
    path.mkdir(parents=True, exist_ok=True)
    for name, content in experiments.items():
        (path / f"{name}.yaml").write_text(yaml.safe_dump(content))
    text = f"experiments: [{', '.join(experiments)}]\n{config}"
    (folder / "config/config.yaml").write_text(text)


class Stated(Speeds):
    """Speeds of a study in which all runs are as fast as on a stated machine."""

    def __init__(self, study: Study, machine: Machine) -> None:
        super().__init__(study)
        self._machine = machine

    def machine(self, spec: RunSpec, without: Path | None = None) -> Machine:
        """Return this machine."""
        return self._machine
