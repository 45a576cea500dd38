"""A certificate that was changed in any field is not taken for the one that was issued."""

import contextlib
import fcntl
import functools
import hashlib
import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from admmbench.certificate import board, content, recompute, sandbox, verify
from admmbench.certificate.verify import Status
from admmbench.cli import competing, main
from admmbench.files.core_yaml import read_yaml
from admmbench.jobs import fingerprint, provenance
from admmbench.results import reference

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "leaderboard/iceadmm"
METHOD = FOLDER / "iceadmm.py"


@pytest.fixture(scope="module")
def cached():
    """Computations of a verification, each made once for all tests."""
    made = {}

    def once(function, name):
        @functools.wraps(function)
        def call(spec, *arguments):
            key = name, spec.model_dump_json()
            if key not in made:
                made[key] = function(spec, *arguments)
            return made[key]

        return call

    return {"run_spec": once(recompute.run_spec, "run"), "audit": once(recompute.audit, "audit")}


@pytest.fixture
def certificate(monkeypatch, cached):
    """The kept certificate as content of JSON, as if the code of today had issued it here."""
    for name, function in cached.items():
        monkeypatch.setattr(recompute, name, function)
    certificate = content.read(FOLDER / "certificate.json").model_dump(mode="json")
    checked = content.Certificate.model_validate(certificate).settings[0]
    run = {**checked.run, "algorithm": str(METHOD), "seeds": [0]}
    certificate["settings"][0]["code"] = fingerprint.parts(recompute.RunSpec.model_validate(run))
    certificate["versions"] = {**provenance.versions()}
    return certificate


def found(certificate, *, seal=True, method=METHOD):
    """Worst status and all sentences of a verification."""
    checked = content.Certificate.model_validate(certificate)
    checked = checked.sealed() if seal else checked
    lines = list(verify.verify(checked, method, seed=1, recompute=recompute.compute))
    return max(line.status for line in lines), "\n".join(line.text for line in lines)


def test_an_honest_certificate_is_equal(certificate):
    status, text = found(certificate)
    assert status == Status.EQUAL
    assert "were computed again" in text
    assert "its audit was made again, and is the same" in text


def test_the_kept_certificate_is_sealed():
    certificate = content.read(FOLDER / "certificate.json")
    assert certificate.sealed() == certificate


# What follows from other fields, or from a computation, is found although the seal is renewed.
TAMPERED = {
    "epsilon": 1.0,
    "delta": 1e-3,
    "relation": "replace",
    "unit": "agent",
    "trust": "secure_sum",
    "guarantee": "none",
    "conditions": "none at all",
    "dataset": "mnist",
    "metric": "train_loss",
    "rounds": 1,
    "gradients": 1.0,
    "floats_sent": 1.0,
    "n_test": 10,
    "mu": 0.1,
    "regret": 0.1,
    "audit": None,
}


@pytest.mark.parametrize("field", TAMPERED)
def test_a_changed_fact_is_named(certificate, field):
    certificate["settings"][0][field] = TAMPERED[field]
    status, text = found(certificate)
    assert status == Status.DIFFERS
    assert field in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s["seeds"].__setitem__(3, 99), "seeds: are not the first"),
        (lambda s: [s[k].pop() for k in ("seeds", "values", "losses")], "mean: is not"),
        (lambda s: s["values"].__setitem__(3, 0.01), "mean: is not that of its values"),
        (lambda s: s["mean"].__setitem__("lower", 0.0), "mean: is not that of its values"),
        (lambda s: s["versus"].__setitem__("verdict", "better"), "versus: does not follow"),
        (lambda s: s["versus"].__setitem__("rival", "DP-GD"), "versus: does not follow"),
        (lambda s: s["versus"].__setitem__("margin", 0.5), "versus: does not follow"),
        (lambda s: s["run"].__setitem__("sensitivity", "local"), "run: is refused"),
        (lambda s: s["run"].__setitem__("agents", 1), "agents: is not that of the competition"),
        (lambda s: s["run"]["privacy"].__setitem__("total", 4.0), "epsilon: is 2.0, and follows"),
        (
            lambda s: s["code"].__setitem__("method", "0" * 16),
            "code.method: is not that of the file",
        ),
    ],
)
def test_a_changed_result_or_run_is_named(certificate, change, message):
    change(certificate["settings"][0])
    status, text = found(certificate)
    assert status == Status.DIFFERS
    assert message in text


