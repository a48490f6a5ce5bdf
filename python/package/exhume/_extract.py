"""Networks that answer queries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import frozen
from ._network import Network
from ._options import seed_of
from ._progress import Progress, progress_callback
from ._result import Result
from .oracles import as_oracle


def estimated_queries(inputs: int, hidden: int | Sequence[int], outputs: int = 1) -> int:
    """About how many queries `extract` will make for such a network.

    Parameters
    ----------
    inputs, outputs
        Of the network.
    hidden
        Units of its hidden layer, or of each where there are several.

    Returns
    -------
    int
        The estimate; with several hidden layers that of one attempt, and up to three may be made.
    """
    widths = [hidden] if isinstance(hidden, int) else list(hidden)
    if len(widths) == 1:
        return int(_core.estimate_queries(inputs, widths[0], outputs))
    return int(_core.estimate_deep_queries(inputs, widths, outputs))


def _ends(low: Any, high: Any, domain: Any, inputs: int) -> tuple[list[float], list[float]]:
    """Ends of the box as lists of one number or of one per input; empty ones where there is none."""
    if domain is not None:
        if low is not None or high is not None:
            raise ValueError("domain takes the ranges from data: give it, or low and high")
        if isinstance(domain, (str, os.PathLike)):
            path = os.fspath(domain)
            domain = np.load(path) if path.endswith(".npy") else _numbers_of_table(path)
        data = np.asarray(domain, dtype=np.float64)
        if data.ndim != 2 or data.shape[1] != inputs or len(data) == 0 or not np.isfinite(data).all():
            raise _core.DataError(
                f"domain has shape {data.shape}; give rows of {inputs} finite numbers, one per input"
            )
        return list(data.min(axis=0)), list(data.max(axis=0))
    if low is None and high is None:
        return [], []
    if low is None or high is None:
        raise ValueError("low and high belong together")
    ends = [[float(value) for value in np.ravel(np.asarray(end, dtype=np.float64))] for end in (low, high)]
    for name, end in zip(("low", "high"), ends):
        if len(end) not in (1, inputs):
            raise ValueError(f"{name} is for {len(end)} inputs, but there are {inputs}; give one number or one per input")
    return ends[0], ends[1]


def _numbers_of_table(path: str) -> np.ndarray[Any, Any]:
    with open(path) as file:
        first = file.readline().replace(",", " ").split()
    try:
        [float(word) for word in first]
        skipped = 0
    except ValueError:
        skipped = 1
    return np.loadtxt(path, delimiter="," if path.endswith(".csv") else None, skiprows=skipped, ndmin=2)


def extract(
    f: Any,
    inputs: int | Sequence[int] | None = None,
    *,
    queries: int | None = None,
    budget: float = 600.0,
    low: Any = None,
    high: Any = None,
    domain: Any = None,
    seed: int = 0,
    fresh: int = 256,
    batch: int = 4096,
    log: str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int = 0,
    progress: Progress = None,
) -> Result:
    """Recovers the network inside a black box by queries of its own choice, with a certificate.

    Query only models that are yours or that you are allowed to query.

    Parameters
    ----------
    f : callable, torch module, path of a model file, or an object with predict
        Answers an n x d array with n x m numbers (or n). See `exhume.oracles` for services. An .onnx file is run
        by onnxruntime as it is; classifiers are asked for probabilities, not labels.
    inputs : int, or a shape
        Number of inputs d; files, fitted scikit-learn models and most torch modules say it themselves. With a
        shape such as (1, 8, 8) queries are arrays n x 1 x 8 x 8.
    queries : int
        Upper limit on the number of queries. None: twenty times the estimate.
    budget : float
        Seconds after which the search ends with the best network so far, uncertified.
    low, high : float or array
        Bounds of the inputs, one number or one per input; every query respects them.
    domain : array, table or path
        Data, n x d: the range of each column, in place of low and high.
    seed : int
        Of every random choice.
    fresh : int
        Number of fresh random queries for the verdict.
    batch : int
        Most rows per call of `f`.
    log : path
        File to which queries and answers are written as they are made.
    resume : bool
        Continue from the log of an interrupted run.

    >>> import exhume, numpy as np
    >>> secret = exhume.generate(inputs=12, hidden=5, outputs=1, samples=10).network
    >>> found = exhume.extract(secret, inputs=12)
    >>> found.status, found.network.hidden
    ('certified', 5)
    """
    oracle = as_oracle(f, inputs)
    low, high = _ends(low, high, domain, oracle.inputs)

    def answer(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        raw = np.asarray(oracle.query(x))
        if np.iscomplexobj(raw):
            raise _core.DataError(
                f"{oracle.name} answered with complex numbers; give real ones, or real and imaginary parts as two outputs"
            )
        y = raw.astype(np.float64, copy=False)
        if y.ndim == 1 and len(y) == len(x):
            y = y.reshape(-1, 1)
        if y.ndim != 2:
            raise _core.DataError(
                f"{oracle.name} answered {len(x)} queries with an array of shape {y.shape}; give one row each"
            )
        return np.ascontiguousarray(y)

    with progress_callback(progress) as callback:
        found = _core.extract(
            answer,
            oracle.inputs,
            oracle.name,
            int(batch),
            0 if queries is None else int(queries),
            low,
            high,
            seed_of(seed),
            int(fresh),
            "" if log is None else os.fspath(log),
            bool(resume),
            float(budget),
            threads,
            callback,
        )
    network = None if found.network is None else Network._wrap(found.network)
    shown = frozen(found.predicted), frozen(found.observed)
    return Result(found.certificate, network, None, None, *shown, files=found.files)
