"""What the rules ask of the study."""

from admmbench.datasets import normalize
from admmbench.engine import fingerprint
from admmbench.engine.cost import estimate


def spec(wildcards):
    """What the job computes."""
    return STUDY.run(wildcards.experiment, wildcards.method, wildcards.point).spec


def cost(wildcards):
    """Resources from the problem's size; twice the memory and time after a failure."""
    return estimate(spec(wildcards), STUDY.config.threads)


def definition(experiment, *, figures):
    """Experiment as JSON, with or without what only the figures need."""
    kept = None if figures else {"figures"}
    return STUDY.experiments[experiment].model_dump_json(exclude=kept)
