# A rule for each folder of runs. Its runs differ only in epsilon and seeds and need the same resources, as the members
# of a cluster's job array must. Experiments that ask for the same run share it.
for folder, runs in STUDY.shared.items():
    example = next(iter(runs.values()))
    device = chosen(example.spec, STUDY.config.device)
    needed = estimate(example.spec, STUDY.config.threads, device)

    rule:
        name:
            rule_name("run", folder)
        input:
            data=partial(data_of_run, folder),
        output:
            f"{RESULTS}/runs/{folder}/{RESULT}",
        log:
            f"{RESULTS}/runs/{folder}/{LOG}",
            # Snakemake's own `benchmark:` and `cache:` exclude each other.
            seconds=f"{RESULTS}/runs/{folder}/{BENCHMARK}",
        cache: CACHING and STUDY.config.cache_runs
        conda:
            "../envs/environment.yaml"
        threads: needed.threads
        resources:
            mem_mb=each_attempt(needed.mem_mb),
            runtime=each_attempt(needed.runtime),
            # A run is the same run on another device, so this is no parameter of the job.
            device=device,
            cuda=int(device == "cuda"),
            gres=STUDY.config.gres if device == "cuda" else "",
        params:
            settings=lambda wildcards, runs=runs: runs[wildcards.point].spec.arguments(),
            fingerprint=FINGERPRINTS[fingerprint.code(example.spec)],
            checkpoint=f"{RESULTS}/runs/{example.checkpoint_folder}/{CHECKPOINT}",
        shell:
            "TIMEFORMAT=$'s\\n%R'; {{ time"
            " admmbench run {params.settings:q} --data {input.data:q} --output {output:q}"
            " --threads {threads} --device {resources.device} --fingerprint {params.fingerprint}"
            " --checkpoint {params.checkpoint:q} > {log[0]:q} 2>&1; }} 2> {log.seconds:q}"


# One job makes all timed runs of an experiment, and no other experiment shares them.
for experiment in EXPERIMENTS:
    if not STUDY.experiments[experiment].timed:
        continue

    rule:
        name:
            rule_name("time", experiment)
        input:
            data=partial(data_of_timed_runs, experiment),
            # New labels do not change the measured times; settings that do are part of the names of the outputs.
            manifest=ancient(f"{RESULTS}/{experiment}/manifest.json"),
        output:
            run_files(experiment),
        log:
            f"{RESULTS}/{experiment}/logs/time.log",
        conda:
            "../envs/environment.yaml"
        resources:
            mem_mb=each_attempt(cost_together(experiment).mem_mb),
            runtime=each_attempt(cost_together(experiment).runtime),
        params:
            folder=subpath(input.manifest, parent=True),
            fingerprints=[
                FINGERPRINTS[code]
                for code in fingerprint.codes(
                    run.spec for run in STUDY.experiments[experiment].runs
                )
            ],
        shell:
            "python -m admmbench.cli.jobs.time {params.folder:q} --data {input.data:q}"
            " --fingerprints {params.fingerprints:q} > {log:q} 2>&1"
