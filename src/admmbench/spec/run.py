"""Runs: the arguments of `simulate`, checked and complete."""

from __future__ import annotations

from typing import Any, Self

from pydantic import field_serializer, model_validator

from admmbench import algorithms, datasets, plugins
from admmbench.files.core_yaml import inline_yaml
from admmbench.problems.needs import require
from admmbench.problems.rows import Rows
from admmbench.spec.facts import RunFacts, method_errors
from admmbench.spec.rules import PRIVACY_RULES, SETTING_RULES, SHARING_RULES, refuse
from admmbench.validation import adapter


class RunSpec(RunFacts):
    """Run, specified by the arguments of `admmbench.simulate` that decide its numbers."""

    @model_validator(mode="before")
    @classmethod
    def _unalias(cls, values: Any) -> Any:
        """Replace an alias by the method and parameters that it stands for, so that runs of both names are shared."""
        return algorithms.unalias(values, "algorithm")

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Resolve every name and refuse a run that cannot be computed, without touching data but a user's own."""
        with plugins.answerable(*self.names):
            if isinstance(self.dataset, datasets.Dataset):
                datasets.check_dataset(self.dataset)
            refuse(self, SETTING_RULES)
            _ = self.n_agents
            self.as_problem.check(self.info)
            refuse(self, SHARING_RULES)
            self._check_records()
            with method_errors("algorithm: "):
                require(self.algorithm, self.method.needs, self.as_problem)
            with method_errors("params."):
                self.method.check(self.as_problem, self.n_agents)
            with method_errors("privacy.noise: "):
                _ = self.release
            refuse(self, PRIVACY_RULES)
        return self

    def _check_records(self) -> None:
        """Refuse records without the bounds that noise for the worst case follows from."""
        problem = self.as_problem
        if not isinstance(problem, Rows):
            return
        if self.sensitivity == "global":
            problem.check_worst_case(self.info)
        elif self.private and self.method.guarantee("local").kind != "none":
            # A method with a guarantee under local sensitivity scales its noise by the worst case all the same.
            problem.check_worst_case(self.info, f"variant: {self.variant} of {self.algorithm}")

    @field_serializer("seeds")
    def _seeds_as_text(self, seeds: tuple[int, ...]) -> str | list[int]:
        if all(seed == seeds[0] + place for place, seed in enumerate(seeds)):
            return f"{seeds[0]}-{seeds[-1]}"
        return list(seeds)

    def complete(self) -> dict[str, Any]:
        """Return all settings, with defaults filled in and in one spelling, so that equal runs have equal settings."""
        params = adapter(type(self.method)).dump_python(self.method, exclude={"variant"})
        settings = {name: getattr(self, name) for name in type(self).model_fields}
        # Runs are addressed as before there were others.
        for name, usual in {"mirror": False, "noise_ratio": 1}.items():
            if settings[name] == usual or (name == "noise_ratio" and not self.private):
                del settings[name]
        return {
            **settings,
            "dataset": datasets.normalize(self.dataset),
            "params": params,
            "problem": self.as_problem.describe(),
            "agents": self.scheme.model_dump(),
            "privacy": self.privacy.model_dump(),
            "seeds": list(self.seeds),
            "accountants": [accountant.name for accountant in self.composed_by],
        }

    def arguments(self) -> list[str]:
        """Return the ``KEY=VALUE`` words that make this run again: ``admmbench run KEY=VALUE ...``."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        first = {key: values.pop(key) for key in ("dataset", "algorithm")}
        return [f"{key}={inline_yaml(value)}" for key, value in (first | values).items()]
