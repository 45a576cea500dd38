"""Commands work by hand, and end with one line when something is wrong."""

import contextlib
import itertools
import json
import os
import pkgutil
import re
import shlex
import socket
import stat
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from admmbench import algorithms, cli, list_algorithms, list_losses, simulate
from admmbench.audit.findings import Audit
from admmbench.base.outcomes import Outcome
from admmbench.cli import JOBS, call, job, jobs, main
from admmbench.cli.results import run_summary
from admmbench.files import read_checksummed
from admmbench.files.installed import REFERENCE, find
from admmbench.inference.contrasts import Decision
from admmbench.problems import losses
from admmbench.report import contents
from admmbench.study import config, configurations
from admmbench.watch import study
from tests.plugins import write_method


def carry_out(words):
    """Call a command as a user does, or as rules do."""
    if words[0] in JOBS:
        return call(job(words[0]), words[1:])
    return main(words)


def test_run_by_hand(tmp_path, capsys):
    assert main(["prepare", "digits", "--output", str(tmp_path / "digits")]) == 0
    output = tmp_path / "out" / "x.nc"
    words = ["dataset=digits", "algorithm=objp", "agents=3", "epsilon=1", "rounds=4", "seeds=0-2"]
    arguments = [*words, "params={a: 2}"]
    code = main(["run", *arguments, "--data", str(tmp_path / "digits"), "--output", str(output)])
    assert code == 0
    with xr.open_dataset(output) as trace:
        assert list(trace.seed.values) == [0, 1, 2]
    said = capsys.readouterr()
    assert "round 4 of 4" in said.err
    last = said.out.splitlines()[-2]
    assert last.startswith("objp on digits: after 4 rounds test error in percent is ")
    assert "mean over 3 seeds; composed ε without a guarantee" in last
    assert main(["show", str(output)]) == 0
    assert capsys.readouterr().out.strip() == last


def test_how_a_run_ended_counts_its_seeds():
    trace = simulate("digits", "objp", agents=3, epsilon=1, rounds=1, evaluate_every=1, seeds=2)
    assert "after 1 round test error in percent is " in run_summary(trace)
    assert "mean over 1 seed; composed" in run_summary(trace.isel(seed=[0]))
    trace["status"][0] = Outcome.DIVERGED
    assert "mean over 1 seed; 1 of 2 seeds failed (diverged or timed out); " in run_summary(trace)
    trace["status"][:] = Outcome.DIVERGED
    assert "test error in percent is unknown; 2 of 2 seeds failed" in run_summary(trace)


def test_settings_may_stand_behind_options(capsys):
    for words in (["multiplier=30", "--rounds", "500"], ["--rounds", "500", "multiplier=30"]):
        assert main(["account", "gaussian", *words, "--delta", "1e-5"]) == 0
    first, second = capsys.readouterr().out.split("gaussian: ")[1:]
    assert first == second


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rnak"], "admmbench: error: unknown command 'rnak'; did you mean 'rank'?"),
        (["account", "gaussian", "--multipler=30"], "'--multipler'; did you mean '--multiplier'?"),
        (
            ["rank", "a.csv", "missing=drop", "--method", "objp"],
            "unknown option '--method'; did you mean '--methods'?",
        ),
        (
            ["rank", "a.csv", "missing=drop", "--core", "1", "--total", "1"],
            "did you mean '--cores'?",
        ),
        (
            ["rank", "--total", "1"],
            "admmbench rank: error: the following arguments are required: TABLE",
        ),
        (["rank", "a.csv", "--cores", "0"], "expected a number from 1 on, got '0'"),
        (["show", "~no-such-user/x.nc"], "no such user or variable is known; write the path out"),
        (["gc", "--config", "seeds=1"], "unknown option '--config'; did you mean '--configfile'?"),
    ],
)
def test_slips_of_words_show_the_usage_of_their_command_and_what_was_meant(words, message, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"usage: admmbench {words[0]} " if words[0] != "rnak" else "usage: ")
    assert error.splitlines()[-1].endswith(message)


YAML = "config/quick.yaml"


