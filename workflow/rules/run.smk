# A rule for each method of each experiment: its runs differ in epsilon and seeds alone and need the same resources, as
# the members of a cluster's job array must.
for experiment, method in METHODS:
    if STUDY.experiments[experiment].timed:
        continue

    rule:
        name:
            run_rule(experiment, method)
        input:
            data=f"{RESOURCES}/datasets/{STUDY.experiments[experiment].dataset_folder}",
        output:
            f"{RESULTS}/{{experiment}}/runs/{{method}}/{{point}}.nc",
        log:
            f"{RESULTS}/{{experiment}}/logs/{{method}}/{{point}}.log",
        benchmark:
            f"{RESULTS}/{{experiment}}/benchmarks/{{method}}/{{point}}.tsv"
        wildcard_constraints:
            experiment=re.escape(experiment),
            method=re.escape(method),
        cache: CACHING and STUDY.config.cache_runs
        conda:
            "../../envs/environment.yaml"
        threads: lambda wildcards: cost(wildcards).threads
        resources:
            mem_mb=lambda wildcards, attempt: attempt * cost(wildcards).mem_mb,
            runtime=lambda wildcards, attempt: attempt * cost(wildcards).runtime,
        params:
            settings=lambda wildcards: spec(wildcards).arguments(),
            fingerprint=FINGERPRINTS[f"{experiment}/{method}"],
            checkpoint=f"{RESULTS}/{{experiment}}/checkpoints/{{method}}/{{point}}",
        shell:
            "admmbench run {params.settings:q} --data {input.data:q} --output {output:q}"
            " --threads {threads} --fingerprint {params.fingerprint}"
            " --checkpoint {params.checkpoint:q} > {log:q} 2>&1"

    if CACHING and STUDY.config.cache_runs:
        # Snakemake refuses to time what it may take from a cache.
        workflow.get_rule(run_rule(experiment, method))._benchmark = None


# What is timed is made by one job.
for experiment in EXPERIMENTS:
    if not STUDY.experiments[experiment].timed:
        continue

    rule:
        name:
            f"time_{experiment}"
        input:
            data=f"{RESOURCES}/datasets/{STUDY.experiments[experiment].dataset_folder}",
        output:
            [
                f"{RESULTS}/{experiment}/{run.path}"
                for run in STUDY.experiments[experiment].runs
            ],
        log:
            f"{RESULTS}/{experiment}/logs/time.log",
        conda:
            "../../envs/environment.yaml"
        resources:
            mem_mb=lambda wildcards, attempt, needed=cost_together(experiment): (
                attempt * needed.mem_mb
            ),
            runtime=lambda wildcards, attempt, needed=cost_together(experiment): (
                attempt * needed.runtime
            ),
        params:
            experiment=definition(experiment, figures=False),
            folder=subpath(output[0], ancestor=3),
            fingerprints=json.dumps(
                {
                    run.method.slug: FINGERPRINTS[f"{experiment}/{run.method.slug}"]
                    for run in STUDY.experiments[experiment].runs
                }
            ),
        shell:
            "admmbench time {params.experiment:q} --data {input.data:q} --folder {params.folder:q}"
            " --fingerprints {params.fingerprints:q} > {log:q} 2>&1"
