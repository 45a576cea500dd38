"""What the rules ask of the study."""

from admmbench.datasets import normalize
from admmbench.jobs import fingerprint
from admmbench.forecast.cost import Cost, estimate


def spec(wildcards):
    """What the job computes."""
    return STUDY.find_run(wildcards.experiment, wildcards.method, wildcards.point).spec


def cost(wildcards):
    """Resources from the problem's size; twice the memory and time after a failure."""
    return estimate(spec(wildcards), STUDY.config.threads)


def cost_together(experiment):
    """Resources of all runs of an experiment, made one after another."""
    costs = [estimate(run.spec, 1) for run in STUDY.experiments[experiment].runs]
    return Cost(
        1, max(each.mem_mb for each in costs), sum(each.runtime for each in costs)
    )


def definition(experiment, *, figures):
    """Experiment as JSON, with or without what only the figures need."""
    kept = None if figures else {"figures"}
    return STUDY.experiments[experiment].model_dump_json(exclude=kept)


def run_rule(experiment, method):
    """Name of the rule for the runs of a method."""
    return f"run_{experiment}_{re.sub('[^A-Za-z0-9]+', '_', method)}"


def planned_fingerprints():
    """Fingerprints of the methods' code, by experiment and method, as of the start of the workflow.

    A job on a cluster reads this file again, perhaps after the source was edited. It gets the fingerprints that
    it was planned with from the environment, and `admmbench run` refuses other code.
    """
    given = os.environ.get("ADMMBENCH_FINGERPRINTS")
    if given and not workflow.is_main_process:
        return json.loads(given)
    specs = {
        f"{name}/{run.method.slug}": run.spec
        for name, experiment in STUDY.experiments.items()
        for run in experiment.runs
    }
    found = {method: fingerprint.of_run(spec) for method, spec in specs.items()}
    os.environ.update(ADMMBENCH_FINGERPRINTS=json.dumps(found))
    return found


FINGERPRINTS = planned_fingerprints()


# Into the jobs' scripts, for schedulers that hand on no environment.
envvars:
    "ADMMBENCH_FINGERPRINTS",
