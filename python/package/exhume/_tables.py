"""Tables with named columns: pandas, polars and pyarrow. Their names are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _core

Names = list[str] | None


def is_table(values: Any) -> bool:
    """Whether it has columns with names."""
    return hasattr(values, "column_names") or (hasattr(values, "columns") and hasattr(values, "shape"))


def names_of(values: Any) -> Names:
    """The names of the columns, or None where there are none, or pandas merely numbered them."""
    if is_table(values):
        columns = values.column_names if hasattr(values, "column_names") else list(values.columns)
        numbered = all(isinstance(column, (int, np.integer)) for column in columns)
        return None if numbered else [str(column) for column in columns]
    name = getattr(values, "name", None)
    return [name] if isinstance(name, str) and hasattr(values, "dtype") else None


def columns_as_floats(table: Any, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A table whose columns are of different kinds, one by one; what holds no numbers is named."""
    arrow = hasattr(table, "column_names")
    columns = []
    for number, label in enumerate(table.column_names if arrow else table.columns):
        column = (
            table.column(number)
            if arrow
            else table.iloc[:, number]
            if hasattr(table, "iloc")
            else table[label]
        )
        columns.append(_numbers(column, f"column {label!r} of {name}"))
    return np.column_stack(columns) if columns else np.zeros((len(table), 0))


def _numbers(column: Any, what: str) -> Any:
    """One column; a value that is missing is NaN."""
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    if values.dtype.kind in "mM":
        raise _core.DataError(f"{what} holds times; give numbers, such as days since a date")
    missing = [value is None or type(value).__name__ == "NAType" for value in values]
    try:
        return np.array([np.nan if gone else float(value) for value, gone in zip(values, missing)])
    except (TypeError, ValueError):
        first = next(value for value in values if not isinstance(value, (int, float, np.number, type(None))))
        raise _core.DataError(
            f"{what} does not hold numbers but values like {first!r}; leave it out or encode it as numbers"
        ) from None


def split_target(table: Any, target: str | Sequence[str]) -> tuple[Any, Any]:
    """Inputs and outputs out of one table: the outputs are the columns named in `target`."""
    if not is_table(table):
        raise ValueError(
            "target names columns of a table; give a data frame as x, or inputs and outputs as x and y"
        )
    wanted = [target] if isinstance(target, str) else list(target)
    have = table.column_names if hasattr(table, "column_names") else list(table.columns)
    for name in wanted:
        if name not in have:
            raise ValueError(f"target {name!r} is no column; there are {', '.join(map(str, have))}")
    rest = [name for name in have if name not in wanted]
    select = getattr(table, "select", None)  # polars, pyarrow
    return (select(rest), select(wanted)) if select is not None else (table[rest], table[wanted])


@contextlib.contextmanager
def named_columns(inputs: Names, outputs: Names) -> Iterator[None]:
    """What is refused because of a column is refused with its name too."""
    try:
        yield
    except _core.DataError as refusal:
        named = _core.with_column_names(str(refusal), inputs or [], outputs or [])
        if named == str(refusal):
            raise
        raise _core.DataError(named) from None