def with_values(certificate, values):
    """State other values of the first setting, and all that follows from them."""
    setting = certificate["settings"][0]
    setting["values"] = [float(value) for value in values]
    setting["mean"] = content.mean(setting["values"]).model_dump()
    rivals = reference.load([setting["experiment"]])
    checked = content.Certificate.model_validate(certificate)
    label = checked.method.label
    comparison = verify.compare(
        [verify.with_values(rivals[setting["experiment"]], label, checked.settings)]
    )
    versus = verify.versus(label, setting["experiment"], 2.0, comparison)
    setting["versus"] = versus.model_dump(mode="json")


def test_values_that_are_consistent_but_made_up_are_computed_again(certificate):
    with_values(certificate, [value - 0.05 for value in certificate["settings"][0]["values"]])
    status, text = found(certificate)
    assert status == Status.DIFFERS
    assert "values: of seed" in text


def test_each_bit_of_the_loss_counts_where_bits_can_be_compared(certificate):
    if certificate["arithmetic"] != provenance.arithmetic():
        pytest.skip("another processor issued the certificate")
    losses = certificate["settings"][0]["losses"]
    certificate["settings"][0]["losses"] = [loss * (1 + 1e-15) for loss in losses]
    assert found(certificate)[0] == Status.DIFFERS


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("track", "lite", "track: lite has other experiments"),
        ("method", {"label": "other"}, "method.label: is other, and follows as iceadmm, Gaussian"),
        ("method", {"label": "iceadmm"}, "method.label: is iceadmm, and follows"),
        ("method", {"label": "DP-GD"}, "method.label: is that of a rival"),
        ("not_checked", [], "not_checked: is not what certificates leave unchecked"),
        ("method", {"sha256": "0" * 64}, "method.sha256"),
    ],
)
def test_a_changed_head_is_named(certificate, key, value, message):
    certificate[key] = {**certificate[key], **value} if isinstance(value, dict) else value
    status, text = found(certificate)
    assert status == Status.DIFFERS
    assert message in text


@pytest.mark.parametrize("key", ["made", "machine", "versions", "arithmetic"])
def test_what_nothing_follows_from_breaks_the_seal(certificate, key):
    certificate = json.loads(
        content.Certificate.model_validate(certificate).sealed().model_dump_json()
    )
    other = {"made": "2020-01-01", "versions": {"numpy": "1.0"}}
    certificate[key] = other.get(key, "other")
    status, text = found(certificate, seal=False)
    assert status == Status.DIFFERS
    assert "seal: the certificate was changed" in text


def test_other_versions_are_said_and_allow_three_records(certificate):
    certificate["versions"]["numpy"] = "1.0"
    setting = certificate["settings"][0]
    setting["losses"] = [loss * 1.001 for loss in setting["losses"]]
    status, text = found(certificate)
    assert status == Status.EQUAL
    assert "compared loosely, up to 3 test records, as bits may differ: versions.numpy: 1.0" in text


def test_errors_that_are_each_within_three_records_are_not_all_lower(certificate):
    certificate["versions"]["numpy"] = "1.0"
    setting = certificate["settings"][0]
    values = np.array(setting["values"])
    with_values(certificate, values - 2 / setting["n_test"])
    status, text = found(certificate)
    assert status == Status.DIFFERS
    assert "values: differ by 0.0056 on average, and rounding allows 0.0019" in text
    signs = (-1) ** np.arange(len(values))
    with_values(certificate, values + signs * 2 / setting["n_test"])
    assert found(certificate)[0] == Status.EQUAL


def test_other_kept_results_of_rivals_cannot_be_compared(certificate):
    certificate["settings"][0]["reference"] = "0" * 64
    status, text = found(certificate)
    assert status == Status.INCOMPARABLE
    assert "reference results of equal_privacy_digits are others here" in text


