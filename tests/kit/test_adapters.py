"""Adapters, with stand-ins that have the interfaces of the frameworks."""

from types import SimpleNamespace

import numpy as np
import pytest

from admmbench.kit import Statement, check, from_flower, from_nvflare, from_opacus


class Parameter:
    """What an optimizer of Opacus uses of a parameter of torch."""

    def __init__(self):
        self.grad = self.grad_sample = None

    def new_tensor(self, values):
        return np.array(values, np.float32)


class Optimizer:
    """Clips and adds noise as DPOptimizer does; or each parameter by itself."""

    def __init__(self, parameters, clip, noise_multiplier, seed, flat):
        self.parameters, self.clip, self.flat = parameters, clip, flat
        self.std, self.rng = noise_multiplier * clip, np.random.default_rng(seed)

    def pre_step(self):
        squares = [
            np.square(p.grad_sample.reshape(len(p.grad_sample), -1)).sum(axis=1)
            for p in self.parameters
        ]
        for p, own in zip(self.parameters, squares, strict=True):
            norms = np.sqrt(sum(squares) if self.flat else own)
            factor = np.minimum(1, self.clip / (norms + 1e-6))
            noise = self.rng.normal(0, self.std, p.grad_sample.shape[1:])
            p.grad = (np.tensordot(factor, p.grad_sample, 1) + noise) / 10

    def zero_grad(self):
        for p in self.parameters:
            p.grad = p.grad_sample = None


@pytest.mark.parametrize("flat", [True, False])
def test_opacus(flat):
    def make(clip, noise_multiplier, seed):
        parameters = {"weight": Parameter(), "bias": Parameter()}
        return Optimizer([*parameters.values()], clip, noise_multiplier, seed, flat), parameters

    report = check(from_opacus(make), Statement(divisor=10))
    assert report.passed == flat, str(report)
    assert flat or "one contribution moves a release by the clip at most" in report.failed


def perturb(update, clip, noise_multiplier, rng, scale):
    flat = np.concatenate([values.ravel() for values in update.values()])
    factor = min(1, clip / max(np.linalg.norm(flat), 1e-12))
    std = noise_multiplier * clip * scale
    return {k: v * factor + rng.normal(0, std, v.shape) for k, v in update.items()}


@pytest.mark.parametrize("scale", [1, 0.5])
def test_nvflare(scale):
    class Filter:
        def __init__(self, clip, noise_multiplier, seed):
            self.settings = clip, noise_multiplier, np.random.default_rng(seed)

        def process_dxo(self, dxo, shareable, fl_ctx):
            dxo.data = perturb(dxo.data, *self.settings, scale)
            return dxo

    report = check(from_nvflare(Filter), Statement(observer="messages"))
    assert report.passed == (scale == 1), str(report)


@pytest.mark.parametrize("scale", [1, 0.5])
def test_flower(scale):
    def make(clip, noise_multiplier, seed):
        rng = np.random.default_rng(seed)

        def mod(message, context, call_next):
            reply = call_next(message, context)
            reply.content = perturb(reply.content, clip, noise_multiplier, rng, scale)
            return reply

        return mod

    mechanism = from_flower(
        make,
        pack=lambda update: SimpleNamespace(content=update),
        unpack=lambda reply: reply.content,
    )
    report = check(mechanism, Statement(observer="messages"))
    assert report.passed == (scale == 1), str(report)


def test_statements_that_make_no_sense_are_refused():
    for wrong, key in (
        ({"clip": 0}, "clip"),
        ({"sampling": 2}, "sampling"),
        ({"delta": 1}, "delta"),
        ({"observer": "messages", "divisor": 10}, "observer"),
    ):
        with pytest.raises(ValueError, match=f"^{key}: "):
            Statement(**wrong)