@pytest.mark.parametrize(
    ("words", "overlays", "others"),
    [
        ([YAML, "-n"], [YAML], ["-n"]),
        (["-n", YAML], [YAML], ["-n"]),
        (["--cores", "1", YAML, "-n", "tune"], [YAML], ["--cores", "1", "-n", "tune"]),
        (["-c1", "laptop.yaml", YAML], ["laptop.yaml", YAML], ["-c1"]),
        (["-n", "all", "results/x.yaml"], [], ["-n", "all", "results/x.yaml"]),
        (["-n", "config/tuned/quick.yaml"], [], ["-n", "config/tuned/quick.yaml"]),
        (["./config/tuned/quick.yaml"], [], ["./config/tuned/quick.yaml"]),
        (["-d", "/a", "/a/config/tuned/b.yaml"], [], ["-d", "/a", "/a/config/tuned/b.yaml"]),
        (["tuned/mine.yaml", "-n"], ["tuned/mine.yaml"], ["-n"]),
        (["../tuned/mine.yaml", "-n"], ["../tuned/mine.yaml"], ["-n"]),
        (["--config", "dataset.path=a.yaml", "-n"], [], ["--config", "dataset.path=a.yaml", "-n"]),
    ],
)
def test_configuration_files_of_a_study_may_stand_behind_options(words, overlays, others):
    assert study.split_overlays(words) == (overlays, others)


def test_a_configuration_file_that_an_option_takes_is_refused():
    with pytest.raises(ValueError, match=f"{YAML}: stands behind --forcerun, .* files first"):
        study.split_overlays(["-n", "--forcerun", "run", YAML])


GROUPS = cli.groups()


