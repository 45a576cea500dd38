"""Make the runs that reference results lack, in calls of some minutes, such as on a lent GPU.

    python performance/fill.py ryu2021_mnist ryu2022_mnist --device cuda --dry-run
    python performance/fill.py ryu2021_mnist ryu2022_mnist --device cuda --minutes 9 --output filled

Experiments are filled in this order. The output folder goes from call to call: it has finished runs, checkpoints of
others, and in ``pieces/`` the results that ``admmbench keep`` takes. Of each method that gets further runs, a kept seed
is run again and compared. The status is 1 if a run failed, or differs from what is kept by more than rounding.
"""

import argparse
import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.engine.devices import CPU, chosen
from admmbench.files import netcdf
from admmbench.files.core_yaml import parse_words
from admmbench.forecast.cost import estimate, state_bytes
from admmbench.forecast.plan import core_seconds
from admmbench.forecast.timing import Speeds
from admmbench.jobs import interrupts
from admmbench.results import reference
from admmbench.results.file_differences import contrast
from admmbench.study import aggregate
from admmbench.study.address import LOG
from admmbench.study.config import CONFIG, Study, combine, load
from admmbench.study.experiment import Experiment
from admmbench.study.runs import Run, blocks

# Shares of the minutes after which runs are told to stop, and after which those that did not are killed.
STOP, KILL = 0.95, 0.98
Kept = set[tuple[str, float, int]]
"""Label, budget and seed of each run that is kept."""


class Job(NamedTuple):
    """Run that is missing, or of a kept seed to compare with it."""

    experiment: str
    run: Run
    is_check: bool
    device: str
    threads: int
    seconds: float
    """Forecast of a core, or of a device that jobs share."""
    wall: float
    """Forecast of the seconds that pass, beside other jobs."""
    checkpoint_bytes: int
    folder: Path

    @property
    def title(self) -> str:
        """Name the run for users."""
        spec = self.run.spec
        seeds = f"seeds {spec.seeds[0]}-{spec.seeds[-1]}{', to compare' if self.is_check else ''}"
        return f"{self.experiment}: {self.run.label}, ε = {spec.stated_budget:g}, {seeds}"

    @property
    def trace(self) -> xr.Dataset | None:
        """Return the result; None if it is missing, damaged, or of other code."""
        try:
            return aggregate.read(self.folder / self.run.path, self.run)
        except netcdf.StaleResultError:
            return None

    def start(self) -> subprocess.Popen[bytes]:
        """Start the run, which goes on from its checkpoint."""
        log = self.folder / self.run.file(LOG)
        log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "admmbench", "run", *self.run.spec.arguments()]
        command += ["--output", f"{self.folder / self.run.path}", "--threads", f"{self.threads}"]
        command += ["--checkpoint", f"{self.folder / self.run.checkpoint}", "--device", self.device]
        with log.open("wb") as file:
            return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)


def kept_runs(experiment: Experiment, results: xr.Dataset | None) -> Kept:
    """Return the runs that are kept; none if the kept ones are of another scale, so that none can be added."""
    if results is None:
        return set()
    stated = {
        "dataset_settings": experiment.runs[0].spec.info.settings,
        "partition": experiment.partition,
        "evaluate_every": experiment.evaluate_every,
    }
    kept = {name: json.loads(str(results.attrs.get(name, "null"))) for name in stated}
    rounds = {(run.label, run.spec.stated_budget): run.spec.rounds for run in experiment.runs}
    started = (results["status"] != Outcome.NOT_RUN).stack(run=("algorithm", "epsilon", "seed"))
    runs = {*started["run"].values[started.values].tolist()}
    same = kept == json.loads(json.dumps(stated)) and all(
        rounds.get((label, budget), there) == there
        for label, budget, _ in runs
        for there in [results["rounds"].sel(algorithm=label, epsilon=budget)]
    )
    return runs if same else set()


