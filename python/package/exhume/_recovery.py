"""What `recover` is asked for, in every process that takes part, and the call of the library."""

from __future__ import annotations

import glob
import json
import os
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import Floats, as_rows
from ._options import depth_of, route_of, seed_of, units_of
from ._safetensors import read_tensors
from ._samples import is_path


class Options(NamedTuple):
    """The options of `recover`, as the library takes them."""

    layers: int
    """Hidden layers, or `_core.ANY_DEPTH`."""
    widths: list[int]
    first_layer: Floats | None
    route: str
    leak: float
    activation: str
    seed: int
    budget: float
    units: Floats | None
    """A rough guess of the units, rows (w, b)."""


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
    moments: Any = None,
) -> Options:
    depth, widths = depth_of(layers, hidden, first_layer)
    route = route_of(route, method)
    units = None
    if moments is not None:
        if depth != 1 or route not in ("auto", "depth2"):
            raise ValueError("moments belong to one hidden layer and the route 'depth2'")
        route = "depth2"
        units = _core.units_of_moments(_parts(moments), units_of(hidden), seed_of(seed))
    if widths is None:
        units_asked = units_of(hidden)
        widths = [] if units_asked is None else [units_asked]
    return Options(
        layers=_core.ANY_DEPTH if depth is None else depth,
        widths=widths,
        first_layer=None if first_layer is None else _first_layer(first_layer),
        route=route,
        leak=float(leak),
        activation=activation,
        seed=seed_of(seed),
        budget=float(budget),
        units=units,
    )


def run(samples: _core.Samples, options: Options, device: str, threads: int, callback: Any) -> _core.Result:
    """The result of the library."""
    return _core.recover(samples, *options, device, threads, callback)


def with_checkpoint(samples: _core.Samples, folder: Any, resume: bool, options: Options, device: str) -> _core.Samples:
    """The samples with a journal of the passes over them, in a folder."""
    os.makedirs(folder, exist_ok=True)
    about = options._asdict()
    for name in ("first_layer", "units"):
        if about[name] is not None:
            about[name] = about[name].tolist()
    header = {"exhume": _core.version(), "command": "recover", **dict(_core.identity(samples)), **about, "device": device}
    return _core.with_checkpoint(samples, checkpoint_file(folder), json.dumps(header), resume)


def checkpoint_file(folder: Any) -> str:
    return os.path.join(os.fspath(folder), "checkpoint.log")


def remove_checkpoint(folder: Any) -> None:
    """The run is over: nobody has to go on with it."""
    for name in (checkpoint_file(folder), checkpoint_file(folder) + ".lock"):
        if os.path.exists(name):
            os.remove(name)
    if not os.listdir(folder):
        os.rmdir(folder)


def _parts(moments: Any) -> list[tuple[str, bytes]]:
    """Names and bytes of files with moments: one path, a pattern, or several."""
    names = [moments] if is_path(moments) else list(moments)
    files = [found for name in names for found in (sorted(glob.glob(os.fspath(name))) or [os.fspath(name)])]
    parts = []
    for file in files:
        with open(file, "rb") as opened:
            parts.append((file, opened.read()))
    return parts


def _first_layer(layer: Any) -> Floats:
    """Rows (w, b): an array, or W and b (or -t) of a file."""
    if not is_path(layer):
        return as_rows(layer, "first_layer")
    name = os.fspath(layer)
    arrays: Any = np.load(name) if name.endswith(".npz") else read_tensors(name)[0]
    try:
        b = arrays["b"] if "b" in arrays else -arrays["t"]
        return as_rows(np.column_stack([arrays["W"], b]), "first_layer")
    except (KeyError, ValueError) as error:
        raise _core.DataError(f"{name}: {error}; a first layer is W, k x d, and b, k") from None
