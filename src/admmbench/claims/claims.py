"""Statements of the papers: claims, machine-readable.

A claim is an entry of a file in ``config/claims/``: a statement, its place in the paper, and pieces of evidence, of one
of several kinds, which :mod:`admmbench.claims.kinds` documents. Each piece selects runs of an experiment and yields
contrasts of them, with the regions in which they should lie. :mod:`admmbench.claims.judge` judges all kinds in one way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, ModelWrapValidatorHandler, ValidationError, model_validator

from admmbench.claims.evidence import Requirements
from admmbench.claims.kinds import KINDS, Piece
from admmbench.files.core_yaml import ReadError, read_yaml
from admmbench.files.installed import find_all
from admmbench.validation import Strict, adapter, messages, unknown


class ClaimError(ValueError):
    """Error in a file of claims; the message names the file, the claim and the nearest name."""


class Claim(Strict):
    """Statement of a paper, and the pieces of evidence that are to show it, all of them.

    Keys of evidence beside the statement are those of all pieces; without ``evidence`` they are the only piece.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9.\-]+$")]
    statement: str
    """What the paper says, in one sentence."""
    source: str
    """Section, figure or table of the paper."""
    evidence: Annotated[list[Piece], Field(min_length=1)]
    ours: bool = False
    """Whether it is ours: a repair of a statement, a step of a proof, or a stand-in. No count of claims has it."""
    # Filled in by `load` from the head of the file.
    paper: str = ""
    file: str = ""

    @model_validator(mode="wrap")
    @classmethod
    def _gather(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Validate a claim, whose pieces of evidence get the keys beside the statement."""
        if not isinstance(values, Mapping):
            return handler(values)
        kind = KINDS.get(str(values.get("kind")))
        known = [*cls.model_fields, *(kind.model_fields if kind else ())]
        for key in values if kind else ():
            if key not in known:
                raise ValueError(unknown("key", key, known))
        head = {key: value for key, value in values.items() if key in cls.model_fields}
        shared = {key: value for key, value in values.items() if key not in head}
        pieces = values.get("evidence", [{}])
        if not shared or not isinstance(pieces, list):
            return handler(values)
        evidence = [adapter(Piece).validate_python({**shared, **piece}) for piece in pieces]
        return handler({**head, "evidence": evidence})

    @property
    def experiments(self) -> list[str]:
        """Return the names of the experiments of all pieces of evidence."""
        return list(dict.fromkeys(piece.experiment for piece in self.evidence))


class _File(Strict):
    """File of claims of one paper."""

    paper: str
    scale: dict[str, Requirements]
    claims: list[Claim]


def load(files: Iterable[Path] | None = None) -> list[Claim]:
    """Read YAML files of claims; the user's own and the papers' if absent.

    Raises
    ------
    ClaimError
        If a file is not valid, names an experiment without a scale, or repeats an id.
    """
    if files is None:
        files = find_all("claims").values()
    claims = [claim for file in files for claim in _read(file)]
    seen: dict[str, str] = {}
    for claim in claims:
        if claim.id in seen:
            raise ClaimError(f"{claim.file}: claim {claim.id}: id already used in {seen[claim.id]}")
        seen[claim.id] = claim.file
    return claims


def _read(file: Path) -> list[Claim]:
    """Read a file, and give its claims the head of the file."""
    try:
        written = read_yaml(file)
        if isinstance(written, dict) and isinstance(written.get("claims"), list):
            written["claims"] = [entry for each in written["claims"] for entry in _expand(each)]
        content = _File.model_validate(written)
    except ReadError as error:
        raise ClaimError(str(error)) from error
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ClaimError(
            f"{file}: rows: each needs a value for all names in braces: {error}"
        ) from error
    except ValidationError as error:
        raise ClaimError(f"{file}: " + "; ".join(messages(error, written, kind=_File))) from error
    claims: list[Claim] = []
    for claim in content.claims:
        evidence = []
        for piece in claim.evidence:
            if piece.experiment not in content.scale:
                claim = claim.model_copy(update={"file": str(file)})
                _refuse(claim, "experiment", piece.experiment, content.scale)
            scale = piece.requires or content.scale[piece.experiment]
            evidence.append(piece.model_copy(update={"requires": scale}))
        update = {"paper": content.paper, "file": str(file), "evidence": evidence}
        claims.append(claim.model_copy(update=update))
    return claims


def _expand(entry: Any) -> list[Any]:
    """Return an entry, or one for each of its ``rows``, whose values take the place of their names in braces."""
    if not isinstance(entry, dict) or "rows" not in entry:
        return [entry]
    template = {key: value for key, value in entry.items() if key != "rows"}
    return [_fill(template, row) for row in entry["rows"]]


def _fill(template: Any, row: Mapping[str, Any]) -> Any:
    """Return a template with the values of a row; a text that is nothing but a name in braces becomes its value."""
    if isinstance(template, dict):
        return {_fill(key, row): _fill(value, row) for key, value in template.items()}
    if isinstance(template, list):
        return [_fill(value, row) for value in template]
    if not isinstance(template, str):
        return template
    name = template[1:-1]
    return row[name] if template == f"{{{name}}}" and name in row else template.format(**row)


def check(
    claims: Iterable[Claim],
    known: Mapping[str, Collection[str]],
    metrics: Mapping[str, Collection[str]] | None = None,
    *,
    complete: bool = True,
) -> None:
    """Check the names in claims by the known labels, and perhaps metrics, of experiments.

    ``complete`` says whether the known experiments are all experiments; an experiment without metrics may have any.

    Raises
    ------
    ClaimError
        If a claim names an unknown experiment, label or metric.
    """
    pieces = [(claim, piece) for claim in claims for piece in claim.evidence]
    for claim, piece in pieces:
        if complete and piece.experiment not in known:
            _refuse(claim, "experiment", piece.experiment, known)
        for kind, names, valid in (
            ("label", [label for label, _ in piece.selections()], known),
            ("metric", piece.metrics, metrics or {}),
        ):
            for name in names:
                if piece.experiment in valid and name not in valid[piece.experiment]:
                    _refuse(claim, kind, name, valid[piece.experiment])


def _refuse(claim: Claim, kind: str, name: str, valid: Collection[str]) -> None:
    """Raise a `ClaimError` about an unknown name of a kind in a claim, with the nearest valid name."""
    raise ClaimError(f"{claim.file}: claim {claim.id}: {unknown(kind, name, valid)}")
