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
    """About how many queries `extract` makes for such a network, before the first is made.

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


def extract(
    f: Any,
    inputs: int | None = None,
    *,
    queries: int | None = None,
    low: float | None = None,
    high: float | None = None,
    seed: int = 0,
    fresh: int = 256,
    batch: int = 4096,
    log: str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int = 0,
    progress: Progress = None,
) -> Result:
    """Extracts the network behind a function by queries that it chooses, with a certificate.

    Query only models that are yours or that you may query.

    Parameters
    ----------
    f : callable, torch module, path of an .onnx file, or an object with predict
        Answers an n x d array with n x m numbers (or n). See `exhume.oracles` for services.
    inputs : int
        Number of inputs d; an .onnx file and fitted scikit-learn models say it themselves.
    queries : int
        Most queries to make: never passed. None for no limit.
    low, high : float
        What inputs may be; every query respects it.
    seed : int
        Of every random choice.
    fresh : int
        Random queries of the last check.
    batch : int
        Most rows per call of `f`.
    log : path
        File in which queries and answers are kept while they are made.
    resume : bool
        Go on from the log, without repeating what it answers.

    >>> import exhume, numpy as np
    >>> secret = exhume.generate(inputs=12, hidden=5, outputs=1, samples=10).network
    >>> found = exhume.extract(secret, inputs=12)
    >>> found.status, found.network.hidden
    ('certified', 5)
    """
    oracle = as_oracle(f, inputs)

    def answer(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        y = np.asarray(oracle.query(x), dtype=np.float64)
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
            threads,
            callback,
        )
    network = None if found.network is None else Network._wrap(found.network)
    shown = frozen(found.predicted), frozen(found.observed)
    return Result(found.certificate, network, None, None, *shown, files=found.files)
