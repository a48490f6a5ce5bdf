"""Passes over rows that lie on other machines: what `exhume.dask` and `exhume.spark` have in common.

The process that leads runs `recover`; workers run it too, and stop at every pass over the rows until they are
told its sum. A task is therefore small: the number of the pass, the sums before it, and one partition of the
rows. A worker that died is replaced by any other, which is told all sums from the first.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import Floats
from ._options import Options
from ._progress import Progress, progress_callback
from ._result import Result, from_core

Runs = Sequence[tuple[int, int]]
"""Runs of rows: the first one, and how many."""


class Job(NamedTuple):
    """All that a worker has to know, beside rows and sums."""

    name: str
    version: str
    rows: int
    inputs: int
    outputs: int
    threads: int
    options: Options


def job_of(rows: int, inputs: int, outputs: int, threads: int, options: Options) -> Job:
    return Job(uuid.uuid4().hex, _core.version(), rows, inputs, outputs, threads, options)


# In a worker's process: one program a job, whatever partitions come by.
_workers: dict[str, _core.Worker] = {}
_lock = threading.Lock()


def share(job: Job, number: int, entry: Callable[[int], bytes], first: int, x: Floats, y: Floats) -> bytes:
    """Partial sums of pass `number` over rows `first`, ...; `entry(i)` tells the sums of pass i."""
    if _core.version() != job.version:
        raise RuntimeError(
            f"this worker has exhume {_core.version()}, but the job is led by {job.version}; "
            "install one version everywhere"
        )
    with _lock:
        worker = _workers.get(job.name)
        if worker is None or worker.next > number:
            _workers.clear()
            worker = _core.make_worker(job.rows, job.inputs, job.outputs, job.threads, *job.options)
            _workers[job.name] = worker
        while worker.next < number:
            worker.learn(entry(worker.next))
        return worker.share(first, x, y)


def forget(job: Job) -> None:
    """The job is over."""
    with _lock:
        _workers.pop(job.name, None)


def finite(x: Any, what: str, first: int) -> Floats:
    """Rows of a partition, as the library wants them; what is not finite is named by its place."""
    rows = np.ascontiguousarray(x, dtype=np.float64)
    if rows.ndim == 1:
        rows = rows.reshape(-1, 1)
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise _core.DataError(
            f"{what}: row {first + row}, column {column} (counting from 0) is {rows[row, column]}; "
            "fill it or remove the row"
        )
    return rows


def picked(x: Floats, y: Floats, runs: Runs) -> tuple[Floats, Floats]:
    """Runs of rows of one partition, one below the other."""
    rows = np.concatenate([np.arange(first, first + count) for first, count in runs])
    return x[rows], y[rows]


def by_partition(runs: Runs, starts: Sequence[int], rows: int) -> list[list[tuple[int, int]]]:
    """The same runs in rows of every partition; partition i begins at row starts[i]."""
    ends = [*starts[1:], rows]
    out: list[list[tuple[int, int]]] = [[] for _ in starts]
    part = 0
    for first, count in runs:  # in ascending order
        last = first + count
        while ends[part] <= first:
            part += 1
        at = part
        while first < last:
            until = min(last, ends[at])
            if until > first:
                out[at].append((first - starts[at], until - first))
            first = until
            at += 1
    return out


def lead(
    job: Job,
    shares: Callable[[int], Sequence[bytes]],
    fetch: Callable[[Runs], tuple[Floats, Floats]],
    publish: Callable[[int, bytes], None],
    progress: Progress,
    names: tuple[list[str] | None, list[str] | None] = (None, None),
) -> Result:
    """Runs the job: `shares` gives partial sums of a pass, `fetch` rows, `publish` tells workers all sums."""
    samples = _core.distant_samples(job.rows, job.inputs, job.outputs, shares, fetch, publish)
    samples.input_names, samples.output_names = (list(given or []) for given in names)
    with progress_callback(progress) as callback:
        found = _core.recover(samples, *job.options, [], [], "", False, "cpu", job.threads, callback)
    return from_core(found, found.certificate, *names)
