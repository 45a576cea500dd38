# A rule for each experiment, which names its figures: one that is deleted is drawn again.
for experiment in EXPERIMENTS:
    if not STUDY.experiments[experiment].figures:
        continue

    rule:
        name:
            rule_name("figures", experiment)
        input:
            results=f"{RESULTS}/{{experiment}}/results.nc",
            figures=f"{RESULTS}/{{experiment}}/figures.json",
        output:
            [
                report(
                    path,
                    category="{experiment}",
                    caption="../report/figure.rst",
                    labels={"figure": Path(path).stem},
                )
                for path in figure_files("{experiment}", experiment, "svg")
            ],
            [
                path
                for suffix in FORMATS[1:]
                for path in figure_files("{experiment}", experiment, suffix)
            ],
        log:
            f"{RESULTS}/{{experiment}}/logs/figures.log",
        wildcard_constraints:
            experiment=re.escape(experiment),
        conda:
            "../envs/environment.yaml"
        resources:
            mem_mb=each_attempt(2000),
            runtime=each_attempt(30),
        params:
            folder=subpath(output[0], parent=True),
            fingerprint=fingerprint.of_figures(
                type(figure).__module__
                for figure in STUDY.experiments[experiment].figures
            ),
        shell:
            "admmbench figures {input.figures:q} --results {input.results:q}"
            " --output {params.folder:q} > {log:q} 2>&1"


rule report:
    """Write the report: what was run, figures, tables, claims, provenance."""
    input:
        results=DATASETS,
        figures=[
            path
            for name in EXPERIMENTS
            for suffix in FORMATS
            for path in figure_files(name, name, suffix)
        ],
        definitions=[
            f"{RESULTS}/{name}/{file}.json"
            for name in EXPERIMENTS
            for file in ("manifest", "figures")
        ],
        audits=[path for name in EXPERIMENTS for path in audit_files(name)],
        partitions=shown_partitions,
    output:
        page=report(
            REPORT,
            category="Report",
            caption="../report/report.rst",
            labels={"figure": "report"},
        ),
        pictures=picture_files(FORMATS),
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=each_attempt(2000),
        runtime=each_attempt(30),
    params:
        # Their content counts, not where they are installed.
        claims="claims "
        + fingerprint.of_text(
            "".join(path.read_text("utf-8") for path in find_all("claims").values())
        ),
        kept=KEPT,
        study=ARGUMENTS,
        fingerprint=fingerprint.of_page(
            "admmbench.report.rendering",
            "admmbench.report.contents",
            "admmbench.claims.judge",
        ),
    shell:
        "admmbench report {params.study:q} --pictures --output {output.page:q} > {log:q} 2>&1"


rule overview:
    """Write the page with links to the reports of all configurations that were run."""
    input:
        REPORT,
    output:
        f"{RESULTS}/report/index.html",
    log:
        f"{RESULTS}/logs/overview.log",
    localrule: True
    conda:
        "../envs/environment.yaml"
    params:
        folder=subpath(output[0], parent=True),
        fingerprint=fingerprint.of_page("admmbench.report.overview"),
    shell:
        "python -m admmbench.cli.jobs.overview {params.folder:q} --output {output:q} > {log:q} 2>&1"