def test_a_setting_that_is_left_out_is_missed(certificate):
    setting = {**certificate["settings"][0]}
    certificate["settings"] = [setting, setting]
    status, text = found(certificate)
    assert status == Status.DIFFERS
    assert "the competition is equal_privacy_digits at 2, each once" in text


def test_another_file_is_not_executed(certificate, tmp_path):
    path = tmp_path / "iceadmm.py"
    path.write_text("raise SystemExit('executed')\n")
    status, text = found(certificate, method=path)
    assert status == Status.DIFFERS
    assert "another file than the one that competed" in text


@pytest.mark.parametrize("text", ["{}", '{"schema_version": 2}', "[", '{"schema_version": 1}'])
def test_what_is_no_certificate_has_status_2(tmp_path, capsys, text):
    path = tmp_path / "certificate.json"
    path.write_text(text)
    assert main(["verify", str(path), str(METHOD)]) == 2
    assert "cannot be compared" in capsys.readouterr().out


def submitted(folder, code):
    """Write ICEADMM with further code, and the kept certificate as if it were that of this file."""
    method, path = folder / "iceadmm.py", folder / "certificate.json"
    method.write_text(METHOD.read_text() + code)
    certificate = content.read(FOLDER / "certificate.json").model_dump(mode="json")
    certificate["method"]["sha256"] = hashlib.sha256(method.read_bytes()).hexdigest()
    certificate["settings"][0]["code"]["method"] = fingerprint.meaning(method)
    content.write(content.Certificate.model_validate(certificate).sealed(), path)
    return [str(path), str(method)]


