rule define:
    """Write down what an experiment is: its manifest, with the runs that are its own, or its figures."""
    input:
        # Where and when the workflow was installed is no reason to write anything again.
        ancient(
            sourcecache_entry(
                workflow.source_path("../templates/text.jinja2"),
                "workflow/templates/text.jinja2",
            )
        ),
    output:
        f"{RESULTS}/{{experiment}}/{{definition}}.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/{{definition}}.log",
    localrule: True
    params:
        # What is derived from the output is no reason to write it again, and not shown as one: it is long.
        digest=lambda wildcards: fingerprint.of_text(
            definition(wildcards.experiment, wildcards.definition)
        ),
        text=lambda wildcards, output: definition(
            wildcards.experiment, wildcards.definition
        ),
    template_engine:
        "jinja2"


rule aggregate:
    """Join the runs of an experiment into one labelled data set."""
    input:
        lambda wildcards: run_files(wildcards.experiment),
        manifest=f"{RESULTS}/{{experiment}}/manifest.json",
    output:
        f"{RESULTS}/{{experiment}}/results.nc",
    log:
        f"{RESULTS}/{{experiment}}/logs/aggregate.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        folder=subpath(output[0], parent=True),
        fingerprint=fingerprint.of_modules(("admmbench.analysis.aggregate",)),
    shell:
        "admmbench aggregate {params.folder:q} --output {output:q} > {log:q} 2>&1"
