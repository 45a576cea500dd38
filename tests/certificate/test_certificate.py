"""A certificate that was changed in any field is not taken for the one that was issued."""

import functools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from admmbench.certificate import board, content, sandbox, verify
from admmbench.certificate.verify import Status
from admmbench.cli import main
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

    return {"run_spec": once(verify.run_spec, "run"), "audit": once(verify.audit, "audit")}


@pytest.fixture
def certificate(monkeypatch, cached):
    """The kept certificate as content of JSON, as if the code of today had issued it here."""
    for name, function in cached.items():
        monkeypatch.setattr(verify, name, function)
    certificate = content.read(FOLDER / "certificate.json").model_dump(mode="json")
    checked = content.Certificate.model_validate(certificate).settings[0]
    run = {**checked.run, "algorithm": str(METHOD), "seeds": [0]}
    certificate["settings"][0]["code"] = fingerprint.parts(verify.RunSpec.model_validate(run))
    certificate["versions"] = {**provenance.versions()}
    return certificate


def found(certificate, *, seal=True, method=METHOD):
    """Worst status and all sentences of a verification."""
    checked = content.Certificate.model_validate(certificate)
    lines = list(verify.verify(checked.sealed() if seal else checked, method, seed=1))
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


def test_values_that_are_consistent_but_made_up_are_computed_again(certificate):
    setting = certificate["settings"][0]
    setting["values"] = [value - 0.05 for value in setting["values"]]
    setting["mean"] = content.mean(setting["values"]).model_dump()
    rivals = reference.load([setting["experiment"]])
    checked = content.Certificate.model_validate(certificate)
    label = checked.method.label
    comparison = verify.compare(
        [verify.with_values(rivals[setting["experiment"]], label, checked.settings)]
    )
    versus = verify.versus(label, setting["experiment"], 2.0, comparison)
    setting["versus"] = versus.model_dump(mode="json")
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
        ("method", {"label": "other"}, "method.label"),
        ("method", {"sha256": "0" * 64}, "method.sha256"),
    ],
)
def test_a_changed_head_is_named(certificate, key, value, message):
    certificate[key] = {**certificate[key], **value} if isinstance(value, dict) else value
    status, text = found(certificate)
    assert status == Status.DIFFERS
    assert message in text


@pytest.mark.parametrize("key", ["made", "machine", "not_checked", "versions", "arithmetic"])
def test_what_nothing_follows_from_breaks_the_seal(certificate, key):
    certificate = json.loads(
        content.Certificate.model_validate(certificate).sealed().model_dump_json()
    )
    other = {"made": "2020-01-01", "not_checked": [], "versions": {"numpy": "1.0"}}
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
    assert "versions.numpy: 1.0 there" in text
    assert "up to 3 test records" in text


def test_other_kept_results_of_rivals_cannot_be_compared(certificate):
    certificate["settings"][0]["reference"] = "0" * 64
    status, text = found(certificate)
    assert status == Status.INCOMPARABLE
    assert "kept results of equal_privacy_digits are others here" in text


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


OPENS = "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)\n"
WRITES = "from pathlib import Path\nPath(__file__).with_name('left').write_text('x')\n"


@pytest.mark.parametrize(
    ("code", "reason"), [(OPENS, "Network is unreachable"), (WRITES, "Read-only file system")]
)
def test_a_sandbox_has_no_network_and_no_files(tmp_path, capfd, code, reason):
    if why := sandbox.missing():
        pytest.skip(why)
    method = tmp_path / "iceadmm.py"
    method.write_text(METHOD.read_text() + code)
    certificate = content.read(FOLDER / "certificate.json")
    digest = content.hashlib.sha256(method.read_bytes()).hexdigest()
    named = certificate.method.model_copy(update={"sha256": digest})
    certificate = certificate.model_copy(update={"method": named}).sealed()
    content.write(certificate, tmp_path / "certificate.json")
    words = [str(tmp_path / "certificate.json"), str(method), "--sandbox"]
    assert main(["verify", *words]) != 0
    assert reason in capfd.readouterr().out
    assert not (tmp_path / "left").exists()


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
