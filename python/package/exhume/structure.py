"""Single directions of a lowest layer, and layers with structure: no threshold, or no linear terms.

Inputs are standard Gaussian, and there is one output. What the names mean is in docs/threshold.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import Floats, as_floats, as_rows
from ._options import seed_of, units_of
from ._progress import Progress, progress_callback
from ._samples import opened

__all__ = [
    "Climbed",
    "Detection",
    "Groups",
    "climb",
    "correlation_groups",
    "detect",
    "even_directions",
    "exponential_groups",
]


class Groups(NamedTuple):
    """Coordinates that belong together."""

    groups: list[list[int]]
    """Their numbers; a coordinate that belongs nowhere is missing."""
    gap: float
    """The largest gap of the correlations, over their range."""
    contrast: float
    """Above 0 every group is a clique and nothing else is connected; otherwise the groups are a guess."""


class Detection(NamedTuple):
    """What a detector sees at given directions."""

    value: Floats
    """The jump, or the change of slope, one per direction."""
    error: Floats
    """Standard errors."""

    @property
    def score(self) -> Floats:
        """Values over standard errors: above 6 there is a unit."""
        return np.divide(self.value, self.error)


class Climbed(NamedTuple):
    """Where a detector is largest."""

    direction: Floats
    """Of unit length."""
    threshold: float
    """Where along it."""
    value: float
    """The jump, or the change of slope."""
    error: float
    """Its standard error."""


def correlation_groups(x: Any, y: Any = None, *, threads: int = 0, progress: Progress = None) -> Groups:
    """Theorem 8: which coordinates belong together, of 0/1 weights under exponential units."""
    with opened(x, y, threads) as samples, progress_callback(progress) as callback:
        return Groups(*_core.correlation_groups(samples, threads, callback))


def exponential_groups(x: Any, y: Any = None, *, threads: int = 0, progress: Progress = None) -> Groups:
    """Theorem 9: the same for exp(w . x) without a threshold; coefficients and outputs are positive."""
    with opened(x, y, threads) as samples, progress_callback(progress) as callback:
        return Groups(*_core.exponential_groups(samples, threads, callback))


def even_directions(
    x: Any, y: Any = None, hidden: int = 1, *, seed: int = 0, threads: int = 0, progress: Progress = None
) -> tuple[Floats, float]:
    """Theorem 10: orthonormal directions of even units, one per row, with signs open.

    The second value is the share of the variance that they leave unexplained: near 0 where they are right.
    """
    units = units_of(hidden)
    if units is None:
        raise ValueError("hidden is 'auto', but even_directions needs the number of units")
    with opened(x, y, threads) as samples, progress_callback(progress) as callback:
        return _core.even_directions(samples, units, seed_of(seed), threads, callback)


def detect(
    x: Any,
    y: Any = None,
    *,
    directions: Any,
    at: Any,
    detector: str = "step",
    width: float = 0.1,
    threads: int = 0,
    progress: Progress = None,
) -> Detection:
    """Is there a unit along these directions?

    Parameters
    ----------
    x, y
        Samples as in `exhume.recover`, with one output.
    directions
        One per row; their lengths do not matter.
    at
        Where the threshold is suspected, a number or one per direction.
    detector : str
        "step" (a jump, sign units) or "kink" (a change of slope, ReLU units).
    width : float
        Of the slabs whose averages are compared.
    """
    rows = np.atleast_2d(as_floats(directions, "directions"))
    rows = as_rows(rows / np.linalg.norm(rows, axis=1, keepdims=True), "directions")
    places = np.ascontiguousarray(np.broadcast_to(as_floats(at, "at"), (len(rows),)))
    with opened(x, y, threads) as samples, progress_callback(progress) as callback:
        return Detection(*_core.detect(samples, detector, rows, places, width, threads, callback))


def climb(
    x: Any,
    y: Any = None,
    *,
    direction: Any,
    at: float,
    detector: str = "step",
    width: float = 0.1,
    threads: int = 0,
    progress: Progress = None,
) -> Climbed:
    """The direction and threshold near the given ones at which the detector is largest."""
    start = np.ascontiguousarray(as_floats(direction, "direction").ravel())
    start = start / np.linalg.norm(start)
    with opened(x, y, threads) as samples, progress_callback(progress) as callback:
        return Climbed(*_core.climb(samples, detector, start, float(at), width, threads, callback))
