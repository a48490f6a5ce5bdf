"""Options as the library takes them, or refused in a sentence."""

from __future__ import annotations

import operator
from typing import Any


def seed_of(seed: Any) -> int:
    """A whole number of 64 bits."""
    try:
        value = operator.index(seed)
    except TypeError:
        value = -1
    if not 0 <= value < 2**64:
        raise ValueError(f"seed is {seed!r}, expected a whole number from 0 to 2**64 - 1")
    return value


def units_of(hidden: Any) -> int | None:
    """The number of hidden units, None for "auto"."""
    if isinstance(hidden, str) and hidden == "auto":
        return None
    try:
        return operator.index(hidden)
    except TypeError:
        raise ValueError(f"hidden is {hidden!r}, expected 'auto' or a whole number of at least 1") from None


def widths_of(hidden: Any) -> list[int]:
    """Units of every hidden layer: of one number or of several; none for "auto"."""
    if isinstance(hidden, str) or not hasattr(hidden, "__len__"):
        units = units_of(hidden)
        return [] if units is None else [units]
    return [operator.index(units) for units in hidden]


def shape_of(shape: Any) -> list[int]:
    """Rows and columns of the inputs: (8, 8), or "8x8" as on the command line; an empty list for None."""
    if shape is None:
        return []
    sides = shape.lower().split("x") if isinstance(shape, str) else shape
    try:
        rows, columns = (int(side) if isinstance(side, str) else operator.index(side) for side in sides)
    except (TypeError, ValueError):
        rows = columns = 0
    if rows < 1 or columns < 1:
        raise ValueError(f"shape is {shape!r}, expected rows and columns of the inputs, such as (8, 8)")
    return [rows, columns]
