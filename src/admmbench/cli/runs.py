"""Commands on single runs: prepare their data, run, attack, account for their privacy."""

from __future__ import annotations

import argparse
import shlex

from admmbench.cli.options import (
    Command,
    collect_garbage,
    dataset,
    print_json,
    run_spec,
    wide_console,
)
from admmbench.cli.results import run_summary
from admmbench.files import checksummed_json, write
from admmbench.files.core_yaml import parse_words, parse_yaml


@Command
def _prepare(options: argparse.Namespace) -> None:
    """Fetch, check and prepare a data set.

      admmbench prepare heart_disease
      admmbench prepare '{name: femnist, shards: [0, 1]}' --output prepared

    DATASET          name, or YAML with settings
    --output FOLDER  folder to write (default: in the cache, where `simulate` finds it)
    --mirror FOLDER  folder with source files, looked up before the network
    --cache FOLDER   folder for downloads
    """
    from admmbench.datasets import describe, load_dataset, prepare

    spec = parse_yaml(options.dataset, "DATASET")
    if not isinstance(spec, str | dict):
        raise ValueError(f"DATASET: expected a name or a mapping, got {options.dataset!r}")
    places = {"mirror": options.mirror, "cache": options.cache}
    if options.output:
        prepare(spec, options.output, **places)
    else:
        print(load_dataset(spec, **places))
    for line in describe(spec).summary:
        print(line)


@Command
def _run(options: argparse.Namespace) -> None:
    """Run a method and write its trace.

      admmbench run dataset=digits algorithm=objp epsilon=1 --output run.nc
      admmbench run dataset=digits algorithm=objp seeds=0-9 params='{local_updates: 10}' --output run.nc

    KEY=VALUE ...        arguments of admmbench.simulate, values in YAML
    --data FOLDER ...    prepared data set (default: load it), and files with the partition of the
                         run (default: draw it)
    --output FILE        netCDF file to write (required)
    --threads N          threads to use (default: 1)
    --device NAME        what computes: cpu (default), or an installed device, such as cuda
    --fingerprint TEXT   of the code; other code is refused
    --checkpoint FILE    file that keeps the state; a rerun continues from it
    """
    from admmbench.engine.context import Context
    from admmbench.engine.devices import CPU
    from admmbench.jobs import job, partitions
    from admmbench.jobs.progress import shown

    spec = run_spec(options)
    data = dataset(spec, *options.data[:1])
    partition = partitions.read(spec, data, options.data[1:])
    title = f"{spec.algorithm} on {spec.info.name}, {spec.budget_key} {spec.stated_budget:g}"
    with shown(title) as progress:

        def report(done: int, total: int) -> None:
            collect_garbage()  # the first round loads compiled code, which stays
            progress(done, total)

        trace = job.execute(
            spec,
            data,
            options.output,
            Context(
                options.threads or 1,
                options.device or CPU,
                progress=report,
                partition=partition,
            ),
            options.fingerprint,
            options.checkpoint,
        )
    print(run_summary(trace))
    print(
        f"{options.output} has the trace; admmbench show {shlex.quote(str(options.output))} says this again"
    )


@Command
def _account(options: argparse.Namespace) -> None:
    """State the total privacy loss of a method or a mechanism, without a run.

      admmbench account objp --dataset digits --rounds 100 --epsilon 1
      admmbench account gaussian --multiplier 30 --rounds 500 --delta 1e-5
      admmbench account all

    NAME                method, or a mechanism: gaussian (with --multiplier), laplace or pure (with
                        --epsilon); or all, for a table of every method with every unit, threat
                        model, relation and sampling
    [KEY=VALUE ...]     further arguments of admmbench.simulate, such as agents=5; sensitivity is
                        global if it is not stated
    --dataset DATASET   that a method runs on, as a name or in YAML
    --rounds TEXT       of the run, or how many mechanisms are composed
    --epsilon TEXT      budget of one mechanism
    --multiplier TEXT   standard deviation of normal noise over the sensitivity
    --total TEXT        total epsilon to solve for
    --mu TEXT           mu of Gaussian differential privacy to solve for
    --delta TEXT        failure probability of totals
    --sampling TEXT     probability that a record takes part in a mechanism
    --trials TEXT       of a search for settings, whose total is stated as well
    --covers TEXT       composition scope of --total: run (default); or every_trial or best_trial,
                        with --trials
    --json              print one JSON document
    """
    from admmbench.engine import account
    from admmbench.privacy import ACCOUNTANTS
    from admmbench.report.environment import texts
    from admmbench.validation import checked

    if options.name == "all":
        from admmbench.engine import combinations

        if options.json:
            return print_json([*combinations.combinations()])
        return print(combinations.markdown())
    keys = ["dataset", "rounds", "epsilon", "multiplier", "total", "mu", "delta", "sampling"]
    keys += ["covers", "trials"] if options.covers else []
    arguments = {
        key: parse_yaml(text, f"--{key}") for key in keys if (text := getattr(options, key))
    }
    title, privacy_loss = account.of(options.name, arguments | parse_words(options.settings))
    facts = privacy_loss.facts()
    if options.trials:
        trials = checked(account.Trials, parse_yaml(options.trials, "--trials"), "trials")
        facts["search"] = {"trials": trials, "totals": privacy_loss.searched(trials)}
    if options.json:
        print_json({"of": title, **facts})
    else:
        comments = {name: accountant.comment for name, accountant in ACCOUNTANTS.items()}
        print(texts("terminal").account(title, facts, comments).rstrip())


@Command
def _audit(options: argparse.Namespace) -> int:
    """Attack the privacy of a run.

      admmbench audit dataset=digits algorithm=objp epsilon=1 sensitivity=global rounds=5

    KEY=VALUE ...  arguments of admmbench.simulate, values in YAML
    --data FOLDER  prepared data set (default: load it)
    --audit YAML   how much to audit: '{rounds: 5, repeats: 200}'
    --output FILE  JSON file to write; failed checks then give status 0
    --strict       give status 1 if a level does not apply, or nothing can be attacked, with
                   --output too
    """
    from admmbench.audit.auditor import audit
    from admmbench.audit.settings import AuditSettings
    from admmbench.audit.words import table, words
    from admmbench.jobs.progress import shown
    from admmbench.validation import checked

    spec = run_spec(options)
    settings = checked(AuditSettings, parse_yaml(options.audit or "{}", "--audit"), "audit")
    data = dataset(spec, options.data)
    collect_garbage()
    with shown(f"Attacks on {spec.algorithm}", "piece") as progress:
        outcome = audit(spec, data, settings, progress)
    if options.output:
        write(options.output, checksummed_json(outcome.to_dict(), indent=1))
        return int(options.strict and not outcome.complete)
    console = wide_console()
    if outcome.findings:
        console.print(table(outcome))
    for finding in outcome.failures:
        sentence = words().sentence(finding)
        console.print(f"[red]✗[/] {finding.level}, {finding.canary}: {sentence}", soft_wrap=True)
    console.print(words().summary(outcome), soft_wrap=True)
    if spec.delta_warning:
        console.print(f"Warning: {spec.delta_warning}.", soft_wrap=True)
    return int(not outcome.complete if options.strict else outcome.passed is False)
