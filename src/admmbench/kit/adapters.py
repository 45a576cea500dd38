"""Mechanisms from functions on arrays, and from parts of federated frameworks, none of which is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from admmbench.kit.statement import Array, Mechanism, Tensors


def from_arrays(function: Callable[..., Array]) -> Mechanism:
    """Make a mechanism of a function on one array.

    Parameters
    ----------
    function
        Called in each round as ``function(contributions, clip, noise_multiplier, rng)``, with contributions of shape
        (n, d) and a generator of NumPy; returns a sum or mean of shape (d,), or messages of shape (n, d).
    """

    def mechanism(
        contributions: Tensors, *, clip: float, noise_multiplier: float, rounds: int, seed: int
    ) -> Sequence[Tensors]:
        rng = np.random.default_rng(seed)
        n = len(next(iter(contributions.values())))
        flat = np.concatenate([values.reshape(n, -1) for values in contributions.values()], axis=1)
        ends = np.cumsum([values[0].size for values in contributions.values()])[:-1]
        releases = []
        for _ in range(rounds):
            released = np.asarray(function(flat.copy(), clip, noise_multiplier, rng))
            parts = np.split(released, ends, axis=-1)
            shapes = [released.shape[:-1] + values.shape[1:] for values in contributions.values()]
            named = zip(contributions, parts, shapes, strict=True)
            releases.append({name: part.reshape(shape) for name, part, shape in named})
        return releases

    return mechanism


def from_opacus(make: Callable[..., tuple[Any, Mapping[str, Any]]]) -> Mechanism:
    """Make a mechanism of an optimizer of Opacus, which clips and adds noise in ``pre_step``.

    Parameters
    ----------
    make
        Called as ``make(clip=..., noise_multiplier=..., seed=...)``; returns the optimizer, and its parameters by name.
        Gradients are of one batch; state its expected size as the divisor.
    """

    def mechanism(
        contributions: Tensors, *, clip: float, noise_multiplier: float, rounds: int, seed: int
    ) -> Sequence[Tensors]:
        optimizer, parameters = make(clip=clip, noise_multiplier=noise_multiplier, seed=seed)
        releases = []
        for _ in range(rounds):
            for name, parameter in parameters.items():
                parameter.grad_sample = parameter.new_tensor(contributions[name])
            optimizer.pre_step()
            releases.append({name: np.array(p.grad) for name, p in parameters.items()})
            optimizer.zero_grad()
        return releases

    return mechanism


def from_nvflare(make: Callable[..., Any]) -> Mechanism:
    """Make a mechanism of a filter of NVFlare, through which each client's update passes.

    Parameters
    ----------
    make
        Called as ``make(clip=..., noise_multiplier=..., seed=...)``; returns a filter with ``process_dxo``. Each client
        has one. State ``observer="messages"``.
    """

    def filtered(update: Tensors, make_filter: Any) -> Tensors:
        dxo = SimpleNamespace(data=dict(update), data_kind="WEIGHT_DIFF", meta={})
        dxo.get_meta_prop = dxo.meta.get
        result = make_filter.process_dxo(dxo, SimpleNamespace(), SimpleNamespace())
        return dict((dxo if result is None else result).data)

    return _by_client(make, filtered)


def from_flower(
    make: Callable[..., Any],
    pack: Callable[[Tensors], Any],
    unpack: Callable[[Any], Tensors],
) -> Mechanism:
    """Make a mechanism of a client mod of Flower, which changes what a client replies.

    Parameters
    ----------
    make
        Called as ``make(clip=..., noise_multiplier=..., seed=...)``; returns a mod, which is called with
        message, context and call_next. State ``observer="messages"``.
    pack, unpack
        Make the reply of a client from its update, by name of the parameter, and the update from a reply.
    """

    def replied(update: Tensors, mod: Any) -> Tensors:
        def call_next(message: Any, context: Any) -> Any:
            return pack(update)

        zero = {name: np.zeros_like(values) for name, values in update.items()}
        return unpack(mod(pack(zero), SimpleNamespace(), call_next))

    return _by_client(make, replied)


def _by_client(make: Callable[..., Any], send: Callable[[Tensors, Any], Tensors]) -> Mechanism:
    """Make a mechanism whose clients send for themselves, each with an object that `make` returns."""

    def mechanism(
        contributions: Tensors, *, clip: float, noise_multiplier: float, rounds: int, seed: int
    ) -> Sequence[Tensors]:
        n = len(next(iter(contributions.values())))
        seeds = np.random.SeedSequence(seed).generate_state(n).tolist()
        objects = [make(clip=clip, noise_multiplier=noise_multiplier, seed=s) for s in seeds]
        releases = []
        for _ in range(rounds):
            sent = [
                send({name: values[i].copy() for name, values in contributions.items()}, objects[i])
                for i in range(n)
            ]
            releases.append(
                {name: np.stack([message[name] for message in sent]) for name in sent[0]}
            )
        return releases

    return mechanism
