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


class Effect(NamedTuple):
    """One number in the data's own units (see `Result.effects`)."""

    kind: str
    """"bend", "before", "after", "hinge", "size", "offset", "slope" or "constant"."""
    unit: int | None
    input: Any
    output: Any
    value: float
    standard_error: float
    lower: float
    upper: float
    t: float
    """value / standard_error: it does not change when a column is measured in another unit."""
    p: float
    """How likely a |t| as large is where the true number is 0."""


class Weight(NamedTuple):
    """One parameter and its place."""

    part: str  # "W", "b", "A", "c", "L"; of several hidden layers "layers.0.W", ...
    place: tuple[Any, ...]  # names or numbers along the part's dimensions
    unit: Any
    input: Any
    output: Any
    value: float
    error: float
    t: float | None = None  # of the hypothesis that it is 0, whatever the units of the columns; None: value / error

    @property
    def name(self) -> str:
        return f"{self.part}[{','.join(map(str, self.place))}]"


def deviations(confidence: float, freedom: float = math.inf) -> float:
    """How many standard errors an interval of this confidence reaches to either side: Student's t, by the
    expansion of its quantiles in 1 / freedom (Abramowitz and Stegun 26.7.5, to four digits from ten on).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}, expected between 0 and 1")
    z = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / freedom ** (power + 1) for power, term in enumerate(terms))


def two_sided(t: float, freedom: float = math.inf) -> float:
    """P(|T| > |t|) for Student's T: its normal deviate by Wallace's formula, to three digits from ten on."""
    if math.isfinite(freedom):
        spread = freedom * math.log1p(t * t / freedom)
        t = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(spread)
    return math.erfc(abs(t) / math.sqrt(2))


def effects_of(rows: list[list[Any]], freedom: float, inputs: Names, outputs: Names) -> list[Effect]:
    """The effects of a certificate."""
    out = []
    for kind, unit, column, output, value, error, lower, upper in rows:
        t = value / error if value is not None and error else math.nan
        ends = -math.inf if lower is None else lower, math.inf if upper is None else upper
        out.append(
            Effect(
                kind,
                None if unit < 0 else unit,
                None if column < 0 else _label("input", column, inputs, outputs),
                None if output < 0 else _label("output", output, inputs, outputs),
                math.nan if value is None else value,
                error or math.nan,
                *ends,
                t,
                two_sided(t, freedom),
            )
        )
    return out


def tests_of(rows: list[list[Any]]) -> dict[tuple[str, tuple[int, ...]], float]:
    """t of the hypothesis that a weight is 0, by part and place. Rows of W have norm 1 in the units of the
    columns, so that value / error of W, b and A would change with those; the products that they stand for do
    not: A[o,i] W[i,j], A[o,i] b[i] (o: the output that unit i matters most for) and A[o,i] in standard
    deviations of what the unit sees.
    """
    t = {
        (kind, unit, column, output): value / error
        for kind, unit, column, output, value, error, _, _ in rows
        if error and value is not None
    }
    most: dict[int, int] = {}
    for (kind, unit, _, output), size in t.items():
        if kind == "size" and abs(size) > abs(t.get(("size", unit, -1, most.get(unit, -1)), 0.0)):
            most[unit] = output
    found: dict[tuple[str, tuple[int, ...]], float] = {}
    for (kind, unit, column, output), value in t.items():
        first = output == most.get(unit)
        if kind == "bend" and first:
            found["W", (unit, column)] = value
        elif kind == "offset" and first:
            found["b", (unit,)] = value
        elif kind == "size":
            found["A", (output, unit)] = value
        elif kind == "slope":
            found["L", (output, column)] = value
        elif kind == "constant":
            found["c", (output,)] = value
    return found


def weights_of(
    network: Any,
    errors: Any,
    inputs: Names,
    outputs: Names,
    unknown: float = 0.0,
    tests: dict[tuple[str, tuple[int, ...]], float] | None = None,
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
            t = (tests or {}).get((part, place))
            yield Weight(part, tuple(named), *on, float(values[place]), error, t)


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


def _interval(w: Weight, reach: float) -> tuple[float, float]:
    """Rows of hidden units have norm 1: no entry is beyond 1."""
    lower, upper = w.value - reach * w.error, w.value + reach * w.error
    if w.part == "W" or (w.part.startswith("layers.") and w.part.endswith(".W")):
        lower, upper = max(lower, min(-1.0, w.value)), min(upper, max(1.0, w.value))
    return lower, upper


def coefficients(
    weights: Iterator[Weight], confidence: float, freedom: float = math.inf
) -> list[Coefficient]:
    reach = deviations(confidence, freedom)
    return [Coefficient(w.name, w.value, w.error, *_interval(w, reach)) for w in weights]


def frame(weights: Iterator[Weight], confidence: float, noisy: bool, freedom: float = math.inf) -> Any:
    """A pandas data frame, one row per parameter; errors, intervals, z and p where there is noise."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "weights() makes a pandas data frame; pip install 'exhume[pandas]' brings it"
        ) from None
    reach = deviations(confidence, freedom)
    rows = []
    for w in weights:
        row = {name: getattr(w, name) for name in ("name", "part", "unit", "input", "output", "value")}
        if noisy:
            known = w.error > 0
            z = (w.value / w.error if w.t is None else w.t) if known else math.nan
            lower, upper = _interval(w, reach) if known else (math.nan, math.nan)
            row |= {
                "standard_error": w.error if known else math.nan,
                "lower": lower,
                "upper": upper,
                "z": z,
                "p": two_sided(z, freedom),
            }
        rows.append(row)
    # Constants have no unit: whole numbers of which some are missing.
    return pandas.DataFrame(rows).astype({"unit": "Int64"}) if rows else pandas.DataFrame(rows)
