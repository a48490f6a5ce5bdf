"""Options as the library takes them, or refused in a sentence."""

from __future__ import annotations

import operator
import os
from typing import Any, NamedTuple

from . import _core
from ._arrays import Floats, as_rows
from ._samples import is_path


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


class Options(NamedTuple):
    """The options of `recover`, the same in every process that takes part."""

    layers: str
    """Number of hidden layers or "auto"; empty where the others imply it."""
    widths: list[int]
    first_layer: Floats | None
    route: str
    leak: float
    activation: str
    seed: int
    budget: float


def options_of(
    hidden: Any = "auto",
    *,
    layers: int | str | None = None,
    first_layer: Any = None,
    route: str = "auto",
    method: str | None = None,
    activation: str = "auto",
    leak: float = 0.0,
    seed: int = 0,
    budget: float = 300.0,
) -> Options:
    """The options of a call; what they mean is said at `exhume.recover`."""
    if is_path(first_layer):
        first_layer = _core.read_first_layer(os.fspath(first_layer))
    elif first_layer is not None:
        first_layer = as_rows(first_layer, "first_layer")
    return Options(
        layers="" if layers is None else str(layers),
        widths=widths_of(hidden),
        first_layer=first_layer,
        route=_core.route_name(route, method or ""),
        leak=float(leak),
        activation=activation,
        seed=seed_of(seed),
        budget=float(budget),
    )
