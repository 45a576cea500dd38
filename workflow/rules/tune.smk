# Settings that are tuned: one job for each method and budget, which makes its trials one after another.
for experiment in EXPERIMENTS:
    if not STUDY.experiments[experiment].searches:
        continue

    rule:
        name:
            rule_name("tune", experiment)
        input:
            data=prepared(STUDY.experiments[experiment].dataset),
        output:
            f"{RESULTS}/{experiment}/{TUNING}/{{search}}.json",
        log:
            f"{RESULTS}/{experiment}/logs/{TUNING}/{{search}}.log",
        conda:
            "../envs/environment.yaml"
        resources:
            mem_mb=each_attempt(partial(search_memory, experiment)),
            runtime=each_attempt(720),
        params:
            settings=lambda wildcards, experiment=experiment: (
                searched(experiment, wildcards).spec.arguments()
            ),
            axes=lambda wildcards, experiment=experiment: inline_yaml(
                {
                    path: axis.model_dump(mode="json")
                    for path, axis in searched(experiment, wildcards).axes.items()
                }
            ),
            tuning=STUDY.experiments[experiment].tuning.model_dump_json(),
            code=lambda wildcards, experiment=experiment: FINGERPRINTS[
                fingerprint.code(searched(experiment, wildcards).spec)
            ],
            fingerprint=fingerprint.of_modules(("admmbench.tuning.trials",)),
        shell:
            "admmbench tune {params.settings:q} --axes {params.axes:q}"
            " --tuning {params.tuning:q} --data {input.data:q} --fingerprint {params.code} --output {output:q} > {log:q} 2>&1"

    rule:
        name:
            rule_name("choose", experiment)
        input:
            list(search_files(experiment)),
        output:
            chosen=f"config/{TUNED}/{experiment}.yaml",
            trials=f"{RESULTS}/{experiment}/trials.csv",
        log:
            f"{RESULTS}/{experiment}/logs/choose.log",
        conda:
            "../envs/environment.yaml"
        resources:
            mem_mb=each_attempt(2000),
            runtime=each_attempt(30),
        params:
            # Functions, as Snakemake would look for wildcards in the braces of a text.
            of=lambda wildcards, experiment=experiment: inline_yaml(
                [
                    [search.label, search.budget]
                    for search in search_files(experiment).values()
                ]
            ),
            kept=lambda wildcards, experiment=experiment: inline_yaml(
                settings_kept(experiment)
            ),
        shell:
            "admmbench choose {input:q} --of {params.of:q} --kept {params.kept:q}"
            " --output {output.chosen:q} --trials {output.trials:q} > {log:q} 2>&1"


rule tune:
    """Settings that tuning chose, in config/tuned/: make them before the runs that need them."""
    input:
        chosen_settings,
    localrule: True
