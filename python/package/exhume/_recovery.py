"""The options of `recover`: the same in every process that takes part."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from . import _core
from ._arrays import Floats, as_rows
from ._options import seed_of, widths_of
from ._samples import is_path


class Options(NamedTuple):
    """As the library takes them."""

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
    hidden: Any,
    layers: Any,
    first_layer: Any,
    route: str,
    method: str | None,
    activation: str,
    leak: float,
    seed: Any,
    budget: float,
) -> Options:
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
