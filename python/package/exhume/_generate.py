"""Planted networks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _core
from ._arrays import Floats, as_rows
from ._network import Network
from ._options import seed_of
from ._progress import Progress, progress_callback
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
    bias_at: str | None = None,
    amplitudes: str | None = None,
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
    """Samples of a random network, or of a given one: the same numbers as `exhume generate` gives.

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
        Biases are uniform in [-bias, bias] (default 0.5), at the inputs' mean, or at the origin with
        `bias_at="origin"`; with `layers`, normal of standard deviation `bias`.
    amplitudes : "normal" or "signs"
        Entries of A: standard normal (default), or of size in [0.5, 1.5] with a random sign.
    orthonormal : bool
        W and A orthonormal instead of random; `weights_condition` and `amplitudes_condition` are their
        condition numbers.
    perturb_weights : float
        Adds that many times a standard normal to every entry of W.
    leak : float
        Slope below zero, of leaky ReLUs.
    activation : str
        Activation of the hidden units: "relu" (default), "tanh", "sigmoid", "gelu", "silu", "softplus",
        "elu", "erf" and others; of the layer with `model="threshold"`.
    distribution : str
        Of the inputs: "gaussian", "mixture", "random-mixture", "cube", "laplace", "t5", "exponential", or
        "rows".
    rows : array or path
        Rows of data for the distribution "rows", each drawn with a random sign.
    perturb_inputs : float
        Replaces a row, with this probability, by Q z: Q a random matrix, z standard normal.
    perturb : float
        Adds N(0, perturb^2 / d) to every weight, then scales rows to unit norm.
    mean, condition : float
        Mean of every input; condition number of the inputs' covariance.
    noise, noise_relative : float
        Standard deviation of the noise on the outputs, and the same as a multiple of the outputs' own.
    cnf : path
        Instead of samples of a network: the instance of this 6-CNF (DIMACS), as hard as the formula.
    model : "network" or "threshold"
        "threshold": a first layer with high thresholds below others, described by `activation`,
        `threshold`, `threshold_spread`, `least_angle`, `upper`, `flips` and `biased` (see `exhume help
        generate`).
    seed : int
        Seed of all random numbers. Row i depends only on the seed and on i.
    threads : int
        Worker threads, 0 for one per core. The numbers do not depend on it.
    progress : callable, True or None
        See `recover`.
    """
    options = _core.GenerateOptions()
    options.samples, options.seed, options.distribution = samples, seed_of(seed), distribution
    given: dict[str, Any] = {
        **{"inputs": inputs, "hidden": hidden, "outputs": outputs, "bias": bias, "bias_at": bias_at},
        **{"amplitudes": amplitudes, "orthonormal": orthonormal, "weights_condition": weights_condition},
        **{"amplitudes_condition": amplitudes_condition, "perturb_weights": perturb_weights, "leak": leak},
        **{"perturb": perturb, "perturb_inputs": perturb_inputs, "mean": mean, "condition": condition},
        **{"noise": noise, "noise_relative": noise_relative},
        "layers": None if layers is None else list(layers),
    }
    if network is not None:
        given["network"] = (network if isinstance(network, Network) else Network.load(network))._core
    if rows is not None:
        given["rows"] = _core.read_table(os.fspath(rows)) if is_path(rows) else as_rows(rows, "rows")
    _set(options, given)
    if model == "network" and activation is not None:
        options.activation, activation = activation, None
    layer = {"activation": activation, "threshold": threshold, "threshold_spread": threshold_spread}
    layer |= {"least_angle": least_angle, "upper": upper, "flips": flips, "biased": biased or None}
    if model == "threshold":
        options.threshold = _set(_core.ThresholdLayerOptions(), layer)
    elif model != "network":
        raise ValueError(f"model is {model!r}, expected 'network' or 'threshold'")
    elif any(value is not None for value in layer.values()):
        name = next(name for name, value in layer.items() if value is not None)
        raise ValueError(f"{name} is about model='threshold'; leave it out, or give that model")
    formula = "" if cnf is None else os.fspath(cnf)
    with progress_callback(progress) as callback:
        x, y, core, units = _core.generate(options, formula, threads, callback)
    if units is not None:
        return Planted(x, y, Thresholds(*units))
    return Planted(x, y, None if core is None else Network._wrap(core))


def _set(options: Any, values: dict[str, Any]) -> Any:
    """The options with those values that are given."""
    for name, value in values.items():
        if value is not None:
            setattr(options, name, value)
    return options
