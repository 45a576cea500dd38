rule run:
    """One method at one epsilon, for a block of seeds."""
    input:
        data=lambda wildcards: (
            f"{RESOURCES}/datasets/{STUDY.experiments[wildcards.experiment].dataset_folder}"
        ),
    output:
        f"{RESULTS}/{{experiment}}/runs/{{method}}/{{point}}.nc",
    log:
        f"{RESULTS}/{{experiment}}/logs/{{method}}/{{point}}.log",
    benchmark:
        f"{RESULTS}/{{experiment}}/benchmarks/{{method}}/{{point}}.tsv"
    conda:
        "../../envs/environment.yaml"
    threads: lambda wildcards: cost(wildcards).threads
    resources:
        mem_mb=lambda wildcards, attempt: attempt * cost(wildcards).mem_mb,
        runtime=lambda wildcards, attempt: attempt * cost(wildcards).runtime,
    params:
        settings=lambda wildcards: spec(wildcards).arguments(),
        fingerprint=lambda wildcards: fingerprint.of_run(spec(wildcards)),
        checkpoint=f"{RESULTS}/{{experiment}}/checkpoints/{{method}}/{{point}}",
    shell:
        "admmbench run {params.settings:q} --data {input.data:q} --output {output:q}"
        " --threads {threads} --fingerprint {params.fingerprint}"
        " --checkpoint {params.checkpoint:q} > {log:q} 2>&1"
