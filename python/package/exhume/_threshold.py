"""The lowest layer under anything, and halfspaces from labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from . import _core
from ._arrays import Floats, as_rows
from ._options import seed_of, units_of
from ._progress import Progress, progress_callback
from ._result import Status
from ._samples import is_path, opened, taken_apart
from ._words import counted


class Assumption(NamedTuple):
    """One check."""

    name: str
    """What is checked."""
    value: float
    """What was measured."""
    threshold: float
    """What it is measured against."""
    holds: bool
    """Whether the value is on the right side of the threshold."""


class LowestLayer(NamedTuple):
    """What `lowest_layer` found."""

    W: Floats
    """Directions, k x d, unit rows; sigmoids: with the norm that was fitted."""
    t: Floats
    """Thresholds, k: unit i is active where W[i] . x > t[i]."""
    start: Floats
    """Directions after step 1, before refinement."""
    worst_error: float
    """Largest standard error of a direction, in radians."""
    activation: str
    """"relu", "sign" or "sigmoid", as given or as found."""
    status: Status
    """"certified", "uncertified" or "refused"."""
    reason: str
    """One sentence: why this status."""
    assumptions: list[Assumption]
    """All checks."""
    certificate: dict[str, Any]
    """The certificate: all that certificate.json holds, with the same keys."""

    def __repr__(self) -> str:
        units, inputs = self.W.shape
        shape = f"{counted(units, f'{self.activation} unit')} of {counted(inputs, 'input')}"
        return f"<exhume.LowestLayer: {self.status}, {shape}>"


def _layer(found: _core.LowestLayerResult, certificate: str) -> LowestLayer:
    assumptions = [Assumption(*row) for row in found.assumptions]
    says = found.activation, cast(Status, found.status), found.reason, assumptions, json.loads(certificate)
    return LowestLayer(found.W, found.t, found.start, found.worst_error, *says)


def lowest_layer(
    x: Any,
    y: Any = None,
    hidden: int | str = "auto",
    *,
    target: str | Sequence[str] | None = None,
    activation: str = "auto",
    start: str = "tensor",
    refine: bool = True,
    biased: bool = False,
    seed: int = 0,
    threads: int = 0,
    progress: Progress = None,
) -> LowestLayer:
    """Recovers the first layer of a deep network, whatever lies above it, from Gaussian inputs.

    `f(x) = P(u(W[0] . x - t[0]), u(W[1] . x - t[1]), ...)` with high thresholds; P need not be known.

    Parameters
    ----------
    x, y
        Samples as in `recover`, with one output.
    hidden : int or "auto"
        Number of units.
    target : str or sequence of str
        Columns of the table x that are outputs, as in `recover`.
    activation : str
        Of u: "auto", "relu", "sign" or "sigmoid".
    start : str
        How directions are found first: "tensor", "one-by-one" or "simultaneous".
    refine : bool
        Whether every unit is then fitted on the rows where it is alone; sigmoids: all of them together.
    biased : bool
        Whether rows were kept with a probability proportional to the output; for sigmoids.
    seed, threads, progress
        As in `recover`.
    """
    x, y = taken_apart(x, y, target)
    with (
        opened(x, y, threads, target=target if is_path(x) else None) as samples,
        progress_callback(progress) as callback,
    ):
        found = _core.lowest_layer(
            samples, units_of(hidden), activation, start, refine, biased, seed_of(seed), threads, callback
        )
        return _layer(found, found.certificate(samples))


class Halfspaces:
    """A union or an intersection of halfspaces, as `halfspaces` finds it."""

    def __init__(
        self,
        layer: LowestLayer,
        intersection: bool,
        labels: tuple[float, float],
        flip_rate: float,
        agreement: float,
    ) -> None:
        self.layer = layer
        """The boundaries, with status, reason and assumptions."""
        self.intersection = intersection
        """Whether label 1 means the far side of no boundary; otherwise, of some boundary."""
        self.labels = labels
        """The two labels: on no boundary's far side, on some boundary's far side."""
        self.flip_rate = flip_rate
        """Estimated share of labels that were flipped."""
        self.agreement = agreement
        """Share of held-out labels that the set gives."""

    @property
    def W(self) -> Floats:
        """Normals, k x d, unit rows."""
        return self.layer.W

    @property
    def t(self) -> Floats:
        """Offsets, k: the far side of boundary i is where W[i] . x > t[i]."""
        return self.layer.t

    @property
    def status(self) -> Status:
        """ "certified", "uncertified" or "refused"."""
        return self.layer.status

    @property
    def reason(self) -> str:
        """One sentence: why this status."""
        return self.layer.reason

    @property
    def certificate(self) -> dict[str, Any]:
        """The certificate: all that certificate.json holds, with the same keys."""
        return self.layer.certificate

    def __call__(self, x: Any) -> Floats:
        """The label of every row of `x`."""
        far = (as_rows(x, "x") @ self.W.T > self.t).any(axis=1)
        return np.where(far, self.labels[1], self.labels[0]).astype(np.float64)

    def __repr__(self) -> str:
        kind = "intersection" if self.intersection else "union"
        return f"<exhume.Halfspaces: {kind} of {len(self.t)} in {self.W.shape[1]} dimensions, {self.status}>"


def halfspaces(
    x: Any,
    y: Any = None,
    hidden: int | str = "auto",
    *,
    target: str | Sequence[str] | None = None,
    seed: int = 0,
    threads: int = 0,
    progress: Progress = None,
) -> Halfspaces:
    """Recovers a union or an intersection of halfspaces far from the origin, from Gaussian inputs.

    Parameters
    ----------
    x, y
        Samples as in `recover`; y is one column with exactly two values. Labels flipped at random are
        allowed.
    hidden : int or "auto"
        Number of halfspaces.
    target : str or sequence of str
        Columns of the table x that are outputs, as in `recover`.
    seed, threads, progress
        As in `recover`.

    Raises
    ------
    DataError
        The labels take more or fewer than two values.
    """
    x, y = taken_apart(x, y, target)
    with (
        opened(x, y, threads, target=target if is_path(x) else None) as samples,
        progress_callback(progress) as callback,
    ):
        found = _core.halfspaces(samples, units_of(hidden), seed_of(seed), threads, callback)
        layer = _layer(found, found.certificate(samples))
    found_set = found.set
    assert found_set is not None
    return Halfspaces(
        layer, found_set.intersection, found_set.labels, found_set.flip_rate, found_set.agreement
    )
