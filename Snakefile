"""Every study of admmbench: config, rules, targets."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

from admmbench.config import ConfigError, load
from admmbench.forecast.plan import outlook
from admmbench.housekeeping import notices
from admmbench.jobs.dryrun import Brief
from admmbench.jobs.jobarray import become_own_member
from admmbench.watch.study import watched
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.utils import min_version

min_version("9.16")


become_own_member()


configfile: "config/config.yaml"


report: "workflow/report/introduction.rst"


try:
    STUDY = load(config)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

# These are no parameters of a job, so that another value does not make any job run again.
os.environ.update(
    ADMMBENCH_CHECKPOINT_MINUTES=str(STUDY.config.checkpoint_minutes),
)
if STUDY.config.data.mirror:
    os.environ.update(ADMMBENCH_MIRROR=STUDY.config.data.mirror)

if workflow.is_main_process:
    for notice in notices(STUDY):
        logger.warning(notice)

RESULTS = STUDY.config.results
RESOURCES = STUDY.config.data.cache
os.environ.setdefault("ADMMBENCH_CACHE", RESOURCES)
EXPERIMENTS = list(STUDY.experiments)
DATASETS = [f"{RESULTS}/{name}/results.nc" for name in EXPERIMENTS]
# Whether `snakemake --cache` shares outputs with other copies of the project.
CACHING = workflow.enable_cache
# Files of the configuration, and the report that is its own.
CONFIGURATION = list(
    dict.fromkeys(Path(path).name for path in reversed(workflow.configfiles))
)
OVERLAYS = [Path(name).stem for name in CONFIGURATION[1:]]
REPORT = f"{RESULTS}/report/{'+'.join(OVERLAYS) or 'config'}/index.html"
CLAIMS = sorted(str(path) for path in Path("config/claims").glob("*.yaml"))

# Rules call `admmbench` of the interpreter that runs Snakemake, unless jobs get an environment of their own.
PYTHON = shlex.quote(sys.executable)
if workflow.deployment_settings.deployment_method:
    PYTHON = f"PYTHONPATH={shlex.quote(workflow.basedir)}/src python"
# Braces are doubled once more, as Snakemake formats shell commands.
shell.prefix(f'admmbench() {{{{ {PYTHON} -m admmbench "$@"; }}}}; ')


wildcard_constraints:
    experiment="|".join(map(re.escape, EXPERIMENTS)),
    definition="manifest|figures",
    point="[^/]+",
    audit="[^/]+",
    search="[^/]+",


localrules:
    all,
    results,
    tune,
    define,
    overview,


include: "workflow/rules/common.smk"


rule all:
    """The report, and also what it was made from: Snakemake would not miss it while the report is there."""
    default_target: True
    input:
        REPORT,
        f"{RESULTS}/report/index.html",
        tuned,


rule results:
    """All labelled data sets, without figures and report."""
    input:
        tuned,


include: "workflow/rules/data.smk"
include: "workflow/rules/tune.smk"
include: "workflow/rules/run.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/aggregate.smk"
include: "workflow/rules/report.smk"


logger.addFilter(
    Brief(
        lambda: workflow.dryrun and not workflow.output_settings.printshellcmds,
        {
            rule_name("run", folder): f"runs on {folder.partition('/')[0]}"
            for folder in STUDY.shared
        },
        lambda: outlook(STUDY, workflow.resource_settings.cores),
    )
)
watched(STUDY, REPORT, workflow, logger)
