"""Every total that the documentation prints, composed again, by ledgers that other tests compare with the papers."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from admmbench.privacy import Gaussian, Laplace, Pure
from admmbench.privacy import gaussian_multiplier as classical
from tests.privacy.ledgers import ledger_of

DOCS = Path(__file__).parents[2] / "docs"
ENTRIES = 2 * 784


def laplace(shift, count, delta):
    """Of so many releases whose worst record shifts ENTRIES entries equally, ``shift`` scales in all."""
    cost = Laplace(shift, shift / math.sqrt(ENTRIES), shift / ENTRIES)
    return ledger_of((cost, count)).epsilon(delta, "rdp")


def gaussian(squares, delta, accountant="rdp"):
    """Of normal noise, from the sum of the squared shifts over standard deviations."""
    return ledger_of(Gaussian(squares**-0.5)).epsilon(delta, accountant)


def pure(epsilon, count, delta):
    """Of any pure releases."""
    return ledger_of((Pure(epsilon), count)).epsilon(delta, "rdp")


def rows(heading, page="privacy/totals.md"):
    """Numbers of a table, by its first line."""
    lines = (DOCS / page).read_text().splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(heading)) + 2
    for line in lines[start:]:
        if not line.startswith("|"):
            return
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        yield [[_number(each) for each in cell.split(r"\|")] for cell in cells]


def _number(text):
    text = text.strip().strip("*")
    return float(text.replace(",", "")) if re.fullmatch(r"[\d.,]+", text) else text


def close(printed):
    """As printed, with three digits."""
    return pytest.approx(printed, rel=6e-3)


def test_totals_on_mnist():
    found = list(rows("| epsilon | claimed | ObjP, ObjT |"))
    assert len(found) == 4
    for (epsilon,), _, objp, objpm, outp in found:
        for k, times in enumerate((1, 2)):
            assert laplace(times * epsilon, 20_000, 1e-6) == close(objp[k])
            assert laplace(times * epsilon, 200_000, 1e-6) == close(objpm[k])
            squares = 20_000 * (times / 2 / classical(epsilon, 1e-6)) ** 2
            assert gaussian(squares, 1e-6) == close(outp[k])


def test_totals_on_adult():
    found = list(rows("| epsilon | claimed | DP-ADMM, PVP, DPSGD |"))
    assert len(found) == 4
    for (epsilon,), _, dp_admm, moments, dvp in found:
        for k, times in enumerate((1, 2)):
            squares = 100 * (times / 2 / classical(epsilon, 1e-3)) ** 2
            assert gaussian(squares, 1e-3) == close(dp_admm[k])
            assert gaussian(squares, 1e-3, "huang2019") == close(moments[k])
            assert pure(times * epsilon / 2, 100, 1e-3) == close(dvp[k])


def test_totals_of_the_code_of_outp():
    """20,001 rounds, with rho of ryu2022 for MNIST and the constants of the code."""
    found = list(rows("| epsilon | multiplier of the Gaussian mechanism |", "privacy/special.md"))
    assert len(found) == 5
    t, m, size, delta = np.arange(1, 20_002), 6000, 7840, 1e-6
    for (epsilon,), (usual,), (first,), (last,), (replaced,), (zeroed,) in found:
        rho = 2 * 1.2 ** (t // 10_000) + 5 / epsilon
        growth = 4 * np.sqrt(size * t * math.log(1.25 / delta)) / (epsilon * math.sqrt(4 * size))
        stiffness = rho + m / 4 + growth
        std = (2 / stiffness * classical(epsilon, delta)) ** 2
        shift = 2 * math.sqrt(2) * 28 / (m * stiffness)
        multiplier = std / shift
        assert classical(epsilon, delta) == close(usual)
        assert multiplier[0] == close(first)
        assert multiplier[-1] == close(last)
        assert gaussian((multiplier**-2).sum(), delta) == close(replaced)
        assert gaussian((multiplier**-2).sum() / 4, delta) == close(zeroed)


def test_totals_of_findings():
    found = list(rows("| ε of an update |", "findings.md"))
    assert len(found) == 2
    for (epsilon,), (objp,), _, (objpm,), (outp,) in found:
        assert laplace(epsilon, 20_000, 1e-6) == pytest.approx(objp, rel=0.02)
        assert laplace(epsilon, 200_000, 1e-6) == pytest.approx(objpm, rel=0.02)
        squares = 20_000 * (0.5 / classical(epsilon, 1e-6)) ** 2
        assert gaussian(squares, 1e-6) == pytest.approx(outp, rel=0.02)
    findings = (DOCS / "findings.md").read_text()
    (line,) = (line for line in findings.splitlines() if line.startswith("| composed ε"))
    pairs = re.findall(r"([\d.]+) \(([\d.]+)\)", line)
    for epsilon, (dp_admm, dvp) in zip((0.01, 0.05, 0.1, 0.2), pairs, strict=True):
        squares = 100 / classical(epsilon, 1e-3) ** 2
        assert gaussian(squares, 1e-3) == pytest.approx(float(dp_admm), rel=0.04)
        assert pure(epsilon, 100, 1e-3) == pytest.approx(float(dvp), rel=0.04)


def test_totals_of_attacked_rounds():
    """One round of MNIST and a9a, three of Adult; a title holds for the lines below it."""

    def one_gaussian(epsilon, delta, count=1, part=0.5):
        return gaussian(count * (part / classical(epsilon, delta)) ** 2, delta)

    expected = {
        "MNIST: ObjP, ObjT": lambda e: laplace(e, 1, 1e-6),
        "MNIST: ObjPM": lambda e: laplace(e, 10, 1e-6),
        "MNIST: OutP, printed equations": lambda e: one_gaussian(e, 1e-6),
        "Adult: DP-ADMM, PVP, DPSGD": lambda e: one_gaussian(e, 1e-3, 3),
        "Adult: DVP": lambda e: pure(e / 2, 3, 1e-3),
        "a9a: DP-ADMM sharing": lambda e: one_gaussian(e, 1e-5, part=1),
    }
    seen, title = set(), ""
    for (name,), (epsilon,), _, (composed,), *_ in rows("| setting | ε | attacked", "findings.md"):
        title = name or title
        seen.add(title)
        if title in expected:
            assert expected[title](epsilon) == pytest.approx(composed, rel=0.02)
    assert seen - {"MNIST: OutP, the authors' code"} == set(expected)
