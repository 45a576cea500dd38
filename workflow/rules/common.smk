"""Functions of the study that the rules call."""

from functools import cache, partial
from itertools import chain
from pathlib import Path

from admmbench.audit.settings import (
    audited_rounds,
    one_run_bytes,
    one_run_rounds,
    transcript_bytes,
)
from admmbench.figures.base import CHECKSUMMED, FORMATS
from admmbench.datasets import open_as
from admmbench.study.config import AUDITS, TUNED, TUNING
from admmbench.files import netcdf
from admmbench.files.core_yaml import inline_yaml
from admmbench.engine.devices import chosen
from admmbench.jobs import fingerprint, partitions
from admmbench.forecast.cost import JobResources, estimate
from admmbench.watch.damage import found_damaged, make_again
from admmbench.study.address import (
    BENCHMARK,
    CHECKPOINT,
    LOG,
    RESULT,
    dataset_folder,
    rule_name,
)
from snakemake.io import IOFile, sourcecache_entry


def each_attempt(amount):
    """Resource that grows with the attempts: a job that lacked memory or time gets twice and three times as much.

    The amount is a number, or a function of the wildcards.
    """

    def needed(wildcards, attempt):
        return attempt * (amount(wildcards) if callable(amount) else amount)

    return needed


def cost_together(experiment):
    """Resources of all runs of an experiment, made one after another."""
    costs = [estimate(run.spec, 1) for run in STUDY.experiments[experiment].runs]
    return JobResources(
        1, max(each.mem_mb for each in costs), sum(each.runtime for each in costs)
    )


def run_files(experiment):
    """Results of runs that are joined into those of an experiment."""
    folder = STUDY.runs_folder(experiment)
    return [f"{folder}/{run.path}" for run in STUDY.experiments[experiment].runs]


def with_partitions(runs, result):
    """Prepared data of some runs, and their partitions.

    Partitions are not `ancient`: Snakemake would then look for no other reason of runs whose partition is drawn again. A
    result that is there keeps the input that it was made of: before there were files of partitions, runs drew them.
    """
    files = dict.fromkeys(map(partition_file, chain(*(run.partitions for run in runs))))
    made_of = workflow.persistence.input(IOFile(result))
    if made_of is None:  # it was never made, or nobody knows how
        made_of = () if Path(result).exists() else files
    return [
        f"{RESOURCES}/datasets/{runs[0].dataset_folder}",
        *(path for path in files if path in made_of),
    ]


def data_of_run(folder, wildcards):
    """Input of a run in a folder of runs."""
    run = STUDY.shared[folder][wildcards.point]
    return with_partitions([run], f"{RESULTS}/runs/{run.path}")


def data_of_timed_runs(experiment, wildcards):
    """Input of all runs of an experiment."""
    return with_partitions(STUDY.experiments[experiment].runs, run_files(experiment)[0])


def shown_partitions(wildcards):
    """Partitions that the report counts: those that are there, and those that nobody made yet.

    If one that was removed were made again, so would be all runs that read it.
    """
    return [
        path
        for path in map(partition_file, STUDY.partitions)
        if Path(path).exists() or workflow.persistence.input(IOFile(path)) is None
    ]


def partition_file(path):
    """File of partitions; its path below the folder of all partitions is given."""
    return f"{RESOURCES}/partitions/{path}"


def shared_out(wildcards):
    """Scheme and seeds of a file of partitions."""
    path = f"{wildcards.dataset}/{wildcards.partition}.nc"
    run = STUDY.partitions[path]
    seeds = run.partitions[path]
    return run.spec.scheme, f"{seeds[0]}-{seeds[-1]}"


def draw_again(path):
    """Draw partitions again, from the prepared data; the file is for Snakemake as old as before."""
    run, file = STUDY.partitions[path], Path(partition_file(path))
    made = file.stat().st_mtime_ns
    data = open_as(run.spec.dataset, prepared(run.spec.dataset))
    drawn = partitions.draw(run.spec.scheme, data, run.partitions[path])
    netcdf.write(drawn, file)
    os.utime(file, ns=(made, made))


def families(experiment):
    """Label and family of each method of an experiment."""
    runs = STUDY.experiments[experiment].runs
    return sorted({(run.label, run.spec.method.family) for run in runs})


def audit_files(experiment):
    """Audits of an experiment's runs."""
    folder = f"{RESULTS}/{experiment}/{AUDITS}"
    return [f"{folder}/{name}" for name in STUDY.experiments[experiment].audits]


def audited(experiment, wildcards):
    """Run that an audit attacks, with seeds of its own."""
    return STUDY.experiments[experiment].audits[f"{wildcards.audit}.json"]


def audit_memory(experiment, wildcards):
    """MB: both worlds in double precision, what they release, and statistics of it."""
    spec = audited(experiment, wildcards).spec
    settings = STUDY.experiments[experiment].audit
    tape = audited_rounds(spec, spec.info, settings) * transcript_bytes(spec, spec.info)
    if settings.one_run:
        given = spec, spec.info, settings.one_run
        tape = max(tape, one_run_rounds(*given) * one_run_bytes(*given))
    return 2000 + 4 * estimate(spec, 1).mem_mb + round(1.5 * tape / 2**20)


def searched(experiment, wildcards):
    """Method that is tuned, with its axes."""
    return STUDY.experiments[experiment].searches[f"{wildcards.search}.json"]


