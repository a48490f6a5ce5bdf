"""Every parameter of a network with its name, and, where there is noise, its error and interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ._tables import Names


class Coefficient(NamedTuple):
    """One parameter with its interval (see `Result.coefficients`)."""

    name: str
    """"W[i,j]", "b[i]", "A[o,i]", "c[o]" or "L[o,j]", counted from 0; inputs and outputs by their names where
    they have some.
    """
    value: float
    standard_error: float
    lower: float
    upper: float


class Weight(NamedTuple):
    """One parameter and its place."""

    part: str  # "W", "b", "A", "c", "L"; of several hidden layers "layers.0.W", ...
    place: tuple[Any, ...]  # names or numbers along the part's dimensions
    unit: Any
    input: Any
    output: Any
    value: float
    error: float

    @property
    def name(self) -> str:
        return f"{self.part}[{','.join(map(str, self.place))}]"


def deviations(confidence: float) -> float:
    """How many standard errors an interval of this confidence reaches to either side."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}, expected between 0 and 1")
    return statistics.NormalDist().inv_cdf((1 + confidence) / 2)


def weights_of(
    network: Any, errors: Any, inputs: Names, outputs: Names, unknown: float = 0.0
) -> Iterator[Weight]:
    """All parameters, hidden layers first, with their standard errors; `unknown` where `errors` is None."""
    spreads = {} if errors is None else errors.to_dict()
    for part, values in network.to_dict().items():
        if not isinstance(values, np.ndarray):
            continue
        spread = spreads.get(part)
        axes = _axes(part)
        for place in np.ndindex(values.shape):
            named = [_label(axis, number, inputs, outputs) for axis, number in zip(axes, place)]
            at = dict(zip(axes, named))
            error = unknown if spread is None else float(spread[place])
            on = at.get("unit"), at.get("input", at.get("below")), at.get("output")
            yield Weight(part, tuple(named), *on, float(values[place]), error)


def _axes(part: str) -> tuple[str, ...]:
    """What the dimensions of a part run over."""
    if part.startswith("layers."):
        _, layer, kind = part.split(".")
        return ("unit",) if kind == "b" else ("unit", "input" if layer == "0" else "below")
    of_outputs = {"A": ("output", "unit"), "c": ("output",), "L": ("output", "input")}
    return {"W": ("unit", "input"), "b": ("unit",), **of_outputs}[part]


def _label(axis: str, number: int, inputs: Names, outputs: Names) -> Any:
    names = {"input": inputs, "output": outputs}.get(axis)
    return number if names is None or number >= len(names) else names[number]


def coefficients(weights: Iterator[Weight], confidence: float) -> list[Coefficient]:
    reach = deviations(confidence)
    return [
        Coefficient(w.name, w.value, w.error, w.value - reach * w.error, w.value + reach * w.error)
        for w in weights
    ]


def frame(weights: Iterator[Weight], confidence: float, noisy: bool) -> Any:
    """A pandas data frame, one row per parameter; errors, intervals, z and p where there is noise."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "weights() makes a pandas data frame; pip install 'exhume[pandas]' brings it"
        ) from None
    reach = deviations(confidence)
    rows = []
    for w in weights:
        row = {name: getattr(w, name) for name in ("name", "part", "unit", "input", "output", "value")}
        if noisy:
            known = w.error > 0
            z = w.value / w.error if known else math.nan
            row |= {
                "standard_error": w.error if known else math.nan,
                "lower": w.value - reach * w.error if known else math.nan,
                "upper": w.value + reach * w.error if known else math.nan,
                "z": z,
                "p": math.erfc(abs(z) / math.sqrt(2)),
            }
        rows.append(row)
    # Constants have no unit: whole numbers of which some are missing.
    return pandas.DataFrame(rows).astype({"unit": "Int64"}) if rows else pandas.DataFrame(rows)
