"""ReLU networks of any depth."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from ._arrays import Floats, as_floats, as_rows, frozen
from ._network import Network
from ._words import counted

if TYPE_CHECKING:
    from torch import nn


class Layer(NamedTuple):
    """One layer of a `DeepNetwork`: `W h + b`, plus `L (x, h_1, ...)` where there is a skip term."""

    W: Floats
    """Weights, units x units below."""
    b: Floats
    """Biases, one a unit."""
    L: Floats | None = None
    """Weights of the inputs and of all hidden layers but the one right below, or None."""


class DeepAlignment(NamedTuple):
    """How far apart two networks of several layers are after the best matching of their units."""

    worst_error: float
    """Largest difference over all parameters, rows of hidden units of unit norm; infinite where not `comparable`."""
    rms_error: float
    """Root mean square over the same differences."""
    worst_of_layer: list[float]
    """The largest difference in every layer, outputs last."""
    match: list[list[int]]
    """Unit i of hidden layer l of the first network is unit match[l][i] of the second, both in canonical order."""
    comparable: bool
    """Same numbers of inputs, outputs and, without idle units, units of every layer."""


class DeepNetwork:
    """A ReLU network of any depth: `h_l = max(W_l h_{l-1} + b_l, 0)`, `f(x) = W h + b` with the last layer.

    The arrays are read-only float64. Networks can be pickled and compared with `==` (the same numbers); whether two
    are the same function up to the order and scale of their units is what `align` tells.

    Parameters
    ----------
    layers : sequence of (W, b) or (W, b, L)
        The hidden layers from below, then the outputs. `L` is a skip term: it stands on the inputs and on all hidden
        layers but the one right below, side by side.

    >>> import exhume
    >>> net = exhume.DeepNetwork([([[1.0, -1.0]], [0.5]), ([[2.0], [-1.0]], [0.0, 3.0]), ([[1.0, 1.0]], [0.0])])
    >>> net
    <exhume.DeepNetwork: 2 inputs, hidden layers of 1 and 2 units, 1 output>
    >>> net([[1.0, 0.0], [0.0, 2.0]])
    array([[4.5],
           [3. ]])
    """

    __slots__ = ("_core", "_layers")

    def __init__(self, layers: Sequence[Sequence[Any]]) -> None:
        parts = []
        for number, layer in enumerate(layers):
            if len(layer) not in (2, 3):
                raise ValueError(f"layer {number} has {len(layer)} parts, expected W, b and perhaps L")
            skip = layer[2] if len(layer) == 3 else None
            parts.append(
                (
                    as_rows(layer[0], f"W of layer {number}"),
                    np.ascontiguousarray(as_floats(layer[1], f"b of layer {number}")),
                    None if skip is None else as_rows(skip, f"L of layer {number}"),
                )
            )
        self._adopt(_core.DeepNetwork(parts))

    def _adopt(self, core: _core.DeepNetwork) -> None:
        self._core = core
        self._layers = tuple(
            Layer(frozen(W), frozen(b), None if L is None else frozen(L)) for W, b, L in core.layers()
        )

    @classmethod
    def _wrap(cls, core: _core.DeepNetwork) -> DeepNetwork:
        network = cls.__new__(cls)
        network._adopt(core)
        return network

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Hidden layers from below, then the outputs."""
        return self._layers

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self._layers[0].W.shape[1])

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self._layers[-1].W.shape[0])

    @property
    def widths(self) -> list[int]:
        """Units of every hidden layer."""
        return [int(layer.W.shape[0]) for layer in self._layers[:-1]]

    @property
    def has_skip_terms(self) -> bool:
        """Whether a layer stands on more than the one below it."""
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
        widths = self.widths
        listed = " and ".join(filter(None, [", ".join(map(str, widths[:-1])), str(widths[-1])])) if widths else ""
        hidden = f"hidden layer{'' if len(widths) == 1 else 's'} of {listed} units" if widths else "no hidden layer"
        skips = ", with skip terms" if self.has_skip_terms else ""
        return (
            f"<exhume.DeepNetwork: {counted(self.inputs, 'input')}, {hidden}, {counted(self.outputs, 'output')}{skips}>"
        )

    def to_dict(self) -> dict[str, Floats]:
        """The arrays by the names they have in files: layers.0.W, layers.0.b, ..., A, c."""
        arrays = {}
        for number, layer in enumerate(self._layers):
            top = number + 1 == len(self._layers)
            for part, values in zip("WbL", layer):
                name = {"W": "A", "b": "c", "L": "L"}[part] if top else f"layers.{number}.{part}"
                if values is not None:
                    arrays[name] = values
        return arrays

    def __reduce__(self) -> tuple[type[DeepNetwork], tuple[list[tuple[Any, ...]]]]:
        return DeepNetwork, ([tuple(layer) for layer in self._layers],)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeepNetwork):
            return NotImplemented
        return self._core.safetensors() == other._core.safetensors()

    def __hash__(self) -> int:
        return hash(self._core.safetensors())

    def _files(self) -> list[tuple[str, bytes]]:
        """What lies beside a certificate."""
        return [("network.safetensors", self._core.safetensors()), ("network.onnx", self._core.onnx(False))]

    def canonical(self) -> DeepNetwork:
        """The same function with rows of hidden units of unit norm, units by decreasing size, idle units dropped."""
        return DeepNetwork._wrap(self._core.canonical())

    def align(self, other: DeepNetwork, *, free_signs: bool = False) -> DeepAlignment:
        """How far `other` is from this network, up to the order and scale of the units of every layer.

        With `free_signs` units may also be turned around, which changes the skip terms above them.
        """
        found = _core.align_layers(self._core, other._core, free_signs)
        return DeepAlignment(
            found.worst_error, found.rms_error, found.worst_of_layer, found.match, found.comparable
        )

    def distance(self, other: DeepNetwork, *, free_signs: bool = False) -> float:
        """The largest difference of a parameter after `align`; infinite for networks of different shape."""
        return self.align(other, free_signs=free_signs).worst_error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .safetensors, .npz or .onnx file, as the ending says.

        The arrays are called `layers.0.W`, `layers.0.b`, ..., `A` and `c`; those of a single hidden layer W, b, A, c as
        `Network` has them.
        """
        name = os.fspath(path)
        writers: dict[str, Callable[[str], None]] = {
            ".safetensors": self._core.save,
            ".npz": self._core.save_npz,
            ".onnx": self.to_onnx,
        }
        ending = os.path.splitext(name)[1].lower()
        if ending not in writers:
            raise ValueError(f"{name} must end in .safetensors, .npz or .onnx")
        writers[ending](name)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> DeepNetwork:
        """The network in a .safetensors, .npz or .onnx file.

        Arrays may also have the names of a PyTorch state dict (`0.weight`, `0.bias`, `2.weight`, ...) or be W1, b1, W2,
        b2, ...; ReLUs then stand between the layers. ONNX models may consist of Gemm, MatMul, Add and Relu.
        """
        return DeepNetwork._wrap(_core.open_deep_network(os.fspath(path)))

    def to_onnx(self, path: str | os.PathLike[str], *, single: bool = False) -> None:
        """Writes an ONNX model with input `x` and output `y`, in double precision unless `single`."""
        self._core.save_onnx(os.fspath(path), single)

    @staticmethod
    def from_network(network: Network) -> DeepNetwork:
        """A `Network` as one with a single hidden layer."""
        return DeepNetwork([(network.W, network.b), (network.A, network.c, network.L)])

    def to_network(self) -> Network:
        """The network as a `Network`; it must have one hidden layer."""
        if len(self._layers) != 2:
            raise ValueError(f"the network has {len(self._layers) - 1} hidden layers, expected 1")
        (W, b, _), (A, c, L) = self._layers
        return Network(W, b, A, c, L)

    def to_torch(self) -> nn.Module:
        """The same function as a torch module in double precision: a plain `nn.Sequential` of Linear and ReLU.

        With skip terms it is a module of its own. Needs torch.
        """
        from ._torch import to_deep_module

        return to_deep_module(self)

    @staticmethod
    def from_torch(module: Any) -> DeepNetwork:
        """The network that a torch module computes.

        `module` is what `to_torch` gave, or consists of Linear and ReLU in turn, Linear last (Flatten, Identity and
        Dropout in between are skipped).
        """
        from ._torch import from_deep_module

        return from_deep_module(module)
