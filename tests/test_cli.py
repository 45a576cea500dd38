"""Commands work by hand, and end with one line when something is wrong."""

import subprocess
import sys

import xarray as xr

from admmbench.cli import main


def test_run_by_hand(tmp_path, capsys):
    assert main(["prepare", "digits", "--output", str(tmp_path / "digits")]) == 0
    output = tmp_path / "out" / "x.nc"
    words = ["dataset=digits", "algorithm=objp", "agents=3", "epsilon=1", "rounds=4", "seeds=0-2"]
    arguments = [*words, "params={a: 2}"]
    code = main(["run", *arguments, "--data", str(tmp_path / "digits"), "--output", str(output)])
    assert code == 0
    with xr.open_dataset(output) as trace:
        assert list(trace.seed.values) == [0, 1, 2]
    assert "round 4 of 4" in capsys.readouterr().err


def test_faults_are_one_line(tmp_path, capsys):
    common = ["--data", str(tmp_path), "--output", str(tmp_path / "x.nc")]
    for words, message in (
        (["dataset=digits", "algorithm=objq"], "did you mean"),
        (["dataset=digits", "algorithm=objp", "epsilon=0"], "epsilon"),
        (["dataset"], "expected KEY=VALUE"),
        (["dataset=digits", "algorithm=objp"], "no usable prepared data set"),
    ):
        assert main(["run", *words, *common]) == 1
        error = capsys.readouterr().err
        assert message in error
        assert "Traceback" not in error


def test_list_names_everything(capsys):
    assert main(["list"]) == 0
    assert "objp" in capsys.readouterr().out


def test_module_and_script_are_the_same():
    shown = subprocess.run(
        [sys.executable, "-m", "admmbench", "--version"], capture_output=True, text=True, check=True
    )
    from admmbench import __version__

    assert shown.stdout.strip() == __version__