def test_the_help_has_all_commands_in_groups_on_one_screen(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert {f"{title}:" for title in GROUPS} <= {*lines}
    assert lines[4].startswith("  admmbench study ")  # examples come first


@pytest.mark.parametrize(
    "command", [*itertools.chain(*GROUPS.values())], ids=lambda each: each.name
)
def test_the_help_of_a_command_is_one_screen_with_examples_that_it_reads(command, capsys):
    with pytest.raises(SystemExit):
        main([command.name, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    examples = [line for line in lines if line.startswith("  admmbench ")]
    assert examples or command.name == "path"
    for line in examples:
        command.read(shlex.split(line)[2:])


def strict(text):
    """Read JSON, without numbers that it does not have."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(name))


MONKS = str(REFERENCE / "he2023_np_monks.nc")


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["list"], "methods"),
        (["describe", "objp"], "guarantee"),
        (["describe", "digits"], "licence"),
        (["describe", "logistic"], "text"),
        (["show", MONKS], "methods"),
        (["account", "objp", "--dataset", "digits", "--epsilon", "1", "--trials", "9"], "search"),
    ],
)
def test_json_is_one_document(words, key, capsys):
    assert main([*words, "--json"]) == 0
    assert strict(capsys.readouterr().out)[key]


def test_results_without_claims_say_so(capsys):
    file = str(REFERENCE / "equal_privacy_digits.nc")
    assert main(["claims", file]) == 0
    assert "No claim is about this" in capsys.readouterr().out
    assert main(["claims", file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_claims_are_judged_by_the_results_of_experiments(capsys):
    assert main(["claims", MONKS, "--json"]) == 0
    rows = strict(capsys.readouterr().out)
    assert {row["paper"] for row in rows} == {"he2023"}
    assert {row["verdict"] for row in rows} <= {*Decision}
    assert main(["claims", MONKS]) == 0
    shown = capsys.readouterr().out
    assert rows[0]["claim"] in shown
    assert rows[0]["verdict"] in shown


def test_claims_are_chosen_by_paper_verdict_and_experiment(capsys):
    chosen = ["--experiment", "theorems_hu2019", "--json"]
    assert main(["claims", "--paper", "hu2019", *chosen]) == 0
    rows = {row["claim"]: row for row in strict(capsys.readouterr().out)}
    assert {row["source"] for row in rows.values()} >= {"lemma 4", "theorem 1, part 1"}
    assert [name for name, row in rows.items() if not row["counted"]] == ["hu2019-lemma-4-repaired"]
    assert main(["claims", "--verdict", "contradicted", *chosen]) == 0
    refuted = strict(capsys.readouterr().out)
    assert refuted == [row for row in rows.values() if row["verdict"] == "contradicted"] != []
    assert main(["claims", "--paper", "ryu2021", *chosen]) == 0
    assert strict(capsys.readouterr().out) == []
    assert main(["claims", "--verdict", "refuted"]) == 1
    assert "--verdict: 'refuted' is none of" in capsys.readouterr().err


def test_what_rules_alone_call_is_a_module_and_its_former_command_warns(tmp_path, capsys):
    module = "python -m admmbench.cli.jobs.overview"
    assert main(["overview", str(tmp_path), "--output", str(tmp_path / "index.html")]) == 0
    assert capsys.readouterr().err == f"admmbench: `admmbench overview` is now `{module}`\n"
    usage = subprocess.run(
        [sys.executable, *module.split()[1:], "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert usage.startswith(f"usage: {module} FOLDER [options]\n")
    # That of partitions was never a command, and a worker is none.
    modules = {each.name for each in pkgutil.iter_modules(jobs.__path__)}
    assert modules == {*JOBS, "partition", "work"}


# Each writes a file or a folder; what they are to write is not reached.
WRITING = {
    "run": ["run", "dataset=digits", "algorithm=objp", "epsilon=1", "--output"],
    "checkpoint": ["run", "dataset=digits", "algorithm=iadmm", "--output=x.nc", "--checkpoint"],
    "aggregate": ["aggregate", ".", "--output"],
    "prepare": ["prepare", "digits", "--output"],
}


def irregular(folder):
    """Things that a file must not take the place of: kind, path."""
    os.mkfifo(folder / "pipe")
    yield "pipe", folder / "pipe"
    with contextlib.suppress(PermissionError):  # not as root
        os.mknod(folder / "device", stat.S_IFCHR | 0o666, os.makedev(1, 7))
        yield "device", folder / "device"
    (folder / "link").symlink_to(folder / "pipe")
    yield "link", folder / "link"
    (folder / "file").touch()
    (folder / "another link").symlink_to(folder / "file")
    yield "link", folder / "another link"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
    yield "socket", folder / "socket"
    yield "folder", folder


@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
def test_what_is_no_file_is_never_replaced(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "files").mkdir()
    for kind, path in irregular(tmp_path / "files"):
        before = path.lstat()
        if kind == "folder" and words[0] == "prepare":
            continue
        assert carry_out([*words, str(path)]) == 1
        error = capsys.readouterr().err
        assert str(path) in error
        assert error.count("\n") == 1
        what = "is a symbolic link and not" if kind == "link" else "is no regular file and not"
        assert ("is no folder" if words[0] == "prepare" else what) in error
        assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert len(list(tmp_path.iterdir())) == 1
    assert (tmp_path / "files/file").read_bytes() == b""


INTERRUPTED = '''
import os, signal, sys
from admmbench import __main__
from admmbench.cli import authors
from admmbench.cli.options import Command

def list(options):
    """Be interrupted.

    --json  print one JSON document
    """
    try:
        os.kill(os.getpid(), signal.{signal})
    except KeyboardInterrupt:
        {then}

authors._list = Command(list)
sys.argv[1:] = ["list"]
sys.exit(__main__.main())
'''


@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize(
    ("name", "then"),
    [("SIGINT", "raise"), ("SIGHUP", "raise RuntimeError('a fault of the method')")],
)
def test_an_interrupted_command_says_so_in_a_line(name, then):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(signal=name, then=then)],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "admmbench: interrupted\n"


@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        (
            ZeroDivisionError("by zero"),
            "ZeroDivisionError: by zero (ADMMBENCH_DEBUG=1 shows where)",
        ),
        (TypeError("no"), "TypeError: no (ADMMBENCH_DEBUG=1 shows where)"),
        (KeyError("key"), "KeyError: 'key' (ADMMBENCH_DEBUG=1 shows where)"),
        (RecursionError("deep"), "RecursionError: deep (ADMMBENCH_DEBUG=1 shows where)"),
        (UnicodeDecodeError("utf-8", b"\xe9", 0, 1, "no"), "UnicodeDecodeError: 'utf-8' codec"),
        (MemoryError(), "out of memory"),
        (ValueError(), "ValueError"),
        (OSError(28, "No space left", "x"), "[Errno 28] No space left: 'x'"),
    ],
)
def test_every_exception_is_one_line(raised, shown, monkeypatch, capsys):
    def fail():
        raise raised

    monkeypatch.setattr("admmbench.list_algorithms", fail)
    assert main(["list"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"admmbench: {shown}")
    assert error.count("\n") == 1
    monkeypatch.setenv("ADMMBENCH_DEBUG", "1")
    assert main(["list"]) == 1
    assert "in fail" in capsys.readouterr().err


SMALL_RUN = ["dataset=digits", "algorithm=objp", "epsilon=1"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tune", *SMALL_RUN, "--axes", "{}", "--output", "x"], "--axes: names no setting"),
        (
            ["tune", *SMALL_RUN, "--axes", "{rounds: 1e308}", "--output", "x"],
            "axes.rounds: start and factor: expected at most 1e+100",
        ),
        (["tune", *SMALL_RUN, "--axes", "{rounds: x}", "--output", "x"], "axes.rounds"),
        (["choose", "x.json", "--of", "[]", "--output", "x"], "--of: names 0 searches"),
        (["choose", "--of", "[[a]]", "--output", "x"], "--of.0.1: "),
        (["choose", "--of", "3", "--output", "x"], "--of: "),
        (["choose", "--of", "[]", "--kept", "{a: 1}", "--output", "x"], "--kept.a: "),
        (["run", *SMALL_RUN, "epsilon=2", "--output", "x"], "epsilon: is given twice"),
        (["plan", "--config", "threads=1", "threads=2"], "threads: is given twice"),
        (["account", "gausian", "--multiplier", "3"], "unknown method or mechanism 'gausian'; did"),
        (["run", "dataset", "--output", "x"], "'dataset': expected KEY=VALUE"),
        (["account", "gaussian", "--rounds", "500", "30"], "'30': expected KEY=VALUE"),
        (["run", *SMALL_RUN, "--data", ".", "--output", "x"], "no usable prepared data set"),
        (["prepare", "{name: digits", "--output", "x"], "DATASET: '{name: digits' is no YAML"),
        (["prepare", "5", "--output", "x"], "DATASET: expected a name or a mapping, got '5'"),
        (["audit", *SMALL_RUN, "--audit", "{round: 1}"], "audit: unknown key 'round'; did you"),
        (["audit", *SMALL_RUN, "--audit", "5"], "audit: Input should be a mapping of keys to v"),
        (["audit", *SMALL_RUN, "--audit", "{rounds: 1"], "--audit: '{rounds: 1' is no YAML"),
        (["figures", "x", "--reference"], "x: there are no reference results of this experiment"),
        (
            ["figures", "agent_femnist", "--reference"],
            "agent_femnist: there are no reference results of this experiment; did you mean 'agents_f",
        ),
        (["figures", "he2023_np_monks"], "he2023_np_monks: name what is drawn: --results and"),
        (["figures", "gone.nc"], "gone.nc: no such file"),
        (["figures", "x", "--results=a.nc", "--reference"], "--reference: leave it out"),
        (["show", "."], ".: is a folder; name a file in it, such as results.nc"),
        (["report", "tiny", "--output", "x"], "tiny/manifest.json: is not there; name the folder"),
        (
            ["aggregate", "tiny", "--output", "x"],
            "tiny/manifest.json: is not there; name the folder",
        ),
        (
            ["study", "--coers", "3"],
            "unrecognized arguments: --coers; options are those of snakemake, see snakemake --help; did you mean "
            "'--cores'?",
        ),
        (["study", "--cores"], "argument --cores/-c: expected one argument; options are those of"),
        (
            ["study", "quick.yaml", "--set", "a=1"],
            "ambiguous option: --set could match --set-threads",
        ),
    ],
)
def test_slips_in_options_are_one_line(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert carry_out(words) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"admmbench: {message}")
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_report_of_what_exists_says_that_nothing_is_missing(tmp_path, monkeypatch, capsys):
    """Such as of a study whose joined results are damaged: its runs are there."""
    monkeypatch.setattr(contents, "gather_what_exists", lambda *given: (None, []))
    path = tmp_path / "x.html"
    assert main(["report", "results/tiny", "--keep-what-exists", "--output", str(path)]) == 0
    assert capsys.readouterr().out == (
        f"The report of what exists is {path}; nothing is missing in it.\n"
    )


def test_a_report_has_each_experiment_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(contents, "gather", lambda *_: (SimpleNamespace(name="tiny"), []))
    assert main(["report", "results/tiny", "other/tiny", "--output", str(tmp_path / "x.html")]) == 1
    assert "the experiment tiny is there twice; name each folder once" in capsys.readouterr().err


def test_home_is_known_in_paths_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["new", "loss", "mine", "--output", "~/plugins"]) == 0
    assert (tmp_path / "plugins/mine.py").exists()
    assert main(["check", "$HOME/plugins/none.py"]) == 1
    assert f"{tmp_path}/plugins/none.py" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["method", "loss", "dataset"])
def test_what_new_writes_passes_its_checks_and_serves(kind, tmp_path, capsys):
    if kind == "loss":
        pytest.importorskip("admmbench.contracts.losses")
    assert main(["new", kind, f"my_{kind}", "--output", str(tmp_path / "plugins")]) == 0
    path = tmp_path / "plugins" / f"my_{kind}.py"
    assert f"admmbench check {path}" in capsys.readouterr().out
    assert f"class My{kind.capitalize()}(" in path.read_text()
    assert "emplate" not in path.read_text()
    assert main(["check", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "all hold" in shown
    assert "✗" not in shown
    given = {"dataset": "digits", "method": "iadmm", "problem": "softmax"} | {
        "method": {"method": str(path)},
        "loss": {"dataset": "diabetes", "problem": str(path)},
        "dataset": {"dataset": str(path)},
    }[kind]
    trace = simulate(given["dataset"], given["method"], problem=given["problem"], rounds=2)
    assert np.isfinite(trace.train_loss).all()


@pytest.mark.parametrize(
    ("kind", "resolve", "names"),
    [("method", algorithms.resolve, list_algorithms()), ("loss", losses.resolve, list_losses())],
)
def test_new_copies_any_method_or_loss(kind, resolve, names, tmp_path, capsys):
    for name in names:
        words = ["new", kind, f"my_{name}", "--like", name, "--output", str(tmp_path)]
        assert main(words) == 0
        copied, original = resolve(str(tmp_path / f"my_{name}.py")), resolve(name)
        assert copied is not original
        assert repr(copied()) == repr(original())
    assert main(["new", kind, "mine", "--like", "nothing", "--output", str(tmp_path)]) == 1
    assert "'nothing'" in capsys.readouterr().err
    assert not (tmp_path / "mine.py").exists()


def test_a_copied_method_computes_what_the_original_does(tmp_path, capsys):
    assert main(["new", "method", "mine", "--like", "dpsgd", "--output", str(tmp_path)]) == 0
    given = {"dataset": "digits", "epsilon": 1, "rounds": 2}
    own, other = (
        simulate(algorithm=name, **given) for name in (str(tmp_path / "mine.py"), "dpsgd")
    )
    np.testing.assert_array_equal(own.train_loss, other.train_loss)
    assert main(["new", "dataset", "data", "--like", "digits", "--output", str(tmp_path)]) == 1
    assert "methods and losses alone are copied" in capsys.readouterr().err


def test_new_overwrites_nothing(tmp_path, capsys):
    words = ["new", "loss", "mine", "--output", str(tmp_path)]
    assert main(words) == 0
    (tmp_path / "mine.py").write_text("precious")
    assert main(words) == 1
    assert "is there already" in capsys.readouterr().err
    assert (tmp_path / "mine.py").read_text() == "precious"
    assert main(["new", "loss", "My-Loss", "--output", str(tmp_path)]) == 1
    assert "such as my_loss" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (
            '"licence": "CC BY 4.0"',
            '"licence": ""',
            "✗ facts are complete\n    describe() gives no licence\n",
        ),
        ("raw.max(axis=0)", "(1 / 0)", 'bad.py", line '),
        ("raw.max(axis=0)", "(1 / 0)", "ZeroDivisionError"),
    ],
)
def test_a_failing_check_says_what_is_wrong_and_where(right, wrong, said, tmp_path, capsys):
    path = tmp_path / "bad.py"
    main(["new", "dataset", "bad", "--output", str(tmp_path)])
    path.write_text(path.read_text().replace(right, wrong))
    capsys.readouterr()
    assert main(["check", str(path)]) == 1
    shown = capsys.readouterr().out
    assert said in shown
    assert "1 failed" in shown
    assert "Traceback" not in shown


def test_the_first_error_of_a_method_ends_its_checks(tmp_path, capsys):
    path = tmp_path / "wrong.py"
    main(["new", "method", "wrong", "--output", str(tmp_path)])
    step = "return sub.noise."
    assert step in path.read_text()
    path.write_text(path.read_text().replace(step, "return sub.nose."))
    capsys.readouterr()
    assert main(["check", str(path)]) == 1
    shown = capsys.readouterr().out
    assert shown.count("✗") == 1
    assert "    with problem: {" in shown
    assert f'File "{path}", line ' in shown
    assert "rounds.py" not in shown
    assert re.search(r"^\d+ checks, 1 failed, \d+ not run: mend the error first", shown, re.M)
    assert main(["check", str(path), "--traceback"]) == 1
    assert "rounds.py" in capsys.readouterr().out


def test_a_plugin_that_cannot_be_imported_says_which_line(tmp_path, capsys):
    path = tmp_path / "typo.py"
    for text, message in (
        ("x = 1\nfrom admmbench.api import RowBlok\n", "cannot import name 'RowBlok'"),
        ("def f(:\n", "SyntaxError"),
        (
            "from admmbench.nowhere import Sensitivity\n",
            "No module named 'admmbench.nowhere'; what plug-ins need is in admmbench.api",
        ),
    ):
        path.write_text(text)
        assert main(["check", str(path)]) == 1
        shown = capsys.readouterr().err
        assert message in shown
        assert f'File "{path}", line {text.count(chr(10))}' in shown
        assert "importlib" not in shown
        assert "Traceback" not in shown


def test_module_and_script_are_the_same():
    shown = subprocess.run(
        [sys.executable, "-m", "admmbench", "--version"], capture_output=True, text=True, check=True
    )
    from admmbench import __version__

    assert shown.stdout.strip() == __version__


def test_a_study_is_reported_from_kept_results(tmp_path, monkeypatch, capsys):
    """By the name of its configuration; what is not kept is named."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/mine.yaml").write_text("experiments: [quick, agents_femnist]")
    words = ["report", "mine", "--reference", "--output", "mine.html"]
    assert main(words) == 0
    page = (tmp_path / "mine.html").read_text("utf-8")
    assert "config.yaml + mine.yaml" in page
    assert page.count('<section class="experiment"') == 1
    assert "has no reference results" in page
    assert "did not end well" not in page
    assert main([*words, "--keep-what-exists"]) == 1
    assert main(["report", "mines", *words[2:]]) == 1
    assert "did you mean 'mine.yaml'?" in capsys.readouterr().err


def test_figures_of_kept_results_have_the_colours_of_their_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alone = config.load({"experiments": ["hu2019_norm"]}).looks
    looks = configurations.read_study("hu2019").looks
    colours = {label: {each[label].color for each in (alone, looks)} for label in alone}
    assert all(len(pair) == 2 for pair in colours.values())
    assert main(["figures", "hu2019_norm", "--reference"]) == 0
    drawn = "".join(path.read_text("utf-8") for path in (tmp_path / "figures").rglob("*.svg"))
    assert all(looks[label].color in drawn for label in alone)


WATCHING = """
def round(self, t, state, federation):
    import gc

    assert gc.isenabled() == (t > 1)
    return super().round(t, state, federation)
"""


def test_figures_of_kept_results_are_those_of_the_experiment(tmp_path, monkeypatch, capsys):
    """By name, or by the file, whose checksum is in a list beside it."""
    monkeypatch.chdir(tmp_path)
    assert main(["figures", "agents_femnist", "--reference"]) == 0
    by_name = sorted((tmp_path / "figures/agents_femnist").iterdir())
    file = REFERENCE / "agents_femnist.nc"
    assert main(["figures", str(file), "--output=again"]) == 0
    by_file = sorted((tmp_path / "again").iterdir())
    assert [path.name for path in by_name] == [path.name for path in by_file]
    assert {path.suffix for path in by_name} == {".svg", ".pdf", ".png", ".csv"}
    for one, other in zip(by_name, by_file, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name
    printed = capsys.readouterr().out.splitlines()
    assert f"{by_name[0].relative_to(tmp_path)}" in printed
    (tmp_path / "mine.json").write_text(
        '[{"name": "mine", "kind": "curves", "metric": "train_loss"}]'
    )
    assert main(["figures", "mine.json", f"--results={file}"]) == 0
    assert (tmp_path / "figures/agents_femnist/mine.csv").exists()


def test_garbage_is_collected_after_the_first_round(tmp_path):
    """Not before: among what is imported there is none."""
    write_method(tmp_path / "watching.py", WATCHING)
    words = ["dataset=digits", "algorithm=watching.py", "rounds=3", "seeds=1", "epsilon=1"]
    done = subprocess.run(
        [sys.executable, "-m", "admmbench", "run", *words, "--output", "result.nc"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


ATTACKED = ["dataset=digits", "algorithm=objp", "agents=3", "epsilon=1", "rounds=4"]


def test_an_audit_by_hand(tmp_path, capsys):
    """A table; what fails is an error, but not where a file is asked for."""
    attack = ["--audit", "{rounds: 1, repeats: 24, canaries: [worst]}"]
    assert main(["audit", *ATTACKED, "sensitivity=global", *attack]) == 0
    shown = capsys.readouterr().out
    assert "5 checks hold." in shown
    assert "epsilon of 1 rounds at delta 1e-06" in " ".join(shown.split())
    assert "Warning" not in shown
    assert main(["audit", *ATTACKED, "delta=0.001", *attack]) == 1
    shown = capsys.readouterr().out
    assert "Warning: delta = 0.001 is above 1/n = 0.0007 of the n = 1,437 training" in shown
    assert "coupling, worst: The scale of the noise depends on the data" in shown
    assert "checks fail." in shown
    output = tmp_path / "audits" / "x.json"
    assert main(["audit", *ATTACKED, *attack, "--output", str(output)]) == 0
    found = Audit.from_dict(read_checksummed(output))
    assert found.passed is False
    assert found == Audit.from_dict(json.loads(output.read_text()))
    assert found.rounds == 1
    assert main(["audit", *ATTACKED, *attack, "--strict", "--output", str(output)]) == 1


def test_a_strict_audit_counts_what_it_does_not_cover(capsys):
    attack = ["sensitivity=global", "--audit", "{rounds: 1, repeats: 24, canaries: [worst]}"]
    assert main(["audit", *ATTACKED, *attack, "--strict"]) == 0
    settings = [word.replace("objp", "iadmm") for word in ATTACKED]
    assert main(["audit", *settings, *attack]) == 0
    assert main(["audit", *settings, *attack, "--strict"]) == 1
    assert "claims nothing" in capsys.readouterr().out
    settings = [word.replace("objp", "amp") for word in ATTACKED if "rounds" not in word]
    assert main(["audit", *settings, "rounds=1", *attack]) == 0
    counted = "4 of 5 do not apply" in capsys.readouterr().out
    assert main(["audit", *settings, "rounds=1", *attack, "--strict"]) == int(counted)


def test_where_nothing_is_private_there_is_nothing_to_audit(capsys):
    assert main(["audit", "dataset=digits", "algorithm=iadmm", "rounds=2"]) == 0
    assert "iadmm declares no noisy release" in capsys.readouterr().out


def test_a_study_needs_a_folder_that_snakemake_can_write_to(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    for place, options in ((tmp_path, []), (tmp_path / "there", ["--directory", "there"])):
        (place / ".snakemake").touch()
        assert main(["study", *options]) == 1
        said = f"admmbench: {place}/.snakemake is no folder that you can write to: name another place\n"
        assert capsys.readouterr().err == said
        (place / ".snakemake").unlink()


def test_a_study_takes_installed_configurations_by_name(monkeypatch, capsys):
    called = []
    monkeypatch.setattr(study, "run", lambda *given: called.append(given[0]))
    assert main(["study", "laptop.yaml", "audit.yaml"]) == 0
    assert called == [[find("laptop.yaml"), find("audit.yaml")]]
    assert main(["study", "labtop.yaml"]) == 1
    assert "did you mean 'laptop.yaml'?" in capsys.readouterr().err
