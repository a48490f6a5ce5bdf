"""Planted networks."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import Floats, as_rows
from ._network import Network
from ._options import seed_of
from ._program import ask
from ._progress import Progress, progress_callback
from ._safetensors import read_tensors
from ._samples import is_path
from ._words import counted


class Thresholds(NamedTuple):
    """The lowest layer behind samples of `generate(model="threshold")`."""

    W: Floats
    """Directions, k x d, unit rows."""
    t: Floats
    """Thresholds, k."""

    def __repr__(self) -> str:
        return f"<exhume.Thresholds: {counted(len(self.t), 'unit')} of {counted(self.W.shape[1], 'input')}>"


class Planted(NamedTuple):
    """Samples and the network they come from (see `generate`)."""

    x: Floats
    """Inputs, n x d."""
    y: Floats
    """Outputs, n x m."""
    network: Any
    """The network behind them: a `Network`, `Thresholds`, or None for a formula."""

    def __repr__(self) -> str:
        return f"<exhume.Planted: {counted(len(self.x), 'row')} of {self.network!r}>"


def generate(
    inputs: int | None = None,
    hidden: int | None = None,
    outputs: int | None = None,
    samples: int = 10000,
    *,
    network: Any = None,
    layers: Sequence[int] | None = None,
    bias: float | None = None,
    bias_at: str = "mean",
    amplitudes: str = "normal",
    orthonormal: bool = False,
    weights_condition: float | None = None,
    amplitudes_condition: float | None = None,
    perturb_weights: float | None = None,
    leak: float | None = None,
    distribution: str = "gaussian",
    rows: Any = None,
    perturb_inputs: float | None = None,
    perturb: float | None = None,
    mean: float = 0.0,
    condition: float = 1.0,
    noise: float = 0.0,
    noise_relative: float = 0.0,
    cnf: str | os.PathLike[str] | None = None,
    model: str = "network",
    activation: str | None = None,
    threshold: float | None = None,
    threshold_spread: float | None = None,
    least_angle: float | None = None,
    upper: str | None = None,
    flips: float | None = None,
    biased: bool = False,
    seed: int = 0,
    threads: int = 0,
    progress: Progress = None,
) -> Planted:
    """Samples of a random network, or of a given one: the same numbers as `exhume generate` on the command line.

    Parameters
    ----------
    inputs, hidden, outputs : int
        Sizes of the random network; left out where `network` is given.
    samples : int
        Number of rows.
    network : Network or path, optional
        Sample this one.
    layers : sequence of ints
        Units of several hidden layers, instead of `hidden`.
    bias : float
        Biases are uniform in [-bias, bias], 0.5 without it, measured at the inputs' mean, or at the origin with
        `bias_at="origin"`; with `layers`, `bias` times a normal.
    amplitudes : "normal" or "signs"
        Entries of A: standard normal, or of size in [0.5, 1.5] with a random sign.
    orthonormal : bool
        W and A orthonormal instead of random; `weights_condition` and `amplitudes_condition` are their condition numbers.
    perturb_weights : float
        Adds that many times a standard normal to every entry of W.
    leak : float
        Slope of the units below zero.
    distribution : str
        Of the inputs: "gaussian", "mixture", "random-mixture", "cube", "laplace", "t5", "exponential", or "rows".
    rows : array or path
        Rows of data for the distribution "rows", each drawn with a random sign.
    perturb_inputs : float
        Replaces a row with this probability by Q z, Q a random square matrix.
    perturb : float
        Moves every weight by N(0, perturb^2 / d) first; rows stay of unit norm.
    mean, condition : float
        Mean of every input; condition number of the inputs' covariance.
    noise, noise_relative : float
        Standard deviation of the noise on the outputs, and the same as a multiple of the outputs' own.
    cnf : path
        Instead of samples of a network: the instance of this 6-CNF (DIMACS), as hard as the formula.
    model : "network" or "threshold"
        "threshold": a first layer with thresholds under something else, described by `activation`, `threshold`,
        `threshold_spread`, `least_angle`, `upper`, `flips` and `biased` (see `exhume help generate`).
    seed : int
        Of all random numbers. Rows depend on the seed and their number alone.
    threads : int
        Worker threads, 0 for one a core. Has no influence on the numbers.
    progress : callable, True or None
        See `recover`.
    """
    if bias_at not in ("mean", "origin"):
        raise ValueError(f"bias_at is {bias_at!r}, expected 'mean' or 'origin'")
    rare: dict[str, Any] = {
        "orthonormal": orthonormal,
        "weights_condition": weights_condition,
        "amplitudes_condition": amplitudes_condition,
        "perturb_weights": perturb_weights,
        "leak": leak,
        "perturb_inputs": perturb_inputs,
        "perturb": perturb,
        "cnf": cnf,
        "model": None if model == "network" else model,
        "activation": activation,
        "threshold": threshold,
        "threshold_spread": threshold_spread,
        "least_angle": least_angle,
        "upper": upper,
        "flips": flips,
        "biased": biased,
        "layers": None if layers is None else ",".join(map(str, layers)),
        "rows": rows,
    }
    if any(value is not None and value is not False for value in rare.values()) or not isinstance(network, Network | None):
        common = {"inputs": inputs, "hidden": hidden, "outputs": outputs, "bias": bias, "network": network, "noise": noise}
        common |= {"mean": mean, "condition": condition, "noise_relative": noise_relative, "samples": samples}
        kept = {"bias_at": bias_at, "amplitudes": amplitudes, "distribution": distribution}
        usual = {"bias_at": "mean", "amplitudes": "normal", "distribution": "gaussian"}
        common |= {name: value for name, value in kept.items() if value != usual[name]}
        return _by_program({**common, **rare, "seed": seed_of(seed), "threads": threads})
    if network is None:
        if inputs is None or hidden is None or outputs is None:
            raise ValueError("inputs, hidden and outputs are required unless a network is given")
        centre = mean if bias_at == "mean" else 0.0
        core = _core.plant(inputs, hidden, outputs, 0.5 if bias is None else bias, centre, amplitudes, seed_of(seed))
        network = Network._wrap(core)
    elif inputs is not None or hidden is not None or outputs is not None:
        raise ValueError("inputs, hidden and outputs are about random networks and do not go with network")
    with progress_callback(progress) as callback:
        x, y = _core.sample(
            network._core,
            samples,
            distribution,
            mean,
            condition,
            noise,
            noise_relative,
            seed_of(seed),
            threads,
            callback,
        )
    return Planted(x, y, network)


def _by_program(options: dict[str, Any]) -> Planted:
    """What is asked for seldom is made by the command line."""
    with tempfile.TemporaryDirectory(prefix="exhume-") as name:
        folder = pathlib.Path(name)
        if isinstance(options["network"], Network):
            options["network"].save(folder / "given.safetensors")
            options["network"] = folder / "given.safetensors"
        if options["rows"] is not None and not is_path(options["rows"]):
            np.save(folder / "rows.npy", as_rows(options["rows"], "rows"))
            options["rows"] = folder / "rows.npy"
        if options["cnf"] is not None:
            options = {name: options[name] for name in ("cnf", "seed", "threads")}
        # Nothing but what differs from the default: options that do not go together are refused.
        usual = {"mean": 0.0, "condition": 1.0, "noise": 0.0, "noise_relative": 0.0}
        ask("generate", out=folder / "made", **{key: value for key, value in options.items() if value != usual.get(key)})
        made = folder / "made"
        return Planted(np.load(made / "x.npy"), np.load(made / "y.npy"), _truth(made))


def _truth(folder: pathlib.Path) -> Network | Thresholds | None:
    """The network that was written beside the samples."""
    if (folder / "units.safetensors").exists():
        arrays, _ = read_tensors(folder / "units.safetensors")
        return Thresholds(arrays["W"], arrays["t"])
    path = folder / "network.safetensors"
    return Network.load(path) if path.exists() else None
