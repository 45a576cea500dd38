"""What a job asks for when it is tried again."""

import os
import re

from admmbench import scaffold
from tests.studies import SMALL, write_study
from tests.workflow import forked
from tests.workflow.project import ROOT

TUNED = [{"name": "objp", "label": "ObjP", "tune": {"params.a": {"start": 1}}}]
EXPERIMENTS = {
    "attacked": {"audit": {"repeats": 100}, "figures": [{"name": "error", "kind": "curves"}]},
    "timed": {"timed": True},
    "tuned": {"algorithms": TUNED, "tuning": {"trials": 1}},
}
# Jobs that Snakemake does itself.
LOCAL = {"define", "overview", "all", "tune", "results"}


def asked(folder, attempt, *targets):
    """Memory and time that each rule asks for in an attempt."""
    words = ["--dry-run", "--printshellcmds", "--cores", "1", "--attempt", str(attempt)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    status, shown = forked.snakemake(folder, [*words, *targets], environment)
    assert status == 0, shown
    found = {}
    for block in re.split(r"^(?=(?:local)?rule \w+:$)", shown, flags=re.MULTILINE)[1:]:
        (rule,) = re.findall(r"rule (\w+):", block)
        kind = re.sub(r"^(run|time|audit|tune|choose|figures)_.*", r"\1", rule)
        resources = dict(re.findall(r"\b(mem_mb|runtime)=(\w+)", block))
        if rule not in LOCAL:
            found[kind] = {name: int(value) for name, value in resources.items()}
    return found


def test_every_rule_asks_for_three_times_its_memory_and_time_in_a_third_attempt(tmp_path):
    folder = tmp_path / "study"
    scaffold.write_study(folder)
    rules = set()
    for target, names in {"all": ("attacked", "timed"), "tune": ("tuned",)}.items():
        write_study(folder, **{name: {**SMALL, **EXPERIMENTS[name]} for name in names})
        first, third = (asked(folder, attempt, target) for attempt in (1, 3))
        assert all(set(each) == {"mem_mb", "runtime"} for each in first.values()), first
        assert third == {
            rule: {name: 3 * value for name, value in each.items()} for rule, each in first.items()
        }
        rules |= set(first)
    assert rules == {
        *("prepare", "partition", "tune", "choose", "run", "time", "audit"),
        *("aggregate", "figures", "report"),
    }
