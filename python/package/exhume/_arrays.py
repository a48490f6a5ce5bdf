"""Arrays of every kind as what the library reads: C-contiguous float64, without a copy where possible."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._tables import columns_as_floats, is_table

Floats = NDArray[np.float64]


def as_floats(values: Any, name: str) -> Floats:
    """As float64: arrays, sequences, data frames, sparse matrices, torch tensors, other DLPack exporters."""
    if hasattr(values, "detach") and hasattr(
        values, "cpu"
    ):  # a torch tensor, perhaps of a graph, or on a device
        values = values.detach().cpu().to_dense().double().numpy()
    elif hasattr(values, "toarray") and hasattr(values, "nnz"):  # a sparse matrix of scipy
        values = values.toarray()
    elif hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        values = np.from_dlpack(values)
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"{name} is complex; give real numbers")
    if array.dtype.kind not in "fiub":
        if is_table(values):
            return columns_as_floats(values, name)
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise _core.DataError(f"{name} does not hold numbers ({error}); give real numbers") from None
    return np.asarray(array, dtype=np.float64)


def as_rows(values: Any, name: str, *, one_column: bool = False) -> Floats:
    """An n x p array; with `one_column`, n numbers are n x 1."""
    array = as_floats(values, name)
    if array.ndim == 1 and one_column:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        hint = f"; {name}.reshape(-1, 1) if it is one column" if array.ndim == 1 else ""
        raise ValueError(f"{name} has {array.ndim} dimensions, expected 2 with one sample per row{hint}")
    return np.ascontiguousarray(array)


def frozen(values: Floats) -> Floats:
    """The same array, read-only."""
    values.flags.writeable = False
    return values
