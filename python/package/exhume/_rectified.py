"""Networks whose units are no ReLUs: what the routes rectified-... find with other activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import Floats, as_floats, as_rows
from ._network import Alignment, Network
from ._words import counted

_ABOVE_ZERO: dict[str, Callable[[Floats], Floats]] = {
    "square": np.square,
    "cube": lambda z: z**3,
    "exp": np.expm1,
}


class RectifiedNetwork:
    """`f(x) = A u(W x + b) + c`, where u(z) is 0 below zero and z^2, z^3 or e^z - 1 above.

    Parameters
    ----------
    W, b, A, c : arrays
        As in `Network`.
    activation : str
        "square", "cube" or "exp".
    """

    __slots__ = ("_network", "_activation")

    def __init__(self, W: ArrayLike, b: ArrayLike, A: ArrayLike, c: ArrayLike, activation: str) -> None:
        if activation not in _ABOVE_ZERO:
            raise ValueError(
                f"activation is {activation!r}, expected one of {list(_ABOVE_ZERO)}; Network has ReLUs"
            )
        self._network = Network(W, b, A, c)
        self._activation = activation

    @classmethod
    def _of(cls, network: Network, activation: str) -> RectifiedNetwork:
        return cls(network.W, network.b, network.A, network.c, activation)

    @property
    def W(self) -> Floats:
        """Weights of the hidden units, k x d."""
        return self._network.W

    @property
    def b(self) -> Floats:
        """Biases of the hidden units, k."""
        return self._network.b

    @property
    def A(self) -> Floats:
        """Weights of the outputs, m x k."""
        return self._network.A

    @property
    def c(self) -> Floats:
        """Constants of the outputs, m."""
        return self._network.c

    @property
    def activation(self) -> str:
        """Of the units, above zero."""
        return self._activation

    @property
    def inputs(self) -> int:
        """Number of inputs d."""
        return self._network.inputs

    @property
    def hidden(self) -> int:
        """Number of hidden units k."""
        return self._network.hidden

    @property
    def outputs(self) -> int:
        """Number of outputs m."""
        return self._network.outputs

    def __call__(self, x: Any) -> Floats:
        """The outputs for inputs `x`: n x m for n x d, and m for one input of length d."""
        values = as_floats(x, "x")
        rows = as_rows(np.atleast_2d(values), "x")
        if rows.shape[1] != self.inputs:
            raise ValueError(f"x has {rows.shape[1]} columns, but the network has {self.inputs} inputs")
        hidden = _ABOVE_ZERO[self._activation](np.maximum(rows @ self.W.T + self.b, 0))
        out: Floats = hidden @ self.A.T + self.c
        return out.reshape(-1) if values.ndim == 1 else out

    def align(self, other: RectifiedNetwork) -> Alignment:
        """How far `other` is from this network, up to the order of the units, rows of W of unit norm."""
        if self.activation != other.activation:
            raise ValueError(f"the activations differ: {self.activation} and {other.activation}")
        return self._network.align(other._network)

    def to_dict(self) -> dict[str, Any]:
        """The arrays by their names, W, b, A and c, and the activation."""
        return {**self._network.to_dict(), "activation": self._activation}

    def __repr__(self) -> str:
        shape = [
            counted(self.inputs, "input"),
            counted(self.hidden, "hidden unit"),
            counted(self.outputs, "output"),
        ]
        return f"<exhume.RectifiedNetwork: {', '.join(shape)}, activation {self._activation}>"

    def __reduce__(self) -> tuple[type[RectifiedNetwork], tuple[Any, ...]]:
        return RectifiedNetwork, (self.W, self.b, self.A, self.c, self._activation)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RectifiedNetwork):
            return NotImplemented
        return self._activation == other._activation and self._network == other._network

    def __hash__(self) -> int:
        return hash((self._activation, self._network))
