"""Networks of ReLU layers, and their files.

    h_0 = x,   h_l = max(W_l h_{l-1} + b_l + L_l (x, h_1, ..., h_{l-2}), 0),   f(x) = A h_D + c + L (x, h_1, ..., h_{D-1})

The skip terms L are there where Exhume needed them.
"""

import json
import pathlib
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Network:
    layers: list  # of (W, b): W is units x inputs
    A: np.ndarray  # outputs x units of the last layer
    c: np.ndarray  # outputs
    L: np.ndarray | None = None  # outputs x (inputs + units of all layers but the last)
    skips: dict = field(default_factory=dict)  # of hidden layers, by number from 0

    @property
    def widths(self):
        return [len(b) for _, b in self.layers]

    def __call__(self, x):
        below, h = [], x  # all values below the last ones, and the last ones
        for number, (W, b) in enumerate(self.layers):
            z = h @ W.T + b
            if number in self.skips:
                z = z + np.column_stack(below) @ self.skips[number].T
            below.append(h)
            h = np.maximum(z, 0)
        y = h @ self.A.T + self.c
        return y if self.L is None else y + np.column_stack(below) @ self.L.T

    def arrays(self):
        """Names as in Exhume's files: W, b, A, c, or layers.0.W, layers.0.b, ..., A, c."""
        if len(self.layers) == 1:
            named = {"W": self.layers[0][0], "b": self.layers[0][1]}
        else:
            named = {f"layers.{i}.{key}": part for i, layer in enumerate(self.layers) for key, part in zip("Wb", layer)}
        named |= {f"layers.{i}.L": skip for i, skip in self.skips.items()}
        named |= {"A": self.A, "c": self.c}
        return named if self.L is None else named | {"L": self.L}


def one_layer(W, b, A, c, L=None):
    A = np.atleast_2d(np.asarray(A, float))
    return Network([(np.asarray(W, float), np.asarray(b, float))], A, np.atleast_1d(np.asarray(c, float)), L)


def from_arrays(named):
    if "W" in named:
        layers = [(named["W"], named["b"])]
    else:
        depth = sum(name.startswith("layers.") and name.endswith(".W") for name in named)
        layers = [(named[f"layers.{i}.W"], named[f"layers.{i}.b"]) for i in range(depth)]
    skips = {i: named[f"layers.{i}.L"] for i in range(len(layers)) if f"layers.{i}.L" in named}
    return Network(layers, named["A"], named["c"], named.get("L"), skips)


def read_safetensors(path):
    """The F64 tensors of a safetensors file, by name."""
    raw = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(raw[start + begin : start + end], dtype="<f8").reshape(entry["shape"])
    return tensors


def write_safetensors(path, named):
    header, blocks, at = {}, [], 0
    for name, tensor in named.items():
        block = np.ascontiguousarray(tensor, "<f8").tobytes()
        header[name] = {"dtype": "F64", "shape": list(np.shape(tensor)), "data_offsets": [at, at + len(block)]}
        blocks.append(block)
        at += len(block)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + b"".join(blocks))
