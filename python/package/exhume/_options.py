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


def depth_of(layers: Any, hidden: Any, first_layer: Any) -> tuple[int | None, list[int] | None]:
    """The number of hidden layers, None for "auto", and their widths where they are given."""
    widths = None
    if not isinstance(hidden, str) and hasattr(hidden, "__len__"):
        widths = [operator.index(units) for units in hidden]
        if len(widths) == 1:
            raise ValueError("hidden has one width; give a number for one hidden layer")
        if layers not in (1, "auto", len(widths)):
            raise ValueError(f"layers is {layers!r}, but hidden has {len(widths)} widths")
        return len(widths), widths
    if isinstance(layers, str):
        if layers != "auto":
            raise ValueError(f"layers is {layers!r}, expected 'auto' or a whole number of at least 1")
        if first_layer is None and units_of(hidden) is None:
            return None, None
        layers = 1
    depth = operator.index(layers)
    if depth < 1:
        raise ValueError(f"layers is {depth}, expected 'auto' or a whole number of at least 1")
    if first_layer is not None and depth == 1:
        depth = 2
    if depth > 1 and units_of(hidden) is not None:
        raise ValueError(f"hidden is {hidden!r}, expected one width a layer, such as (20, 20), or 'auto'")
    return depth, None


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


def route_of(route: str, method: str | None) -> str:
    """The route; "rectified" is a family, of which `method` names the member."""
    if route == "rectified":
        return f"rectified-{method or 'tensor'}"
    if method is not None:
        raise ValueError(f"method is {method!r}, but belongs to the route 'rectified'")
    return route
