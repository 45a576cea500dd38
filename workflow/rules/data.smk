rule prepare:
    """Fetch, verify and prepare a data set; all jobs map the same files into memory."""
    output:
        directory(f"{RESOURCES}/datasets/{{dataset}}"),
    log:
        f"{RESULTS}/logs/prepare/{{dataset}}.log",
    cache: CACHING
    # Data are fetched before all other jobs begin, so that what cannot be had is known at once.
    priority: 1
    # If several copies of the project put the same data into the cache at once, one of them may fail.
    retries: int(CACHING)
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=each_attempt(2000),
        runtime=each_attempt(60),
    params:
        dataset=lambda wildcards: inline_yaml(STUDY.datasets[wildcards.dataset]),
        fingerprint=lambda wildcards: fingerprint.of_dataset(
            STUDY.datasets[wildcards.dataset]
        ),
        downloads=lambda wildcards, output: str(Path(output[0]).parents[1]),
    shell:
        # What the environment says is not of the results: it is no parameter.
        'admmbench prepare {params.dataset:q} --cache "${{ADMMBENCH_CACHE:-{params.downloads}}}"'
        " --output {output:q} > {log:q} 2>&1"


rule partition:
    """Draw which rows or columns of a data set each agent has, for ten seeds; all runs on it read the same file."""
    input:
        data=f"{RESOURCES}/datasets/{{dataset}}",
    output:
        f"{RESOURCES}/partitions/{{dataset}}/{{partition}}.nc",
    log:
        f"{RESULTS}/logs/partition/{{dataset}}/{{partition}}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=each_attempt(2000),
        runtime=each_attempt(30),
    params:
        dataset=lambda wildcards: inline_yaml(STUDY.datasets[wildcards.dataset]),
        # Functions, as Snakemake would look for wildcards in the braces of a text.
        agents=lambda wildcards: inline_yaml(shared_out(wildcards)[0].model_dump()),
        seeds=lambda wildcards: shared_out(wildcards)[1],
        fingerprint=partitions.code(),
    shell:
        "python -m admmbench.cli.jobs.partition {params.dataset:q} --data {input.data:q}"
        " --agents {params.agents:q} --seeds {params.seeds} --output {output:q} > {log:q} 2>&1"
