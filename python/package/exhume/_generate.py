"""Planted networks."""

from __future__ import annotations

from typing import NamedTuple

from . import _core
from ._arrays import Floats
from ._network import Network
from ._options import seed_of
from ._progress import Progress, progress_callback


class Planted(NamedTuple):
    """Samples and the network they come from (see `generate`)."""

    x: Floats
    """Inputs, n x d."""
    y: Floats
    """Outputs, n x m."""
    network: Network
    """The network behind them."""


def generate(
    inputs: int | None = None,
    hidden: int | None = None,
    outputs: int | None = None,
    samples: int = 10000,
    *,
    network: Network | None = None,
    bias: float = 0.5,
    bias_at: str = "mean",
    amplitudes: str = "normal",
    distribution: str = "gaussian",
    mean: float = 0.0,
    condition: float = 1.0,
    noise: float = 0.0,
    noise_relative: float = 0.0,
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
    network : Network, optional
        Sample this one.
    bias : float
        Biases are uniform in [-bias, bias], measured at the inputs' mean, or at the origin with
        `bias_at="origin"`.
    amplitudes : "normal" or "signs"
        Entries of A: standard normal, or of size in [0.5, 1.5] with a random sign.
    distribution : str
        Of the inputs: "gaussian".
    mean, condition : float
        Mean of every input; condition number of the inputs' covariance.
    noise, noise_relative : float
        Standard deviation of the noise on the outputs, and the same as a multiple of the outputs' own.
    seed : int
        Of all random numbers. Rows depend on the seed and their number alone.
    threads : int
        Worker threads, 0 for one a core. Has no influence on the numbers.
    progress : callable, True or None
        See `recover`.
    """
    if bias_at not in ("mean", "origin"):
        raise ValueError(f"bias_at is {bias_at!r}, expected 'mean' or 'origin'")
    if network is None:
        if inputs is None or hidden is None or outputs is None:
            raise ValueError("inputs, hidden and outputs are required unless a network is given")
        centre = mean if bias_at == "mean" else 0.0
        core = _core.plant(inputs, hidden, outputs, bias, centre, amplitudes, seed_of(seed))
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
