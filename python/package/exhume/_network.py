"""Networks of any depth, of ReLUs or other units."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._arrays import Floats, as_floats, as_rows, frozen
from ._words import counted

if TYPE_CHECKING:
    from torch import nn


class Layer(NamedTuple):
    """One layer of a `Network`: `W h + b`, plus `L (x, h_1, ...)` where there is a skip term."""

    W: Floats
    """Weights, units x units below."""
    b: Floats
    """Biases, one per unit."""
    L: Floats | None = None
    """Weights of the inputs and of all hidden layers but the one right below, or None."""


class Alignment(NamedTuple):
    """How far apart two networks are after the best matching of their units (see `Network.align`)."""

    worst_error: float
    """Largest difference of a parameter, rows of hidden units of unit norm; infinite if not `comparable`."""
    rms_error: float
    """Root mean square over the same differences."""
    match: list[list[int]]
    """Unit i of hidden layer l of the first is unit match[l][i] of the second, both in canonical order."""
    turned: list[list[bool]]
    """Whether unit i of hidden layer l of the first had to be replaced by its negative (only with `free_signs`)."""
    worst_of_layer: list[float]
    """The largest difference in every layer, outputs last."""
    worst_layer: int
    """The hidden layer of the unit with the largest difference, or -1 where it is not in a unit."""
    worst_unit: int
    """That unit, or -1."""
    comparable: bool
    """Same numbers of inputs, outputs and, without idle units, units of every layer."""


class Network:
    """A network of any depth: `h_l = max(W_l h_{l-1} + b_l, 0)`, `f(x) = W h + b` with the last layer.

    With other activations than ReLU these replace `max(z, 0)`: see `activation`.

    One hidden layer has the names of the papers: `f(x) = A max(W x + b, 0) + c + L x`. The arrays are
    read-only float64. Networks can be pickled and compared with `==` (the same numbers); whether two are the
    same function up to the order and scale of their units is what `align` tells.

    Parameters
    ----------
    W : k x d array
        One hidden layer: weights of its units, one unit per row.
    b : k numbers
        Their biases.
    A : m x k array
        Weights of the outputs.
    c : m numbers
        Constants of the outputs.
    L : m x d array, optional
        A linear term.
    layers : sequence of (W, b) or (W, b, L)
        Instead of all the others, any depth: the hidden layers from below, then the outputs. `L` is a skip
        term: it stands on the inputs and on all hidden layers but the one right below, side by side. May also
        be given as the only argument, without its name.
    activation : str
        Of all hidden units: "relu", "tanh", "sigmoid", "gelu", "gelu_tanh", "silu", "softplus", "elu", "selu",
        "erf", "sin", "gaussian", "leaky_relu:0.01", "abs" or "identity".

    >>> import exhume
    >>> net = exhume.Network(W=[[1.0, -1.0]], b=[0.5], A=[[2.0]], c=[0.0])
    >>> net([[1.0, 0.0], [0.0, 2.0]])
    array([[3.],
           [0.]])
    >>> deep = exhume.Network([([[1.0, -1.0]], [0.5]), ([[2.0], [-1.0]], [0.0, 3.0]), ([[1.0, 1.0]], [0.0])])
    >>> deep
    <exhume.Network: 2 inputs, hidden layers of 1 and 2 units, 1 output>
    >>> deep([[1.0, 0.0], [0.0, 2.0]])
    array([[4.5],
           [3. ]])
    """

    __slots__ = ("_core", "_layers")

    def __init__(
        self,
        W: Any = None,
        b: ArrayLike | None = None,
        A: ArrayLike | None = None,
        c: ArrayLike | None = None,
        L: ArrayLike | None = None,
        *,
        layers: Sequence[Sequence[Any]] | None = None,
        activation: str = "relu",
    ) -> None:
        upper = (b, A, c, L)
        if layers is None and all(part is None for part in upper):
            W, layers = None, W
        if layers is None:
            if any(part is None for part in (W, b, A, c)):
                raise ValueError("W, b, A and c belong together; give all four, or layers")
            parts = [_checked((W, b), ("W", "b")), _checked((A, c, L), ("A", "c", "L"))]
        elif W is not None or any(part is not None for part in upper):
            raise ValueError("layers stands instead of W, b, A, c and L; give one or the other")
        else:
            parts = [
                _checked(layer, [f"{name} of layer {i}" for name in "WbL"], i)
                for i, layer in enumerate(layers)
            ]
        self._adopt(_core.Network(parts, activation))

    def _adopt(self, core: _core.Network) -> None:
        self._core = core
        self._layers = tuple(
            Layer(frozen(W), frozen(b), None if L is None else frozen(L)) for W, b, L in core.layers()
        )

    @classmethod
    def _wrap(cls, core: _core.Network) -> Network:
        network = cls.__new__(cls)
        network._adopt(core)
        return network

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Hidden layers from below, then the outputs."""
        return self._layers

    @property
    def activation(self) -> str:
        """Of all hidden units."""
        return str(self._core.activation)

    def _one_hidden_layer(self, name: str) -> tuple[Layer, ...]:
        if len(self._layers) != 2:
            depth = counted(len(self._layers) - 1, "hidden layer")
            raise ValueError(
                f"{name} is about networks of one hidden layer, and this one has {depth}; see layers"
            )
        return self._layers

    @property
    def W(self) -> Floats:
        """Weights of the hidden units, k x d. As b, A, c and L of one hidden layer alone: else ValueError."""
        return self._one_hidden_layer("W")[0].W

    @property
    def b(self) -> Floats:
        """Biases of the hidden units, k."""
        return self._one_hidden_layer("b")[0].b

    @property
    def A(self) -> Floats:
        """Weights of the outputs, m x k."""
        return self._one_hidden_layer("A")[1].W

    @property
    def c(self) -> Floats:
        """Constants of the outputs, m."""
        return self._one_hidden_layer("c")[1].b

    @property
    def L(self) -> Floats | None:
        """Linear term, m x d, or None."""
        return self._one_hidden_layer("L")[1].L

    @property
    def inputs(self) -> int:
        """Number of inputs d."""
        return int(self._layers[0].W.shape[1])

    @property
    def outputs(self) -> int:
        """Number of outputs m."""
        return int(self._layers[-1].W.shape[0])

    @property
    def widths(self) -> list[int]:
        """Units of every hidden layer."""
        return [int(layer.W.shape[0]) for layer in self._layers[:-1]]

    @property
    def hidden(self) -> int:
        """Number of hidden units, of all layers together."""
        return sum(self.widths)

    @property
    def has_skip_terms(self) -> bool:
        """Whether a layer stands on more than the one below it: the linear term, of one hidden layer."""
        return any(layer.L is not None for layer in self._layers)

    def __call__(self, x: Any, *, threads: int = 0) -> Floats:
        """The outputs for inputs `x`: n x m for n x d, and m for one input of length d."""
        values = as_floats(x, "x")
        if values.ndim == 1:
            return self._core.values(np.ascontiguousarray(values.reshape(1, -1)), 1).reshape(-1)
        return self._core.values(as_rows(values, "x"), threads)

    def predict(self, x: Any, *, threads: int = 0) -> Floats:
        """The same as calling the network."""
        return self(x, threads=threads)

    def __repr__(self) -> str:
        *lower, last = self.widths or [0]
        if len(self._layers) == 2:
            hidden, extra = counted(last, "hidden unit"), "a linear term"
        elif lower:
            hidden, extra = f"hidden layers of {', '.join(map(str, lower))} and {last} units", "skip terms"
        else:
            hidden, extra = "no hidden layer", ""
        extra = f", with {extra}" if self.has_skip_terms else ""
        if self.activation != "relu":
            extra = f", {self.activation}{extra}"
        ends = counted(self.inputs, "input"), counted(self.outputs, "output")
        return f"<exhume.Network: {ends[0]}, {hidden}, {ends[1]}{extra}>"

    def to_dict(self) -> dict[str, Floats]:
        """The arrays by their names in files: W, b, A, c, L; of other depths layers.0.W, ..., A, c, L."""
        arrays: dict[str, Floats] = {}
        for number, layer in enumerate(self._layers):
            if number + 1 == len(self._layers):
                names = ("A", "c", "L")
            elif len(self._layers) == 2:
                names = ("W", "b", "")
            else:
                names = (f"layers.{number}.W", f"layers.{number}.b", f"layers.{number}.L")
            arrays |= {name: values for name, values in zip(names, layer) if values is not None}
        return arrays

    def __reduce__(self) -> tuple[Any, tuple[list[tuple[Any, ...]], str]]:
        return _restored, ([tuple(layer) for layer in self._layers], self.activation)

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
        """The same function with unit rows of hidden units, units by decreasing size, idle ones dropped."""
        return Network._wrap(self._core.canonical())

    def align(self, other: Network, *, free_signs: bool = False) -> Alignment:
        """How far `other` is from this network, up to the order and scale of the units of every layer.

        With `free_signs` units may also be replaced by their negatives, which changes the function by a linear
        term in what lies below them.
        """
        found = _core.align(self._core, other._core, free_signs)
        return Alignment(*(getattr(found, field) for field in Alignment._fields))

    def distance(self, other: Network, *, free_signs: bool = False) -> float:
        """The largest difference of a parameter after `align`; infinite for networks of different shape."""
        return self.align(other, free_signs=free_signs).worst_error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .safetensors, .npz or .onnx file, as its ending says, with the names of `to_dict`."""
        self._core.save(os.fspath(path))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Network:
        """The network in a .safetensors, .npz or .onnx file.

        Arrays may also have the names of a PyTorch state dict (`0.weight`, `0.bias`, `2.weight`, ...) or be
        W1, b1, W2, b2, ...; ReLUs then stand between the layers. ONNX models may consist of Gemm, MatMul, Add
        and Relu.
        """
        return Network._wrap(_core.open_network(os.fspath(path)))

    def to_onnx(self, path: str | os.PathLike[str], *, single: bool = False) -> None:
        """Writes an ONNX model with input `x` and output `y`, in double precision unless `single`."""
        self._core.save_onnx(os.fspath(path), single)

    def to_torch(self) -> nn.Module:
        """The same function as a torch module in double precision: `nn.Sequential` of Linear and ReLU.

        With skip terms it is a module of its own. Needs torch.
        """
        from ._torch import to_module

        return to_module(self)

    @staticmethod
    def from_torch(module: Any) -> Network:
        """The network that a torch module computes.

        `module` is what `to_torch` gave, or consists of Linear and ReLU in turn, Linear last (Flatten,
        Identity and Dropout in between are skipped).
        """
        from ._torch import from_module

        return from_module(module)

    @staticmethod
    def from_sklearn(estimator: Any) -> Network:
        """The network of a fitted `sklearn.neural_network.MLPRegressor`, whatever its activation.

        The estimators of `exhume.sklearn` are taken too.
        """
        own = getattr(estimator, "network_", None)
        if isinstance(own, Network):
            return own
        coefs = getattr(estimator, "coefs_", None)
        if coefs is None:
            raise ValueError(f"{type(estimator).__name__} has no coefs_; give a fitted MLPRegressor")
        names = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid", "identity": "identity"}
        if estimator.activation not in names:
            raise ValueError(f"the activation is {estimator.activation!r}, expected one of {list(names)}")
        if estimator.out_activation_ != "identity":
            raise ValueError(f"the outputs go through {estimator.out_activation_!r}; give a regressor")
        layers = [(W.T, b) for W, b in zip(coefs, estimator.intercepts_)]
        return Network(layers, activation=names[estimator.activation])


def _restored(layers: list[tuple[Any, ...]], activation: str) -> Network:
    """A pickled network."""
    return Network(layers, activation=activation)


def _checked(
    layer: Sequence[Any], names: Sequence[str], number: int = 0
) -> tuple[Floats, Floats, Floats | None]:
    """W, b and perhaps L of one layer as the library takes them."""
    if len(layer) not in (2, 3):
        raise ValueError(f"layer {number} has {len(layer)} parts, expected W, b and perhaps L")
    skip = layer[2] if len(layer) == 3 else None
    return (
        as_rows(layer[0], names[0]),
        np.ascontiguousarray(as_floats(layer[1], names[1])),
        None if skip is None else as_rows(skip, names[2]),
    )