def search_memory(experiment, wildcards):
    """MB: a run at a time, and what is held of the data."""
    return 1000 + estimate(searched(experiment, wildcards).spec, 1).mem_mb


@cache
def search_files(experiment):
    """Searches that settings come from, by file: those that are here, and those whose settings were not chosen yet.

    All other settings stay as they are: whoever adds a method tunes this one alone. A damaged search that Snakemake
    removed to make it again is one that is here.
    """
    folder = Path(RESULTS, experiment, TUNING)
    chosen = STUDY.experiments[experiment].chosen
    here = {*map(str, folder.glob("*.json")), *found_damaged()}
    return {
        str(folder / name): search
        for name, search in STUDY.experiments[experiment].searches.items()
        if search.budget not in chosen[search.label] or str(folder / name) in here
    }


def settings_kept(experiment):
    """Settings that were chosen before, and no search is here for, by label and budget."""
    new = {
        (search.label, search.budget) for search in search_files(experiment).values()
    }
    chosen = STUDY.experiments[experiment].chosen
    return {
        label: {
            budget: each.model_dump(exclude_unset=True)
            for budget, each in found.items()
            if (label, budget) not in new
        }
        for label, found in chosen.items()
    }


def tuned(wildcards):
    """Joined results of all experiments; an error if an experiment must be tuned first."""
    for name, experiment in STUDY.experiments.items():
        if experiment.untuned:
            raise WorkflowError(
                f"{name}: to be tuned first, with `snakemake tune` and the same options: "
                + "; ".join(experiment.untuned)
            )
    return DATASETS


def joined_runs(wildcards):
    """Runs that are joined into the results of an experiment.

    Whatever else is made of results, Snakemake asks for these: so the damaged files of the study are looked for here.
    """
    renew_damaged()
    return run_files(wildcards.experiment)


@cache
def renew_damaged():
    """Have the damaged files of the study made again, as far as the targets need them."""
    if workflow.is_main_process:
        make_again(
            workflow, checked_files(), prepared_data(), RESOURCES, drawn_partitions()
        )


def chosen_settings(wildcards):
    """Searches, and files of the settings that they chose; damaged searches are made again.

    A file of settings that came with the project has no record in Snakemake: it would not ask for what it lacks.
    """
    names = [name for name in EXPERIMENTS if STUDY.experiments[name].searches]
    files = [file for name in names for file in search_files(name)]
    make_again(workflow, files, prepared_data(), RESOURCES)
    return [*files, *(f"config/{TUNED}/{name}.yaml" for name in names)]


def checked_files():
    """Outputs of the rule `all`, and of those before it, that have a checksum."""
    for name in EXPERIMENTS:
        yield from (*run_files(name), *audit_files(name))
        yield from (f"{RESULTS}/{name}/{kind}.json" for kind in ("manifest", "figures"))
        for suffix in CHECKSUMMED:
            yield from figure_files(name, name, suffix)
    yield from (*picture_files(CHECKSUMMED), *DATASETS)
    yield from (REPORT, f"{RESULTS}/report/index.html")


def prepared_data():
    """Data sets by the folders that they are prepared in."""
    return {prepared(dataset): dataset for dataset in STUDY.datasets.values()}


def drawn_partitions():
    """Files of partitions, each with what draws it again."""
    return {
        partition_file(path): partial(draw_again, path) for path in STUDY.partitions
    }


@cache
def definition(experiment, kind):
    """Text of an experiment's manifest, or of its figures."""
    return STUDY.definition(experiment, f"{kind}.json")


def figure_files(folder, experiment, suffix):
    """Files of an experiment's figures, in its folder of results."""
    return [
        f"{RESULTS}/{folder}/figures/{figure.name}.{suffix}"
        for figure in STUDY.experiments[experiment].figures
    ]


def picture_files(suffixes):
    """Files of the pictures that only the report has, beside it."""
    return [
        f"{RESULTS}/report/{NAME}/{picture}/{name}.{suffix}"
        for name in EXPERIMENTS
        for picture in STUDY.experiments[name].pictures
        for suffix in suffixes
    ]


def prepared(dataset):
    """Folder of a prepared data set."""
    return f"{RESOURCES}/datasets/{dataset_folder(dataset)}"


def planned_fingerprints():
    """Fingerprints of the code that runs execute, as of the start of the workflow.

    A job on a cluster reads this file again, perhaps after the source was edited. It gets the fingerprints that
    it was planned with from the environment, and `admmbench run` refuses other code.
    """
    given = os.environ.get("ADMMBENCH_FINGERPRINTS")
    if given and not workflow.is_main_process:
        return json.loads(given)
    specs = {
        fingerprint.code(run.spec): run.spec
        for experiment in STUDY.experiments.values()
        for run in (*experiment.runs, *experiment.searches.values())
    }
    found = {code: fingerprint.of_run(spec) for code, spec in specs.items()}
    os.environ.update(ADMMBENCH_FINGERPRINTS=json.dumps(found, sort_keys=True))
    return found


FINGERPRINTS = planned_fingerprints()


# Into the jobs' scripts, for schedulers that do not pass on the environment.
envvars:
    "ADMMBENCH_FINGERPRINTS",
    "ADMMBENCH_MISSING",
