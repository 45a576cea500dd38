"""A folder of an earlier version: what today's code computes alike stays valid, and Snakemake agrees.

``earlier.tar.xz`` was made by the code of commit e4438a3, with `admmbench study tune`, `admmbench study results` and
`admmbench keep`. It has runs of `objp`, whose traces are the same since, and of `outp`, whose steps and noise are
others since; a search; the reference results of these runs; what Snakemake recorded of them; and of the prepared data
the checksums. Its files have another kind of checksum.

``earlier_partitions.tar.xz`` was made by the code of commit ed52d2ee, which drew partitions into files. It has the same
runs on shuffled rows, and their partitions.
"""

import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
import xarray as xr

from admmbench.cli import main
from admmbench.files import netcdf
from admmbench.jobs import fingerprint
from admmbench.results import reference
from admmbench.study import config
from admmbench.watch import migration, witnesses
from tests.workflow import forked
from tests.workflow.project import ROOT, Project

OBJP, TUNED, OUTP = (
    "digits/objp-b26f3f8ca58a",
    "digits/objp-2ef0833ca58a",
    "digits/outp-594d05f2a58a",
)
OUTDATED = {f"{OUTP}/total={total}+seeds=0-0" for total in (1, 8)}


class Earlier(Project):
    """The folder, with today's code."""

    def __init__(self, folder: Path, archive: str) -> None:
        self.folder = folder
        shutil.unpack_archive(Path(__file__).with_name(archive), folder)

    def command(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", "2", *options]

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "PYTHONPATH": str(ROOT / "src")}

    def state(self) -> dict[str, tuple[int, bytes]]:
        """Times and content of all files, but Snakemake's messages."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        found = {str(path.relative_to(self.folder)): path for path in files}
        return {
            name: (path.stat().st_mtime_ns, path.read_bytes())
            for name, path in found.items()
            if not name.startswith((".snakemake/log", ".snakemake/iocache"))
        }


@pytest.fixture
def earlier(request, tmp_path, monkeypatch):
    found = Earlier(tmp_path / "study", getattr(request, "param", "earlier.tar.xz"))
    monkeypatch.chdir(found.folder)
    monkeypatch.setenv("PYTHONPATH", found.environment["PYTHONPATH"])

    def run(command, **_):
        """Call Snakemake in a process that has its imports."""
        python, option, module, *words = command
        assert (python, option, module) == (sys.executable, "-m", "snakemake")
        status, shown = forked.snakemake(found.folder, words, found.environment)
        return subprocess.CompletedProcess(command, status, shown, shown)

    monkeypatch.setattr(migration, "subprocess", SimpleNamespace(run=run))
    return found


REFERENCE = Path("reference/small.nc")


def run_file(folder, total):
    return Path(f"results/runs/{folder}/total={total}+seeds=0-0.nc")


def kill(*_):
    raise KeyboardInterrupt


def test_what_is_computed_alike_is_not_run_again(earlier, capsys):
    """Also if the first call was killed between the files and Snakemake's records."""
    before = earlier.state()
    assert main(["migrate", "--dry-run"]) == 0
    assert earlier.state() == before
    shown = capsys.readouterr().out
    assert "6 unchanged, 3 outdated; nothing was changed" in shown
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migration, "_record", kill)
        assert main(["migrate"]) != 0
    assert main(["migrate", str(earlier.folder)]) == 0
    assert "5 up to date, 1 unchanged, 3 outdated; what is" in capsys.readouterr().out

    assert earlier.planned() == OUTDATED
    others = earlier.planned_jobs("tune")
    assert not {job for job in others if "tune_" in job or "choose" in job or job == "prepare"}
    study = config.read()
    for run in study.experiments["small"].runs:
        file = study.runs_folder("small") / run.path
        if run.label == "OutP":
            assert earlier.state()[str(file)] == before[str(file)]
        else:
            assert netcdf.read(file).attrs["fingerprint"] == fingerprint.of_run(run.spec)
    (search,) = study.experiments["searched"].searches.values()
    assert study.experiments["searched"].chosen["ObjP"][8.0].code == fingerprint.of_run(search.spec)

    codes = [fingerprint.of_run(run.spec) for run in study.experiments["small"].runs[::2]]
    kept = xr.load_dataset(REFERENCE)
    former = xr.load_dataset(BytesIO(before[str(REFERENCE)][1]))
    former_codes = former["fingerprint"].values.tolist()
    kept_codes = [codes[0], former_codes[1]]
    assert kept["fingerprint"].values.tolist() == kept_codes
    assert not {*codes} & {*former_codes}
    xr.testing.assert_identical(kept.drop_vars("fingerprint"), former.drop_vars("fingerprint"))
    assert reference.read(REFERENCE)["fingerprint"].values.tolist() == kept_codes

    after = earlier.state()
    assert main(["migrate"]) == 0
    assert "6 up to date, 3 outdated" in capsys.readouterr().out
    assert earlier.state() == after
    # What follows from the runs is cheap, and the study ends with it.
    earlier.run("results")
    assert earlier.planned_jobs("results") == set()
    assert earlier.state()[str(run_file(OBJP, 8))] == after[str(run_file(OBJP, 8))]
    assert earlier.state()[str(run_file(TUNED, 8))] == after[str(run_file(TUNED, 8))]


