"""Recovery from the rows of a Spark data frame.

    import exhume.spark
    result = exhume.spark.recover(df, outputs=["price"], order="id")

Every pass over the rows is one Spark job; partitions stay where they are, and sums over their rows travel. A
task that fails is run again by Spark. The result is the same, bit by bit, as that of `exhume.recover` on the
same rows in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _distributed
from ._arrays import Floats
from ._options import options_of
from ._progress import Progress
from ._result import Result

try:
    from pyspark import TaskContext
    from pyspark.sql import DataFrame
except ImportError as error:
    raise ImportError(
        "exhume.spark needs pyspark, and Java; install it with: pip install 'exhume[spark]'"
    ) from error


def recover(
    df: DataFrame,
    outputs: str | Sequence[str],
    hidden: int | str | Sequence[int] = "auto",
    *,
    inputs: Sequence[str] | None = None,
    order: str | None = None,
    threads: int = 1,
    progress: Progress = None,
    **more: Any,
) -> Result:
    """Recovers the network behind the rows of a data frame; other parameters as in `exhume.recover`.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        One sample per row. It is persisted while the work lasts.
    outputs : str or sequence of str
        Columns that are outputs.
    inputs : sequence of str
        Columns that are inputs; without it all others.
    order : str
        A column that gives the rows their order. Without it they are taken as partitions come, which need not
        be the same the next time: the network is, up to rounding, its last digits need not be.
    **more
        layers, first_layer, route, method, activation, leak, seed and budget of `exhume.recover`.
    """
    outputs = [outputs] if isinstance(outputs, str) else list(outputs)
    missing = [
        name for name in [*outputs, *(inputs or []), *([order] if order else [])] if name not in df.columns
    ]
    if missing:
        raise ValueError(f"there is no column {missing[0]!r}; the columns are {', '.join(df.columns)}")
    inputs = (
        [name for name in df.columns if name not in outputs and name != order]
        if inputs is None
        else list(inputs)
    )
    if not inputs or not outputs:
        raise ValueError("there must be at least one column of inputs and one of outputs")
    options = options_of(hidden, **more)
    context = df.sparkSession.sparkContext
    if order:
        # As many partitions as before: df.sort makes 200.
        df = df.repartitionByRange(df.rdd.getNumPartitions(), order).sortWithinPartitions(order)
    frame = df.select(*inputs, *outputs).persist()
    try:
        counts = dict(frame.mapInPandas(_count, "part long, rows long").toPandas().itertuples(index=False))
        sizes = [int(counts.get(part, 0)) for part in range(frame.rdd.getNumPartitions())]
        starts = [int(n) for n in np.concatenate([[0], np.cumsum(sizes)[:-1]])]
        job = _distributed.job_of(sum(sizes), len(inputs), len(outputs), threads, options)
        known: list[Any] = []  # broadcast: what is known of every pass

        def work(task: Any) -> list[bytes]:
            return [bytes(row[0]) for row in frame.mapInPandas(task, "bytes binary").collect()]

        def shares(number: int) -> list[bytes]:
            return work(_Share(job, number, list(known), starts))

        def fetch(runs: _distributed.Runs) -> tuple[Floats, Floats]:
            wanted = _distributed.by_partition(runs, starts, job.rows)
            columns = job.inputs + job.outputs
            found = {}
            for packed in work(_Pick(wanted, job.inputs, starts)):
                part = int(np.frombuffer(packed[:8], dtype=np.int64)[0])
                found[part] = np.frombuffer(packed[8:], dtype=np.float64).reshape(-1, columns)
            rows = np.concatenate([found[part] for part in sorted(found)])
            return np.ascontiguousarray(rows[:, : job.inputs]), np.ascontiguousarray(rows[:, job.inputs :])

        def publish(number: int, entry: bytes) -> None:
            known.append(context.broadcast(entry))

        return _distributed.lead(job, shares, fetch, publish, progress, (inputs, outputs))
    finally:
        frame.unpersist()


# What tasks do: each gets the rows of one partition, piece by piece, as data frames of pandas.


def _partition() -> int:
    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _count(pieces: Iterator[Any]) -> Iterator[Any]:
    import pandas

    rows = sum(len(piece) for piece in pieces)
    yield pandas.DataFrame({"part": [_partition()], "rows": [rows]})


def _rows(pieces: Iterator[Any], inputs: int, first: int) -> tuple[Floats, Floats]:
    blocks = [np.asarray(piece, dtype=np.float64) for piece in pieces]
    if not blocks:
        return np.empty((0, inputs)), np.empty((0, 0))
    rows = np.concatenate(blocks)
    return _distributed.finite(rows[:, :inputs], "inputs", first), _distributed.finite(
        rows[:, inputs:], "outputs", first
    )


class _Share:
    def __init__(self, job: _distributed.Job, number: int, known: list[Any], starts: list[int]) -> None:
        self.job, self.number, self.known, self.starts = job, number, known, starts

    def __call__(self, pieces: Iterator[Any]) -> Iterator[Any]:
        import pandas

        first = self.starts[_partition()]
        x, y = _rows(pieces, self.job.inputs, first)
        if len(x) == 0:
            return
        sums = _distributed.share(self.job, self.number, lambda i: self.known[i].value, first, x, y)
        yield pandas.DataFrame({"bytes": [sums]})


class _Pick:
    def __init__(self, wanted: list[list[tuple[int, int]]], inputs: int, starts: list[int]) -> None:
        self.wanted, self.inputs, self.starts = wanted, inputs, starts

    def __call__(self, pieces: Iterator[Any]) -> Iterator[Any]:
        import pandas

        part = _partition()
        runs = self.wanted[part]
        if not runs:
            return
        x, y = _distributed.picked(*_rows(pieces, self.inputs, self.starts[part]), runs)
        packed = np.int64(part).tobytes() + np.ascontiguousarray(np.hstack([x, y])).tobytes()
        yield pandas.DataFrame({"bytes": [packed]})
