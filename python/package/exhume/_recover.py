"""Samples in, network out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, cast, overload

from . import _core
from ._network import Network
from ._options import options_of, shape_of
from ._progress import Progress, progress_callback
from ._result import Result, from_core, viewed
from ._samples import is_path, opened, paths_of, taken_apart
from ._tables import named_columns, names_of


class NotCertified(RuntimeError):
    """The verdict is weaker than `require`; the exception's `result` is the result."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"{result.status}: {result.reason}")
        self.result = result


def recover(
    x: Any,
    y: Any = None,
    hidden: int | str | Sequence[int] = "auto",
    *,
    target: str | Sequence[str] | None = None,
    layers: int | str | None = None,
    first_layer: Any = None,
    route: str = "auto",
    method: str | None = None,
    activation: str = "auto",
    mirrored: Any = None,
    leak: float = 0.0,
    seed: int = 0,
    budget: float = 300.0,
    require: str | None = None,
    shape: Any = None,
    truth: Any = None,
    device: str = "auto",
    threads: int = 0,
    progress: Progress = None,
    moments: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Result:
    """Recovers a network from samples of its inputs and outputs, with a certificate.

    Parameters
    ----------
    x, y : arrays
        Inputs n x d and outputs n x m (or n numbers), one sample per row: NumPy arrays, data frames of pandas
        and polars, pyarrow tables, sparse matrices of scipy, torch tensors, lists, whatever NumPy or DLPack
        understands. C-contiguous float64 is not copied; anything else is converted. Names of columns are
        kept.
    x : iterable of (x, y) blocks
        With `y` left out. Blocks may be of any length; they are kept in temporary files, so memory does not
        grow with the number of rows. The result is the same, bit by bit, as from one array.
    x, y : paths
        Files: .npy, .csv; one .npz with both; or one table, of which `target` says which columns are outputs,
        in a .csv the last one without it. Read block by block. Names in the first line of a .csv are kept.
    hidden : int, sequence of ints or "auto"
        Number of hidden units, one number per layer where there are several; found from the data with "auto".
    target : str or sequence of str
        With one table or one file as `x` and `y` left out: the columns that are outputs, in a file without
        names by number, "1" being the first.
    layers : int, "auto" or None
        Number of hidden layers. "auto" tries one, then more until the rows are reproduced or time ends; None
        means as many as `hidden` has widths, two with `first_layer`, and otherwise one.
    first_layer : array, k x (d + 1), or path
        The first of two hidden layers, if known: rows (w, b) up to scale and sign. Only the rest is searched
        for. A file holds W and b (.safetensors, .npz).
    route : str
        "auto", or a route by name (see `exhume.routes`).
    method : str
        With the route "rectified": the route rectified-METHOD, "tensor" without it.
    activation : str
        Activation of the hidden units: "auto", "relu", or a smooth one such as "tanh" or "gelu"; some of the
        routes rectified-... also take "square", "cube" and "exp" (e^z - 1 for z > 0).
    mirrored : array or path
        Outputs at -x, row by row: x and -x are both used, so the inputs are symmetric.
    leak : float
        Slope of leaky ReLUs below zero, from 0 to 1, for the route "symmetric".
    seed : int
        Seed of all random choices. The same data and seed give the same result, for any number of threads, and
        the same as `exhume recover` on the command line.
    budget : float
        Seconds after which the search ends with the best network so far.
    require : str
        "certified" or "estimated": the least verdict to accept; NotCertified is raised for less.
    shape : (int, int) or str
        Rows and columns of the inputs, such as (8, 8): the report shows units as images.
    truth : Network or path
        The network that generated the samples, if known: the report compares with it.
    device : str
        Device for large sums: "cuda", "cpu", or "auto" for a CUDA device where there is one and the samples
        are worth it.
    threads : int
        Worker threads, 0 for one per core.
    progress : callable, True or None
        Called as `progress(stage, fraction)`; True draws a bar with tqdm, if it is installed.
    moments : path, pattern or sequence of paths
        Moments of several sites' rows (`exhume.moments`): the search starts from them, the polish is on these
        samples.
    checkpoint : path
        A folder for intermediate results, so that a killed run can be continued. Removed at the end.
    resume : bool
        Continue an earlier call with the same samples and options from `checkpoint`, if there is anything.

    Returns
    -------
    Result
        With `network`, `status`, `certificate` and more. If nothing can be recovered no exception is raised:
        `status` and `reason` say so.

    Raises
    ------
    DataError
        Data that cannot be used: NaN, different numbers of rows, too few rows, a constant column.
    ValueError
        An option out of range.
    NotCertified
        The verdict is weaker than `require`.

    Other Python threads run meanwhile, and Ctrl-C interrupts.

    >>> import exhume
    >>> planted = exhume.generate(inputs=5, hidden=4, outputs=4, samples=2000)
    >>> result = exhume.recover(planted.x, planted.y)
    >>> result.status
    'certified'
    >>> result.network.align(planted.network).worst_error < 1e-9
    True
    """
    if require not in (None, "certified", "estimated"):
        raise ValueError(f"require is {require!r}, expected 'certified' or 'estimated'")
    options = options_of(
        hidden,
        layers=layers,
        first_layer=first_layer,
        route=route,
        method=method,
        activation=activation,
        leak=leak,
        seed=seed,
        budget=budget,
    )
    sides = shape_of(shape)
    x, y = taken_apart(x, y, target)
    names = names_of(x), names_of(y)
    with (
        named_columns(*names),
        opened(x, y, threads, mirrored, target if is_path(x) else None) as samples,
        progress_callback(progress) as callback,
    ):
        kept = "" if checkpoint is None else os.fspath(checkpoint)
        sites = [] if moments is None else paths_of(moments)
        found = _core.recover(samples, *options, sites, sides, kept, resume, device, threads, callback)
        named = samples.input_names or None, samples.output_names or None
        result = from_core(found, found.certificate, *named)
        if truth is not None and result.status != "refused":
            result = from_core(found, viewed(found.certificate, result._network, [], truth), *named)
    enough = {"certified": ("certified",), "estimated": ("certified", "estimated")}
    if require is not None and result.status not in enough[require]:
        raise NotCertified(result)
    return result


class Verification(NamedTuple):
    """How well a network reproduces samples (see `verify`)."""

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


@overload
def verify(network: Network, x: Any, y: Any = None, *, threads: int = 0) -> Verification: ...


@overload
def verify(
    network: str | os.PathLike[str],
    x: str | os.PathLike[str] | None = None,
    y: str | os.PathLike[str] | None = None,
    *,
    target: str | Sequence[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    tolerance: float | None = None,
    network_only: bool = False,
    threads: int = 0,
) -> dict[str, Any]: ...


def verify(
    network: Any,
    x: Any = None,
    y: Any = None,
    *,
    target: Any = None,
    key: Any = None,
    tolerance: float | None = None,
    network_only: bool = False,
    threads: int = 0,
) -> Verification | dict[str, Any]:
    """Checks a network, or a folder with its certificate, with code that the solvers do not use.

    Parameters
    ----------
    network : Network or path
        A network gives a `Verification`. A folder that a command or `save` wrote, or a file with a network,
        gives what `exhume verify --json` prints: "verified", "agrees", "findings" and more.
    x, y
        Samples as in `recover`; with a path, files. For a folder only if they are not the files that its
        certificate names.
    target : str or sequence of str
        Of one file with inputs and outputs, as in `recover`.
    key : path
        A public key: the certificate must be signed with its private one.
    tolerance : float
        Largest relative mean squared error to accept.
    network_only : bool
        Ignore the certificate beside the network.
    """
    if is_path(network):
        files = [os.fspath(file) for file in (x, y) if file is not None]
        signer = "" if key is None else os.fspath(key)
        wanted = None if target is None else _quoted([target] if isinstance(target, str) else list(target))
        path = os.fspath(network)
        found = _core.verify_folder(path, files, wanted, tolerance, network_only, signer, threads)
        return cast(dict[str, Any], found)
    if key is not None or tolerance is not None or network_only or target is not None:
        raise ValueError(
            "target, key, tolerance and network_only are about a folder or a file; give its path"
        )
    with opened(x, y, threads) as samples:
        checked = _core.verify(network._core, samples, threads)
    return Verification(*(getattr(checked, field) for field in Verification._fields))


def _quoted(names: list[str]) -> str:
    """Names of columns in one string, as the library takes them apart."""
    return ",".join('"' + str(name).replace('"', '""') + '"' for name in names)
