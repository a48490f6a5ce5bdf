"""Two-layer ReLU networks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._arrays import Floats, as_floats, as_rows, frozen
from ._words import counted

if TYPE_CHECKING:
    from ._torch import TwoLayerReLU


class Alignment(NamedTuple):
    """How far apart two networks are after the best matching of their units (see `Network.align`)."""

    worst_error: float
    """Largest difference over all parameters, rows of W of unit norm; infinite where not `comparable`."""
    rms_error: float
    """Root mean square over the same differences."""
    match: list[int]
    """Unit i of the first network corresponds to unit match[i] of the second, both in canonical order."""
    turned: list[bool]
    """Whether unit i of the first had to be turned around (only with `free_signs`)."""
    worst_unit: int
    """The unit with the largest difference, or -1 where it is not in a unit."""
    comparable: bool
    """Same numbers of inputs, outputs and, without idle units, hidden units."""


class Network:
    """A two-layer ReLU network, `f(x) = A max(W x + b, 0) + c + L x`.

    The arrays are read-only float64. Networks can be pickled and compared with `==` (the same numbers); whether two
    are the same function up to the order and scale of their units is what `align` tells.

    Parameters
    ----------
    W : k x d array
        Weights of the hidden units, one a row.
    b : k numbers
        Their biases.
    A : m x k array
        Weights of the outputs.
    c : m numbers
        Constants of the outputs.
    L : m x d array, optional
        A linear term.

    >>> import exhume
    >>> net = exhume.Network(W=[[1.0, -1.0]], b=[0.5], A=[[2.0]], c=[0.0])
    >>> net([[1.0, 0.0], [0.0, 2.0]])
    array([[3.],
           [0.]])
    """

    __slots__ = ("_core", "_W", "_b", "_A", "_c", "_L")

    def __init__(self, W: ArrayLike, b: ArrayLike, A: ArrayLike, c: ArrayLike, L: ArrayLike | None = None) -> None:
        self._adopt(
            _core.Network(
                as_rows(W, "W"),
                np.ascontiguousarray(as_floats(b, "b")),
                as_rows(A, "A"),
                np.ascontiguousarray(as_floats(c, "c")),
                None if L is None else as_rows(L, "L"),
            )
        )

    def _adopt(self, core: _core.Network) -> None:
        self._core = core
        self._W, self._b, self._A, self._c = (frozen(part) for part in (core.W, core.b, core.A, core.c))
        self._L = None if core.L is None else frozen(core.L)

    @classmethod
    def _wrap(cls, core: _core.Network) -> Network:
        network = cls.__new__(cls)
        network._adopt(core)
        return network

    @property
    def W(self) -> Floats:
        """Weights of the hidden units, k x d."""
        return self._W

    @property
    def b(self) -> Floats:
        """Biases of the hidden units, k."""
        return self._b

    @property
    def A(self) -> Floats:
        """Weights of the outputs, m x k."""
        return self._A

    @property
    def c(self) -> Floats:
        """Constants of the outputs, m."""
        return self._c

    @property
    def L(self) -> Floats | None:
        """Linear term, m x d, or None."""
        return self._L

    @property
    def inputs(self) -> int:
        """Number of inputs d."""
        return int(self._W.shape[1])

    @property
    def hidden(self) -> int:
        """Number of hidden units k."""
        return int(self._W.shape[0])

    @property
    def outputs(self) -> int:
        """Number of outputs m."""
        return int(self._A.shape[0])

    def __call__(self, x: Any, *, threads: int = 0) -> Floats:
        """The outputs for inputs `x`: n x m for n x d, and m for one input of length d."""
        values = as_floats(x, "x")
        if values.ndim == 1:
            return self._core.values(np.ascontiguousarray(values.reshape(1, -1)), 1).reshape(-1)
        return self._core.values(as_rows(values, "x"), threads)

    def __repr__(self) -> str:
        linear = ", with a linear term" if self._L is not None else ""
        shape = [counted(self.inputs, "input"), counted(self.hidden, "hidden unit"), counted(self.outputs, "output")]
        return f"<exhume.Network: {', '.join(shape)}{linear}>"

    def to_dict(self) -> dict[str, Floats]:
        """The arrays by their names: W, b, A, c and, where present, L."""
        return {name: part for name, part in zip("WbAcL", self._parts()) if part is not None}

    def _parts(self) -> tuple[Floats, Floats, Floats, Floats, Floats | None]:
        return self._W, self._b, self._A, self._c, self._L

    def __reduce__(self) -> tuple[type[Network], tuple[Floats, Floats, Floats, Floats, Floats | None]]:
        return Network, self._parts()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return self._core.safetensors() == other._core.safetensors()

    def __hash__(self) -> int:
        return hash(self._core.safetensors())

    def _files(self) -> list[tuple[str, bytes]]:
        """What lies beside a certificate."""
        return [("network.safetensors", self._core.safetensors()), ("network.onnx", self._core.onnx(False))]

    def canonical(self) -> Network:
        """The same function with rows of W of unit norm, units by decreasing size, idle units dropped."""
        return Network._wrap(self._core.canonical())

    def align(self, other: Network, *, free_signs: bool = False) -> Alignment:
        """How far `other` is from this network, up to the order and scale of the units.

        With `free_signs` units may also be turned around, which changes the function by a linear one.
        """
        found = _core.align(self._core, other._core, free_signs)
        return Alignment(
            found.worst_error, found.rms_error, found.match, found.turned, found.worst_unit, found.comparable
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .safetensors file with the tensors W, b, A, c and, where present, L."""
        self._core.save(os.fspath(path))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Network:
        """The network in a .safetensors file, or in an .npz with arrays of the same names."""
        return Network._wrap(_core.open_network(os.fspath(path)))

    def to_onnx(self, path: str | os.PathLike[str], *, single: bool = False) -> None:
        """Writes an ONNX model with input `x` and output `y`, in double precision unless `single`."""
        self._core.save_onnx(os.fspath(path), single)

    def to_torch(self) -> TwoLayerReLU:
        """The same function as a `torch.nn.Module` in double precision. Needs torch."""
        from ._torch import to_module

        return to_module(self)

    @staticmethod
    def from_torch(module: Any) -> Network:
        """The network that a torch module computes.

        `module` is what `to_torch` gave, or consists of Linear, ReLU, Linear in this order (Flatten, Identity and
        Dropout in between are skipped).
        """
        from ._torch import from_module

        return from_module(module)

    @staticmethod
    def from_sklearn(estimator: Any) -> Network:
        """The network of a fitted `sklearn.neural_network.MLPRegressor` with one hidden layer of ReLU units.

        The estimators of `exhume.sklearn` are taken too.
        """
        own = getattr(estimator, "network_", None)
        if isinstance(own, Network):
            return own
        coefs = getattr(estimator, "coefs_", None)
        if coefs is None:
            raise ValueError(f"{type(estimator).__name__} has no coefs_; give a fitted MLPRegressor")
        if len(coefs) != 2:
            raise ValueError(f"the network has {len(coefs) - 1} hidden layers, expected 1")
        if estimator.activation != "relu":
            raise ValueError(f"the activation is {estimator.activation!r}, expected 'relu'")
        if estimator.out_activation_ != "identity":
            raise ValueError(f"the outputs go through {estimator.out_activation_!r}; give a regressor")
        first, second = coefs
        return Network(first.T, estimator.intercepts_[0], second.T, estimator.intercepts_[1])
