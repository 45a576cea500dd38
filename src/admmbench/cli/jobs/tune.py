"""Search for a method's best settings."""

from __future__ import annotations

import argparse

from admmbench.cli import start
from admmbench.cli.options import Command, collect_garbage, dataset, run_spec
from admmbench.files import checksummed_json, write
from admmbench.files.core_yaml import parse_yaml


@Command
def tune(options: argparse.Namespace) -> None:
    """Look for a method's best settings.

    KEY=VALUE ...       arguments of admmbench.simulate, values in YAML
    --axes YAML         settings to tune and their start, such as '{rounds: 40, params.rho: 1}' (required)
    --tuning YAML       how to tune, such as '{trials: 24, held_out: 5}'
    --data FOLDER       prepared data set (default: load it)
    --fingerprint TEXT  of the code that trials are kept for
    --output FILE       JSON file to write (required)
    """
    from admmbench.figures.wording import counted
    from admmbench.jobs.progress import shown
    from admmbench.study.grid import Search
    from admmbench.tuning.settings import Axes, TuningSettings
    from admmbench.tuning.trials import tune
    from admmbench.validation import checked

    spec = run_spec(options)
    axes = checked(Axes, parse_yaml(options.axes, "--axes"), "axes")
    if not axes:
        raise ValueError("--axes: names no setting to tune, such as '{params.rho: 1}'")
    settings = checked(TuningSettings, parse_yaml(options.tuning or "{}", "--tuning"), "tuning")
    data, code = dataset(spec, options.data), options.fingerprint or ""
    trials_file = options.output.with_suffix(".trials")
    collect_garbage()
    title = f"Tuning {spec.algorithm} on {spec.info.name}, epsilon {spec.stated_budget:g}"
    with shown(title, "trial") as progress:
        outcome = tune(spec, axes, settings, data, trials_file, code, progress)
    content = {
        **outcome.to_dict(),
        "of": spec.definitions,
        "space": Search("", spec.stated_budget, spec, axes).space(settings),
        "code": code,
    }
    write(options.output, checksummed_json(content, indent=1))
    trials_file.unlink(missing_ok=True)
    best = ", ".join(f"{path} {value:g}" for path, value in outcome.best.settings.items())
    edges = f"; at an edge of what was tried: {', '.join(outcome.edges)}" if outcome.edges else ""
    error = f"{spec.as_problem.judged_by} {outcome.best.score.error:.4g} on held-out rows"
    trials = counted(len(outcome.trials), "trial")
    print(f"{spec.algorithm} on {spec.info.name}: best of {trials}: {best}; {error}{edges}")
    print(f"{options.output} has all trials; `admmbench run` takes these settings as KEY=VALUE")


if __name__ == "__main__":
    start(tune)
