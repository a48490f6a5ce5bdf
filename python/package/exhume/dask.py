"""Recovery from samples on a Dask cluster: dask arrays and data frames, larger than any one machine.

    from dask.distributed import Client
    import dask.array as da, exhume.dask

    client = Client()                                     # or the address of a scheduler
    x, y = da.from_zarr("x.zarr"), da.from_zarr("y.zarr")
    result = exhume.dask.recover(x, y, client=client)

Partitions stay where they are; sums over their rows travel, and a few thousand rows on which the search
works. The result is the same, bit by bit, as that of `exhume.recover` on the same rows in one array, for any
number of workers and any partitions. A worker that dies is replaced by Dask, and its work is done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _distributed
from ._arrays import Floats
from ._options import options_of
from ._progress import Progress
from ._result import Result

try:
    import dask.array
    from dask.distributed import Client, default_client
except ImportError as error:
    raise ImportError(
        "exhume.dask needs dask and distributed; install them with: pip install 'exhume[dask]'"
    ) from error


def recover(
    x: Any,
    y: Any,
    hidden: int | str | Sequence[int] = "auto",
    *,
    client: Client | None = None,
    threads: int = 1,
    progress: Progress = None,
    **more: Any,
) -> Result:
    """Recovers the network behind the rows of a cluster; other parameters as in `exhume.recover`.

    Parameters
    ----------
    x, y : dask arrays, data frames or series
        Inputs n x d and outputs n x m (or n numbers), chunked by rows in any way.
    client : dask.distributed.Client
        Of the cluster; without it the current one.
    threads : int
        Per task of a worker, 0 for one per core. Workers should have as many threads as there are cores, or
        one each.
    **more
        layers, first_layer, route, method, activation, leak, seed and budget of `exhume.recover`.

    Raises
    ------
    DataError
        For data that cannot be used.
    RuntimeError
        Where a worker has another version of this package.
    """
    client = default_client() if client is None else client
    names = _names(x), _names(y)
    x, y = _by_rows(x, "x"), _by_rows(y, "y")
    if x.shape[0] != y.shape[0]:
        raise ValueError(
            f"x has {x.shape[0]} rows but y has {y.shape[0]}; row i of one must belong to row i of the other"
        )
    y = y.rechunk((x.chunks[0], -1))
    options = options_of(hidden, **more)
    starts = [int(n) for n in np.concatenate([[0], np.cumsum(x.chunks[0])[:-1]])]
    job = _distributed.job_of(int(x.shape[0]), int(x.shape[1]), int(y.shape[1]), threads, options)

    # Both partitions of a run of rows in one place; lost ones are made again from the graph.
    parts = [
        client.submit(_checked, xs, ys, first, pure=False)
        for xs, ys, first in zip(_futures(client, x), _futures(client, y), starts, strict=True)
    ]
    known: list[Any] = []  # futures of what is known of every pass

    def shares(number: int) -> list[bytes]:
        tasks = [
            client.submit(_share, job, number, known[:number], first, part, pure=False)
            for first, part in zip(starts, parts, strict=True)
        ]
        return list(client.gather(tasks))

    def fetch(runs: _distributed.Runs) -> tuple[Floats, Floats]:
        wanted = _distributed.by_partition(runs, starts, job.rows)
        tasks = [
            client.submit(_pick, part, own, pure=False)
            for part, own in zip(parts, wanted, strict=True)
            if own
        ]
        rows = client.gather(tasks)
        return np.concatenate([x for x, _ in rows]), np.concatenate([y for _, y in rows])

    def publish(number: int, entry: bytes) -> None:
        # As a task, so that what a dead worker held is made again.
        known.append(client.submit(_same, entry, pure=False))

    try:
        return _distributed.lead(job, shares, fetch, publish, progress, names)
    finally:
        client.run(_distributed.forget, job)


def _names(table: Any) -> list[str] | None:
    """Of a data frame's columns, or of a series."""
    if hasattr(table, "columns"):
        return [str(name) for name in table.columns]
    name = getattr(table, "name", None)
    return [str(name)] if hasattr(table, "to_dask_array") and name is not None else None


def _by_rows(table: Any, what: str) -> Any:
    """A dask array of two dimensions, cut into runs of whole rows of known length."""
    if hasattr(table, "to_dask_array"):
        table = table.to_dask_array(lengths=True)
    array = dask.array.asarray(table)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"{what} has {array.ndim} dimensions, expected rows x columns")
    if any(np.isnan(size) for size in array.chunks[0]):
        array = array.compute_chunk_sizes()
    return array.rechunk({1: -1})


def _futures(client: Client, array: Any) -> list[Any]:
    return list(client.compute(list(array.to_delayed().ravel())))


# What workers do.


def _checked(x: Any, y: Any, first: int) -> tuple[Floats, Floats]:
    return _distributed.finite(x, "x", first), _distributed.finite(y, "y", first)


def _share(
    job: _distributed.Job, number: int, known: list[bytes], first: int, part: tuple[Floats, Floats]
) -> bytes:
    return _distributed.share(job, number, known.__getitem__, first, *part)


def _pick(part: tuple[Floats, Floats], runs: _distributed.Runs) -> tuple[Floats, Floats]:
    return _distributed.picked(*part, runs)


def _same(entry: bytes) -> bytes:
    return entry