def missing_runs(experiment: Experiment, kept: Kept) -> Iterator[tuple[Run, bool]]:
    """Yield the runs that are not kept, and before those of a kept method one of its seeds to compare."""
    first_kept = {label: (budget, seed) for label, budget, seed in sorted(kept, reverse=True)}
    spec_at = {(run.label, run.spec.stated_budget): run.spec for run in experiment.runs}
    for run in experiment.runs:
        label, seeds = run.label, run.spec.seeds
        lacking = [seed for seed in seeds if (label, run.spec.stated_budget, seed) not in kept]
        if lacking and label in first_kept:
            budget, seed = first_kept.pop(label)
            if spec := spec_at.get((label, budget)):
                yield Run(label, spec.model_copy(update={"seeds": (seed,)})), True
        for part in [seeds] if len(lacking) == len(seeds) else blocks(lacking, len(seeds)):
            yield Run(label, run.spec.model_copy(update={"seeds": part})), False


def jobs_of(
    study: Study, references: dict[str, xr.Dataset], options: argparse.Namespace
) -> list[Job]:
    """Return all jobs in their order, with forecasts."""
    speeds = Speeds(study)
    speeds.measure(lambda *_: None)
    jobs = []
    for name, experiment in study.experiments.items():
        if experiment.timed or experiment.mirrored or experiment.untuned:
            raise ValueError(f"{name}: `admmbench study` makes timed, mirrored and untuned runs")
        kept = kept_runs(experiment, references.get(name))
        for run, is_check in missing_runs(experiment, kept):
            device = chosen(run.spec, study.config.device)
            threads = estimate(run.spec, study.config.threads, device).threads
            seconds = core_seconds(run.spec, threads, speeds.machine(run.spec), device)
            wall = seconds / threads if device == CPU else seconds * options.together
            costs = seconds, wall, state_bytes(run.spec)
            jobs.append(Job(name, run, is_check, device, threads, *costs, options.output / "runs"))
    return jobs


def work(jobs: Sequence[Job], begun: float, options: argparse.Namespace) -> bool:
    """Make runs until the minutes have passed, and return whether none failed."""
    queue, most, is_told, none_failed = [*jobs], 1e6 * options.most_mb, False, True
    # By path, as experiments share runs.
    running = dict[str, tuple[Job, subprocess.Popen[bytes], float]]()
    received: list[int] = []

    def left(share: float) -> float:
        return begun + 60 * share * float(options.minutes) - time.monotonic()

    signals = signal.SIGTERM, *interrupts.SIGNALS
    with interrupts.handled(lambda number, _: received.append(number), signals):
        while queue or running:
            stops = bool(received) or left(STOP) <= 0
            for _, process, _ in running.values():
                if left(KILL) <= 0:
                    process.kill()
                elif stops and not is_told:
                    process.terminate()
            is_told = stops
            # What has too large a checkpoint begins only where it is expected to end in this call.
            fit = [j for j in queue if j.wall <= left(STOP) or j.checkpoint_bytes <= most]
            queue = [] if stops else fit
            while queue and len(running) < options.together:
                job = queue.pop(0)
                if job.run.path not in running and job.trace is None:
                    running[job.run.path] = job, job.start(), time.monotonic()
            time.sleep(0.05)
            for path, (job, process, since) in [*running.items()]:
                if process.poll() is None:
                    continue
                del running[path]
                ended = "stopped" if stops else "failed"
                ended = "finished" if process.returncode == 0 else ended
                times = f"{time.monotonic() - since:.1f} s, forecast {job.wall:.1f} s"
                print(f"{ended} after {times}: {job.title}", flush=True)
                if ended == "failed":
                    none_failed = False
                    print(f"  see {job.folder / job.run.file(LOG)}")
    return none_failed


