"""Reasons for which a study makes files again: Snakemake's reasons, in the words of the study."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from admmbench.files import netcdf
from admmbench.jobs import fingerprint
from admmbench.spec.run import RunSpec
from admmbench.study.config import AUDITS, TUNING, Study
from admmbench.watch import damage

# Phrases of Snakemake, and their meaning to a study. Among the parameters of a job, only a fingerprint is about code.
_NEVER_MADE = "Missing output files"
_FORCED = "Forced execution"
_MEANINGS = {
    "Incomplete output files": "it was interrupted",
    "Input files updated by another job": "its input is made again",
    "Set of input files has changed": "it has other input files",
    "Code has changed": "its rule changed",
    "Software environment definition has changed": "its environment changed",
}
_NEWER = re.compile("Updated input files: ([^;]+)")
_CHANGED = re.compile("Params have changed since last execution: .*before: (.*) now: (.*)")
_FINGERPRINT = re.compile(r"'([0-9a-f]{16})'")
# Parts of a run's code, see `admmbench.jobs.fingerprint.parts`.
_PARTS = {
    "method": "its code changed",
    "loss": "the code of its loss changed",
    "shared": "shared code changed",
}


class Reasons:
    """Reasons of jobs to be done, by method where a job is about one."""

    def __init__(self, study: Study) -> None:
        # Labels of methods, and runs, by the file that a job makes.
        self._labels, self._runs = dict[str, str](), dict[str, RunSpec]()
        for name, experiment in study.experiments.items():
            folder = Path(study.config.results, name)
            for file, search in experiment.searches.items():
                self._labels[str(folder / TUNING / file)] = f"tuning of {search.label}"
            for file, run in experiment.audits.items():
                self._labels[str(folder / AUDITS / file)] = f"attacks on {run.label}"
            for run in experiment.runs:
                path = str(study.runs_folder(name) / run.path)
                self._labels.setdefault(path, run.label)
                self._runs[path] = run.spec
        self._damaged = damage.found_damaged()
        self._titles = defaultdict[str, Counter[str]](Counter)
        self._code_changes: dict[tuple[str, ...], list[str]] = {}

    def add(self, title: str, files: Sequence[str], reason: str) -> None:
        """Add a job by the files that it makes, its title if it is about no method, and Snakemake's reason."""
        if len(files) == 1:
            title = self._labels.get(files[0], title)
        for words in self._explain(reason, files[0]):
            self._titles[words][title] += 1

    def lines(self) -> Iterator[str]:
        """Yield a line for each reason, which names its jobs."""
        for words, titles in self._titles.items():
            count = titles.total()
            yield f"{', '.join(titles)}: {words} ({count} {'job' if count == 1 else 'jobs'})"

    def _explain(self, reason: str, file: str) -> Iterator[str]:
        if _NEVER_MADE in reason:
            yield "never made, or removed"
            return
        if _FORCED in reason:
            damaged = file in self._damaged
            yield "it is damaged or of an earlier version" if damaged else "it was asked for"
        yield from (meaning for phrase, meaning in _MEANINGS.items() if phrase in reason)
        yield from (f"{newer} is newer" for newer in _NEWER.findall(reason))
        for changed in _CHANGED.findall(reason):
            parameters = " ".join(changed).replace("<nothing exclusive>", "")
            if codes := tuple(_FINGERPRINT.findall(parameters)):
                spec = self._runs.get(file)
                if codes not in self._code_changes:
                    changes = _code_changes(Path(file), spec) if spec else [_PARTS["method"]]
                    self._code_changes[codes] = [*changes]
                yield from self._code_changes[codes]
            if re.search(r"\w", _FINGERPRINT.sub("", parameters)):
                yield "its settings changed"


def _code_changes(file: Path, spec: RunSpec) -> Iterator[str]:
    """Yield the changes of code and of packages since a run was made, as far as its file tells."""
    try:
        attrs = netcdf.read(file).attrs
        code, versions = (json.loads(attrs[name]) for name in ("code", "versions"))
    # The file may be damaged, or made by an earlier version.
    except (netcdf.StaleResultError, LookupError):
        yield _PARTS["method"]
        return
    present_parts = fingerprint.parts(spec)
    yield from (words for part, words in _PARTS.items() if code[part] != present_parts[part])
    for name, version in fingerprint.packages(spec).items():
        if versions.get(name) != version:
            yield f"{name} {versions.get(name)} -> {version}"
