# Attacks on an experiment's runs. They say nothing about single seeds: one job for each noisy method and finite budget.
for experiment in EXPERIMENTS:
    if not STUDY.experiments[experiment].audits:
        continue

    rule:
        name:
            rule_name("audit", experiment)
        input:
            data=prepared(STUDY.experiments[experiment].dataset),
        output:
            f"{RESULTS}/{experiment}/{AUDITS}/{{audit}}.json",
        log:
            f"{RESULTS}/{experiment}/logs/{AUDITS}/{{audit}}.log",
        conda:
            "../envs/environment.yaml"
        resources:
            mem_mb=each_attempt(partial(audit_memory, experiment)),
            runtime=each_attempt(240),
        params:
            settings=lambda wildcards, experiment=experiment: (
                audited(experiment, wildcards).first.spec.arguments()
            ),
            audit=STUDY.experiments[experiment].audit.model_dump_json(
                exclude={"budgets"}
            ),
            fingerprint=lambda wildcards, experiment=experiment: [
                FINGERPRINTS[fingerprint.code(audited(experiment, wildcards).spec)],
                fingerprint.of_modules(("admmbench.audit.auditor",)),
            ],
        shell:
            "admmbench audit {params.settings:q} --audit {params.audit:q} --data {input.data:q}"
            " --output {output:q} > {log:q} 2>&1"