# Code that a hostile file executes when it is imported, and why it is not taken for an equal one.
ENDS = "without complete results"
HOSTILE = {
    "ends": ("import os\nos._exit(0)\n", ENDS),
    "exits": ("import sys\nsys.exit(0)\n", ENDS),
    "prints a verdict": ("import os\nprint('equal', flush=True)\nos._exit(0)\n", ENDS),
    "prints an answer": (
        "import os\nfor n in range(3, 20):\n    try:\n"
        '        os.write(n, b\'{"label": "iceadmm, Gaussian", "settings": []}\')\n'
        "    except OSError:\n        pass\nos._exit(0)\n",
        "ended without",
    ),
    "patches": (
        "import json, math, numpy as np\nfrom admmbench.certificate import verify\n"
        "verify._close = math.isclose = np.isclose = lambda *a, **k: True\n"
        "verify.Status.DIFFERS = verify.Status.EQUAL\n"
        "json.dump = lambda content, file: file.write('[]')\n",
        ENDS,
    ),
    "opens a socket": (
        "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)\n",
        "Network is unreachable",
    ),
    "writes": (
        "from pathlib import Path\nPath(__file__).with_name('left').write_text('x')\n",
        "Read-only file system",
    ),
    "reads the certificate": (
        "from pathlib import Path\nPath(__file__).with_name('certificate.json').read_text()\n",
        "No such file or directory",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_does_not_decide(tmp_path, capfd, name):
    if why := sandbox.missing():
        pytest.skip(why)
    code, reason = HOSTILE[name]
    assert main(["verify", *submitted(tmp_path, code), "--sandbox"]) == Status.INCOMPARABLE
    assert reason in capfd.readouterr().out
    assert not (tmp_path / "left").exists()


def test_a_hostile_file_does_not_decide_without_a_sandbox(tmp_path, capfd):
    words = submitted(tmp_path, HOSTILE["ends"][0])
    assert main(["verify", *words]) == Status.INCOMPARABLE
    assert ENDS in capfd.readouterr().out


def test_a_file_that_ends_the_checks_has_not_passed_them(tmp_path):
    if why := sandbox.missing():
        pytest.skip(why)
    submitted(tmp_path, HOSTILE["ends"][0])
    command = [str(ROOT / ".ci/judge"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the checks ended early" in done.stderr


def test_a_sandbox_has_no_sockets_of_this_machine(tmp_path):
    if why := sandbox.missing():
        pytest.skip(why)
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r})"
        command = [*sandbox.within(METHOD), sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "FileNotFoundError" in done.stderr


def test_what_runs_too_long_is_killed_with_its_children(tmp_path, monkeypatch):
    if why := sandbox.missing():
        pytest.skip(why)
    monkeypatch.setattr(recompute, "SECONDS", 5)
    # A grandchild holds a lock on the method's file as long as it lives.
    code = "import fcntl, sys, time; file = open(sys.argv[1]); fcntl.flock(file, 1); time.sleep(60)"
    held = tmp_path / "held"
    held.touch()
    within = [*sandbox.within(held), "sh", "-c", f"{sys.executable} -c '{code}' {held} & sleep 60"]
    failure = recompute.in_process(recompute.Request(method="", settings=[]), within)
    assert "did not end within 5 s" in failure.text
    with held.open("w") as file:
        for _ in range(50):  # processes end a little later than they are killed
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(0.1)
    raise AssertionError("a process that was started is still there")


def test_a_sandbox_that_cannot_be_made_is_no_difference(monkeypatch, capsys):
    monkeypatch.setattr(sandbox, "missing", lambda: "")
    monkeypatch.setattr(
        sandbox, "within", lambda method: ["sh", "-c", "echo no sandbox >&2; exit 1"]
    )
    words = [str(FOLDER / "certificate.json"), str(METHOD)]
    assert main(["verify", *words, "--sandbox"]) == Status.INCOMPARABLE
    assert "without complete results: no sandbox" in capsys.readouterr().out


def test_a_second_call_takes_its_own_number_of_seeds(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("admmbench.cli.authors.run_checks", lambda name: 0)
    for n in (10, 40, 20):
        names = ["equal_privacy_digits"]
        assert competing.compete(METHOD, names, "own", tmp_path / "study", 1, True, n) == 0
        assert f"digits, ε = 2: {n} seeds show a difference" in capsys.readouterr().out
        seeds = read_yaml(tmp_path / "study/config/seeds/equal_privacy_digits.yaml")
        assert seeds == {"iceadmm, Gaussian": {2.0: n}}


def test_submissions_are_read_and_text_is_text(tmp_path):
    for name in ("iceadmm", "leaking"):
        shutil.copytree(ROOT / "leaderboard" / name, tmp_path / name)
    rows = list(board.rows(tmp_path, reference.load(["equal_privacy_digits"])))
    assert {len(row) for row in rows} == {len(board.HEADS)}
    assert sum(row[-1] == "leaderboard/iceadmm/certificate.json" for row in rows) == 1
    assert not [row for row in rows if "leaking" in row[0]]
    assert "Data leave without noise" in board.submissions(tmp_path)["leaking"][0].refused
    about = tmp_path / "iceadmm/submission.yaml"
    about.write_text("authors: [me]\nlicense: MIT\n")
    with pytest.raises(ValueError, match=r"submission.yaml: .*licen[cs]e"):
        board.submissions(tmp_path)


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["leaderboard/a/a.py", "leaderboard/a/certificate.json"], "a"),
        (["leaderboard/a/a.py", ".github/workflows/leaderboard.yml"], None),
        (["leaderboard/a/a.py", "leaderboard/b/b.py"], None),
        (["leaderboard/../src/a.py"], None),
        (["leaderboard/a/conftest.toml"], None),
    ],
)
def test_a_request_beyond_one_submission_is_not_judged(tmp_path, paths, name):
    (tmp_path / "changed").write_text("".join(f"{path}\n" for path in paths))
    command = [str(ROOT / ".ci/submission"), str(tmp_path / "changed")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip() or None) == name
    assert (done.returncode == 0) == (name is not None)


def test_the_workflow_has_no_rights():
    text = (ROOT / ".github/workflows/leaderboard.yml").read_text()
    assert "pull_request_target" not in text
    assert "secrets" not in text.replace("without secrets", "")
    assert "permissions:\n  contents: read\n" in text
    assert "--network none" in text
    assert "environment: leaderboard" in text
