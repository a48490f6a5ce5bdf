"""Where samples come from: two arrays, files, or an iterable of blocks."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np

from . import _core
from ._arrays import Floats, as_rows
from ._tables import is_table, names_of, split_target

_Path = str | os.PathLike[str]


def is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def paths_of(files: Any) -> list[str]:
    """The name of one file, or the names of several."""
    return [os.fspath(file) for file in ([files] if is_path(files) else files)]


def taken_apart(x: Any, y: Any, target: Any) -> tuple[Any, Any]:
    """Inputs and outputs, out of one table where `target` names its outputs. Files are taken apart later."""
    if target is None:
        return x, y
    if y is not None:
        raise ValueError("y and target both say what the outputs are; give one of them")
    return (x, None) if is_path(x) else split_target(x, target)


@contextlib.contextmanager
def opened(x: Any, y: Any, threads: int, mirrored: Any = None, target: Any = None) -> Iterator[_core.Samples]:
    """The samples, with their mirror images where outputs at -x are given. Valid inside the `with` block.

    They know the names of their columns. `target` names columns of one file.
    """
    with _opened(x, y, threads, target) as samples:
        for attribute, names in (("input_names", names_of(x)), ("output_names", names_of(y))):
            if names is not None:
                setattr(samples, attribute, names)
        if mirrored is None:
            yield samples
        elif is_path(mirrored):
            if not is_path(x):
                raise ValueError("mirrored is a file but x is not; give arrays or files alike")
            yield _core.mirror_file(samples, os.fspath(mirrored), threads)
        else:
            yield _core.mirror_samples(samples, as_rows(mirrored, "mirrored", one_column=True))


@contextlib.contextmanager
def _opened(x: Any, y: Any, threads: int, target: Any) -> Iterator[_core.Samples]:
    """The samples; they know the files they come from."""
    if is_path(x):
        if y is not None and not is_path(y):
            raise ValueError("x is a file but y is not; give two files, one .npz, or two arrays")
        wanted = [] if target is None else [target] if isinstance(target, str) else list(target)
        yield _core.open_samples(os.fspath(x), "" if y is None else os.fspath(y), wanted, threads, named=True)
    elif y is not None:
        yield _core.view_samples(as_rows(x, "x"), as_rows(y, "y", one_column=True))
    else:
        if is_table(x):
            raise ValueError(
                "y is missing; give x and y, or target='...' with the columns of x that are outputs"
            )
        if not isinstance(x, Iterable) or hasattr(x, "__array__") or hasattr(x, "toarray"):
            raise ValueError("y is missing; give x and y, or an iterable of (x, y) blocks")
        with tempfile.TemporaryDirectory(prefix="exhume-") as folder:
            yield spooled(x, folder, threads)


class _Spool:
    """Rows appended to a .npy file; how many is known only at the end, so the header is written last."""

    def __init__(self, path: str, columns: int) -> None:
        self._file: BinaryIO = open(path, "wb")
        self._columns = columns
        self._rows = 0
        # Room for the header of any number of rows: NumPy pads it for the array to grow.
        self._header()

    def _header(self) -> None:
        shape = (self._rows, self._columns)
        np.lib.format.write_array_header_1_0(
            self._file, {"descr": "<f8", "fortran_order": False, "shape": shape}
        )

    def append(self, rows: Floats) -> None:
        self._file.write(rows.data)
        self._rows += len(rows)

    def finish(self) -> None:
        self._file.seek(0)
        self._header()

    def close(self) -> None:
        self._file.close()


def spooled(blocks: Iterable[Any], folder: str, threads: int) -> _core.Samples:
    """Blocks into two files of `folder`, since several passes over them are made; memory holds one block."""
    paths = [os.path.join(folder, name) for name in ("x.npy", "y.npy")]
    spools: list[_Spool] = []
    shape: tuple[int, int] | None = None
    try:
        for number, block in enumerate(blocks):
            try:
                first, second = block
            except (TypeError, ValueError):
                raise ValueError(f"block {number} is not a pair (x, y)") from None
            x = as_rows(first, f"x of block {number}")
            y = as_rows(second, f"y of block {number}", one_column=True)
            _check_block(x, y, number, shape)
            if shape is None:
                shape = (x.shape[1], y.shape[1])
                spools = [_Spool(path, columns) for path, columns in zip(paths, shape)]
            for spool, rows in zip(spools, (x, y)):
                spool.append(rows)
        if shape is None:
            raise _core.DataError("there are no blocks; give at least one (x, y)")
        for spool in spools:
            spool.finish()
    finally:
        for spool in spools:
            spool.close()
    return _core.open_samples(paths[0], paths[1], [], threads, named=False)


def _check_block(x: Floats, y: Floats, number: int, shape: tuple[int, int] | None) -> None:
    if len(x) != len(y):
        raise _core.DataError(
            f"block {number}: x has {len(x)} rows but y has {len(y)}; "
            "row i of one must belong to row i of the other"
        )
    if shape is not None and (x.shape[1], y.shape[1]) != shape:
        raise _core.DataError(
            f"block {number} has {x.shape[1]} inputs and {y.shape[1]} outputs, "
            f"those before it {shape[0]} and {shape[1]}"
        )
    for name, rows in (("x", x), ("y", y)):
        finite = np.isfinite(rows)
        if not finite.all():
            row, column = np.argwhere(~finite)[0]
            raise _core.DataError(
                f"{name} of block {number}: row {row}, column {column} (counting from 0) "
                f"is {rows[row, column]}; "
                "fill it or remove the row"
            )