def show(jobs: Sequence[Job], options: argparse.Namespace) -> None:
    """Print the runs that are missing, each with its forecast, and their sums."""
    first = {job.run.path: job for job in reversed(jobs)}
    missing = [job for job in jobs if first[job.run.path] is job and job.trace is None]
    most = 1e6 * options.most_mb
    for job in missing:
        remark, saved = "", job.folder / job.run.checkpoint
        if saved.exists():
            remark = f" (goes on from a checkpoint of {saved.stat().st_size / 1e6:.1f} MB)"
        elif job.wall > 60 * STOP * options.minutes and job.checkpoint_bytes > most:
            size = f"{job.checkpoint_bytes / 1e6:.3g} MB"
            remark = f" (too long beside others, and its checkpoint of {size} too large)"
        print(f"{job.seconds / 3600:9.4f} h  {job.title}{remark}")
    for device in sorted({job.device for job in missing}):
        hours = sum(job.seconds for job in missing if job.device == device) / 3600
        print(f"{hours:9.4f} h  of {'cores' if device == CPU else device}")
    print(f"{len(missing)} runs are missing")


def pieces(
    name: str, experiment: Experiment, traces: list[tuple[Run, xr.Dataset]], most: float
) -> list[xr.Dataset]:
    """Join runs to results whose files have at most so many bytes each; one run may have more."""
    joined = aggregate.join_runs(name, experiment, traces)
    if len(traces) == 1 or len(netcdf.content(joined)) <= most:
        return [joined]
    halves = traces[: len(traces) // 2], traces[len(traces) // 2 :]
    return [piece for half in halves for piece in pieces(name, experiment, half, most)]


def write_pieces(
    study: Study,
    jobs: Sequence[Job],
    references: dict[str, xr.Dataset],
    options: argparse.Namespace,
) -> bool:
    """Write what is finished as results, and return whether all kept seeds agree."""
    agree, folder = True, options.output / "pieces"
    shutil.rmtree(folder, ignore_errors=True)
    made_by = shlex.quote(shlex.join(["python", *sys.argv]))
    for name, experiment in study.experiments.items():
        new = []
        for job in jobs:
            if job.experiment != name or (trace := job.trace) is None:
                continue
            if not job.is_check:
                new.append((job.run, trace))
                continue
            again = aggregate.join_runs(name, experiment, [(job.run, trace)])
            found = contrast(references[name], again)
            row = found.sel(algorithm=job.run.label, epsilon=job.run.spec.stated_budget)
            print(f"{row['state'].item()}, by {row['largest'].item():.2g}: {job.title}")
            agree &= row["state"].item() in ("identical", "rounding")
        replaces = name in references and not kept_runs(experiment, references[name])
        parts = pieces(name, experiment, new, 0.99e6 * options.most_mb) if new else []
        for number, part in enumerate(parts, 1):
            netcdf.write(part, path := folder / name / f"{number}.nc")
            add = "  # replaces another scale" if replaces and number == 1 else " --add"
            print(f"admmbench keep {shlex.quote(str(path))} --made-by {made_by}{add}")
    return agree


def main() -> int:
    begun = time.monotonic()
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("experiment", nargs="+")
    parser.add_argument("--output", type=Path, default=Path("filled"))
    parser.add_argument("--minutes", type=float, default=9.0, help="of the whole call")
    parser.add_argument("--device", default=CPU)
    parser.add_argument("--together", type=int, help="runs at a time: 1, or 4 on a device")
    parser.add_argument("--most-mb", type=float, default=14.0, help="of a piece or a checkpoint")
    parser.add_argument("--config", nargs="+", default=[], metavar="KEY=VALUE")
    parser.add_argument("--dry-run", action="store_true", help="list what is missing")
    options = parser.parse_args()
    options.together = options.together or (1 if options.device == CPU else 4)
    try:
        stated = combine([*filter(Path.exists, [CONFIG])], parse_words(options.config))
        stated |= {"experiments": options.experiment, "device": options.device}
        study = load(stated)
        study = study.without(study.missing_files)
        references = reference.load(study.experiments)
        jobs = jobs_of(study, references, options)
    except ValueError as error:
        parser.error(str(error))
    show(jobs, options)
    if options.dry_run:
        return 0
    none_failed = work(jobs, begun, options)
    agree = write_pieces(study, jobs, references, options)
    show(jobs, options)
    return int(not (none_failed and agree))


if __name__ == "__main__":
    sys.exit(main())
