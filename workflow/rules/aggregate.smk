rule define:
    """Write the definition of an experiment: its manifest, which has its runs, or its figures."""
    input:
        # A workflow that is installed at another place or time is no reason to write anything again.
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
        # A parameter that depends on the output is no reason to write it again; Snakemake does not show this long text.
        digest=lambda wildcards: "definition "
        + fingerprint.of_text(definition(wildcards.experiment, wildcards.definition)),
        text=lambda wildcards, output: definition(
            wildcards.experiment, wildcards.definition
        ),
    template_engine:
        "jinja2"


rule aggregate:
    """Join the runs of an experiment into one labelled data set."""
    input:
        joined_runs,
        manifest=f"{RESULTS}/{{experiment}}/manifest.json",
    output:
        f"{RESULTS}/{{experiment}}/results.nc",
    log:
        f"{RESULTS}/{{experiment}}/logs/aggregate.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=each_attempt(2000),
        runtime=each_attempt(30),
    params:
        folder=subpath(output[0], parent=True),
        # Written into the results; runs do not depend on it.
        families=lambda wildcards: families(wildcards.experiment),
        fingerprint=fingerprint.of_modules(("admmbench.study.aggregate",)),
    shell:
        "admmbench aggregate {params.folder:q} --output {output:q} > {log:q} 2>&1"
