# A rule for each method of each experiment: its runs differ in epsilon and seeds alone and need the same resources, as
# the members of a cluster's job array must.
for experiment, method in METHODS:

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