def test_a_tampered_trace_is_refused_and_numbers_of_other_code_stay_outdated(earlier, capsys):
    """The latter also where their checksum is right, as it is of their own; it is the only file of its budget."""
    other = run_file(OBJP, 1)
    found = migration.read(other)
    found["train_loss"][..., -1] += 1e-3
    netcdf.write(found, other)
    path = run_file(TUNED, 8)
    found = xr.load_dataset(path, engine="h5netcdf")
    found["test_error"][..., -1] = 0
    path.write_bytes(found.to_netcdf(engine="h5netcdf"))
    tampered = path.read_bytes()
    assert main(["migrate"]) == 1
    shown = capsys.readouterr().out
    assert f"{path}: incomplete, altered or of an earlier version" in shown
    assert "3 unchanged, 5 outdated, 1 damaged" in shown
    assert path.read_bytes() == tampered
    assert earlier.planned() == OUTDATED | {
        f"{TUNED}/total=8+seeds=0-0",
        *(f"{OBJP}/total={total}+seeds=0-0" for total in (1, 8)),
    }


def test_other_data_make_all_runs_on_them_again(earlier):
    path = Path("resources/datasets/digits/dataset.json")
    path.write_text(path.read_text().replace('"X_train": "', '"X_train": "0'))
    runs = {name: each for name, each in earlier.state().items() if "/runs/" in name}
    assert main(["migrate"]) == 0
    assert earlier.state().items() >= runs.items()
    assert len(earlier.planned()) == 5


def test_what_was_not_checked_stays_as_it_is(earlier, capsys, monkeypatch):
    before = run_file(OBJP, 8).read_bytes()
    clock = iter(range(0, 10_000, 100))
    monkeypatch.setattr(witnesses.time, "monotonic", lambda: next(clock))
    assert main(["migrate", "--most", "50"]) == 0
    assert "8 not checked" in capsys.readouterr().out
    assert run_file(OBJP, 8).read_bytes() == before


@pytest.mark.parametrize("earlier", ["earlier_partitions.tar.xz"], indirect=True)
def test_partitions_stay_with_the_runs_that_read_them(earlier, capsys):
    """Also beside runs of other code, which read the same file."""
    partitions = Path("resources/partitions/digits/iid-27a30eb4+seeds=0-9.nc")
    outp, before = "digits/outp-035ebbf8a58a", partitions.read_bytes()
    for total in (1, 8):
        found = migration.read(run_file(outp, total))
        found["train_loss"][..., -1] += 1e-3
        netcdf.write(found, run_file(outp, total))
    assert main(["migrate"]) == 0
    assert "3 unchanged, 2 outdated" in capsys.readouterr().out
    assert partitions.read_bytes() == before
    jobs = earlier.planned_jobs("results")
    assert "partition" not in jobs
    assert {job for job in jobs if "/" in job} == {
        f"{outp}/total={total}+seeds=0-0" for total in (1, 8)
    }
