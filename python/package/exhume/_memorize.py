"""Networks that fit any labels."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from . import _core
from ._arrays import Floats, as_rows, frozen
from ._options import seed_of
from ._progress import Progress, progress_callback
from ._samples import taken_apart
from ._words import counted


class QuadraticNetwork:
    """A network of quadratic units, `f(x) = A (W z)^2` with `z = x` or `(R x)^power`, entry by entry.

    Parameters
    ----------
    W : r x k array
        The trained layer, one unit per row (k = d in two layers).
    A : m x r array
        Signs: which output a unit belongs to, with +1 or -1.
    R : k x d array, optional
        The random first layer of a three-layer network.
    power : int
        Power of the first layer.
    """

    __slots__ = ("_core", "_W", "_A", "_R")

    def __init__(self, W: ArrayLike, A: ArrayLike, R: ArrayLike | None = None, power: int = 1) -> None:
        first = None if R is None else as_rows(R, "R")
        self._adopt(_core.QuadraticNetwork(first, power, as_rows(W, "W"), as_rows(A, "A")))

    def _adopt(self, core: _core.QuadraticNetwork) -> None:
        self._core = core
        self._W, self._A = frozen(core.W), frozen(core.A)
        self._R = None if core.R is None else frozen(core.R)

    @classmethod
    def _wrap(cls, core: _core.QuadraticNetwork) -> QuadraticNetwork:
        network = cls.__new__(cls)
        network._adopt(core)
        return network

    @property
    def W(self) -> Floats:
        """The trained layer, r x k."""
        return self._W

    @property
    def A(self) -> Floats:
        """Signs on top of it, m x r."""
        return self._A

    @property
    def R(self) -> Floats | None:
        """The random first layer, k x d, or None in two layers."""
        return self._R

    @property
    def power(self) -> int:
        """Power of the first layer; 1 in two layers."""
        return self._core.power

    @property
    def inputs(self) -> int:
        """Number of inputs d."""
        return int((self._W if self._R is None else self._R).shape[1])

    @property
    def hidden(self) -> int:
        """Number of trained units r."""
        return int(self._W.shape[0])

    @property
    def outputs(self) -> int:
        """Number of outputs m."""
        return int(self._A.shape[0])

    @property
    def parameters(self) -> int:
        """Numbers that training chose: the entries of W, and one sign per unit."""
        return self._core.parameters

    def __call__(self, x: Any, *, threads: int = 0) -> Floats:
        """The outputs for inputs `x`: n x m for n x d."""
        return self._core.values(as_rows(x, "x"), threads)

    def __repr__(self) -> str:
        features = "" if self._R is None else f"{len(self._R)} features to the power {self.power}, "
        units = counted(self.hidden, "quadratic unit")
        ends = counted(self.inputs, "input"), counted(self.outputs, "output")
        return f"<exhume.QuadraticNetwork: {ends[0]}, {features}{units}, {ends[1]}>"

    def to_dict(self) -> dict[str, Any]:
        """The arrays by their names, W, A and, in three layers, R, and the power."""
        first = {} if self._R is None else {"R": self._R}
        return {**first, "W": self._W, "A": self._A, "power": self.power}

    def __reduce__(self) -> tuple[type[QuadraticNetwork], tuple[Floats, Floats, Floats | None, int]]:
        return QuadraticNetwork, (self._W, self._A, self._R, self.power)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QuadraticNetwork):
            return NotImplemented
        return self._core.safetensors() == other._core.safetensors()

    def __hash__(self) -> int:
        return hash(self._core.safetensors())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .safetensors file."""
        self._core.save(os.fspath(path))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> QuadraticNetwork:
        """The network in a .safetensors file that `save` or `exhume memorize` wrote."""
        return QuadraticNetwork._wrap(_core.open_quadratic_network(os.fspath(path)))

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Writes an ONNX model in double precision."""
        self._core.save_onnx(os.fspath(path))


class Memorized(NamedTuple):
    """What `memorize` made."""

    network: QuadraticNetwork
    """The network."""
    memorized: bool
    """Whether the labels are fitted to the tolerance."""
    reason: str
    """One sentence: why, or why not."""
    relative_error: float
    """Squared error over the variance of the labels, on `inputs`."""
    given_relative_error: float
    """The same on the rows as given, before normalising and perturbing."""
    worst_error: float
    """Largest |f - y| on `inputs`."""
    accuracy: float
    """Share of labels that are right, where they are whole numbers or classes; 1 for others."""
    capacity: float
    """The largest number of rows that these layers could fit."""
    inputs: Floats
    """The rows memorised: as given, or normalised and perturbed."""
    targets: Floats
    """What they were fitted to."""
    classes: list[float]
    """The class of every output, with `classes=True`."""
    certificate: dict[str, Any]
    """The certificate: all that certificate.json holds, with the same keys."""

    def __repr__(self) -> str:
        said = "memorised" if self.memorized else "not memorised"
        return f"<exhume.Memorized: {counted(len(self.inputs), 'row')} {said}, {self.network!r}>"


def memorize(
    x: Any,
    y: Any = None,
    *,
    target: str | Sequence[str] | None = None,
    method: str = "closed",
    layers: int | str = "auto",
    hidden: int = 0,
    features: int = 0,
    power: int = 0,
    perturb: float = 0.0,
    normalize: bool = False,
    classes: bool = False,
    tolerance: float = 1e-12,
    iterations: int = 20000,
    epsilon: float = 1e-3,
    decay_epochs: int = 15,
    memory: float = 4.0,
    seed: int = 0,
    threads: int = 0,
    progress: Progress = None,
) -> Memorized:
    """A small network of quadratic units that fits any labels.

    Parameters
    ----------
    x, y : arrays
        Inputs n x d and labels n x m (or n numbers).
    target : str or sequence of str
        Columns of the data frame x that are labels.
    method : str
        "closed": one linear solve; "pgd": perturbed gradient descent; "pgd-printed": the same with the
        constants of the theorem; "adam".
    layers : 2, 3 or "auto"
        Two layers fit up to d (d + 1) / 2 rows in general position; three fit more.
    hidden : int
        Units per output, for the descents; 0 for as many as the theory asks for.
    features, power : int
        Size and power of the random first layer of three; 0 chooses.
    perturb : float
        Standard deviation of noise added to the inputs first.
    normalize : bool
        Divide rows by their norms first.
    classes : bool
        Whole-number labels become one output per class.
    tolerance : float
        Relative error up to which labels count as memorised.
    iterations : int
        Most iterations of a descent.
    epsilon : float
        Target for the objective of "pgd-printed".
    decay_epochs : int
        Epochs between cuts of Adam's rate.
    memory : float
        Most memory for the solve, in GiB; conjugate gradients where the kernel would not fit.
    seed : int
        Of every random choice.
    threads, progress
        As in `recover`.

    Raises
    ------
    DataError
        No network of this kind can fit: rows on one line through the origin whose labels disagree, or more
        rows than the layers' capacity.

    >>> import numpy as np, exhume
    >>> random = np.random.default_rng(0)
    >>> x, y = random.standard_normal((50, 10)), random.standard_normal(50)
    >>> exhume.memorize(x, y).memorized
    True
    """
    if layers == "auto":
        layers = 0
    elif layers not in (2, 3):
        raise ValueError(f"layers is {layers!r}, expected 2, 3 or 'auto'")
    x, y = taken_apart(x, y, target)
    inputs, labels = as_rows(x, "x"), as_rows(y, "y", one_column=True)
    with progress_callback(progress) as callback:
        found = _core.memorize(
            *(inputs, labels, method, int(layers), hidden, features, power, perturb, normalize, classes),
            *(tolerance, iterations, epsilon, decay_epochs, memory, seed_of(seed), threads, callback),
        )
    return Memorized(
        network=QuadraticNetwork._wrap(found.network),
        certificate=json.loads(found.certificate()),
        **{
            name: getattr(found, name) for name in Memorized._fields if name not in ("network", "certificate")
        },
    )
