rule aggregate:
    """Join the runs of an experiment into one labelled data set."""
    input:
        lambda wildcards: [
            f"{RESULTS}/{wildcards.experiment}/{run.path}"
            for run in STUDY.experiments[wildcards.experiment].runs
        ],
    output:
        f"{RESULTS}/{{experiment}}/results.nc",
    log:
        f"{RESULTS}/{{experiment}}/logs/aggregate.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        experiment=lambda wildcards: definition(wildcards.experiment, figures=False),
        folder=subpath(output[0], parent=True),
        fingerprint=fingerprint.of_modules(("admmbench.analysis.aggregate",)),
    shell:
        "admmbench aggregate {wildcards.experiment:q} {params.experiment:q}"
        " --folder {params.folder:q} --output {output:q} > {log:q} 2>&1"
