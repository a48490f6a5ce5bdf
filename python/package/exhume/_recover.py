"""Samples in, network out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _core
from ._arrays import as_rows
from ._deep_network import DeepNetwork
from ._network import Network
from ._options import depth_of, seed_of, units_of
from ._progress import Progress, progress_callback
from ._result import Result, from_core
from ._samples import opened


def recover(
    x: Any,
    y: Any = None,
    hidden: int | str | Sequence[int] = "auto",
    *,
    layers: int | str = 1,
    first_layer: Any = None,
    route: str = "auto",
    leak: float = 0.0,
    seed: int = 0,
    budget: float = 300.0,
    device: str = "auto",
    threads: int = 0,
    progress: Progress = None,
) -> Result:
    """Recovers the ReLU network behind samples, with a certificate of what was recovered.

    Parameters
    ----------
    x, y : arrays
        Inputs n x d and outputs n x m (or n numbers), one sample a row: NumPy arrays, torch tensors, data
        frames, lists, whatever NumPy or DLPack understands. C-contiguous float64 is looked at where it lies; anything
        else is converted.
    x : iterable of (x, y) blocks
        With `y` left out. Blocks may be of any length; they are kept in temporary files, so memory does not grow
        with the number of rows. The result is the same, bit by bit, as from one array.
    x, y : paths
        Files: .npy, .csv; or one .npz with both. Read block by block.
    hidden : int, sequence of ints or "auto"
        Number of hidden units, one number a layer where there are several; found from the data with "auto".
    layers : int or "auto"
        Number of hidden layers. "auto" tries one first, then more while structure is left and time remains.
    first_layer : array, k x (d + 1)
        The first of two hidden layers where it is known, rows (w, b) up to scale and sign: the rest is found on
        top of it.
    route : str
        "auto", or a route by name (see `exhume.routes`).
    leak : float
        Slope of the units below zero, from 0 to 1; read by the route "symmetric".
    seed : int
        Of every random choice. The same data and seed give the same result, for any number of threads, and the
        same as `exhume recover` on the command line.
    budget : float
        Seconds after which routes that search stop and return their best.
    device : str
        Where heavy sums run where there are several hidden layers: "cuda", "cpu", or "auto" for a CUDA device where
        there is one.
    threads : int
        Worker threads, 0 for one a core.
    progress : callable, True or None
        Called as `progress(stage, fraction)`; True draws a bar with tqdm, if it is installed.

    Returns
    -------
    Result
        With `network`, `status`, `certificate` and more. Data from which nothing can be recovered are no error:
        the result's `status` and `reason` say so.

    Raises
    ------
    DataError
        Data that cannot be used: NaN, different numbers of rows, too few rows, a constant column.
    ValueError
        An option out of range.

    Other Python threads run meanwhile, and Ctrl-C interrupts.

    >>> import exhume
    >>> planted = exhume.generate(inputs=5, hidden=4, outputs=4, samples=2000)
    >>> result = exhume.recover(planted.x, planted.y)
    >>> result.status
    'certified'
    >>> result.network.align(planted.network).worst_error < 1e-9
    True
    """
    depth, widths = depth_of(layers, hidden, first_layer)
    with opened(x, y, threads) as samples, progress_callback(progress) as callback:
        found: _core.RecoverResult | _core.DeepResult
        if depth == 1:
            found = _core.recover(
                samples,
                units_of(hidden),
                route,
                float(leak),
                seed_of(seed),
                float(budget),
                threads,
                callback,
            )
        elif depth is None:
            found = _core.recover_any_depth(samples, seed_of(seed), float(budget), device, threads, callback)
        else:
            first = None if first_layer is None else as_rows(first_layer, "first_layer")
            found = _core.recover_deep(
                samples, depth, widths, first, seed_of(seed), float(budget), device, threads, callback
            )
        return from_core(found, found.certificate(samples))


class Verification(NamedTuple):
    """How well a network meets samples (see `verify`)."""

    rows: int
    """Rows checked: all of them."""
    relative_mse: float
    """Mean squared error over the variance of the outputs."""
    rms_error: float
    """Root mean square of y - f(x), over rows and outputs."""
    worst_error: float
    """Largest |y - f(x)|."""
    worst_row: int
    """Where it is, counted from 0."""
    worst_output: int
    """Of which output."""


def verify(network: Network | DeepNetwork, x: Any, y: Any = None, *, threads: int = 0) -> Verification:
    """Checks a network against samples by plain loops that share no code with the solvers.

    `x` and `y` are as in `recover`.
    """
    with opened(x, y, threads) as samples:
        if isinstance(network, DeepNetwork):
            found = _core.verify_layers(network._core, samples, threads)
        else:
            found = _core.verify(network._core, samples, threads)
    return Verification(
        found.rows, found.relative_mse, found.rms_error, found.worst_error, found.worst_row, found.worst_output
    )
