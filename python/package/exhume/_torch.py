"""Networks as torch modules. Imported only where torch is asked for."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ._network import Network


class TwoLayerReLU(nn.Module):
    """`f(x) = A max(W x + b, 0) + c + L x` as a torch module: `hidden` holds W and b, `output` A and c, `linear` L."""

    def __init__(self, inputs: int, hidden: int, outputs: int, linear: bool) -> None:
        super().__init__()
        self.hidden = nn.Linear(inputs, hidden, dtype=torch.float64)
        self.output = nn.Linear(hidden, outputs, dtype=torch.float64)
        self.linear = nn.Linear(inputs, outputs, bias=False, dtype=torch.float64) if linear else None

    def forward(self, x: Any) -> Any:
        y = self.output(torch.relu(self.hidden(x)))
        return y if self.linear is None else y + self.linear(x)


def to_module(network: Network) -> TwoLayerReLU:
    module = TwoLayerReLU(network.inputs, network.hidden, network.outputs, network.L is not None)
    parts = {
        "hidden.weight": network.W,
        "hidden.bias": network.b,
        "output.weight": network.A,
        "output.bias": network.c,
    }
    if network.L is not None:
        parts["linear.weight"] = network.L
    module.load_state_dict({name: torch.tensor(part) for name, part in parts.items()})
    return module


def from_module(module: Any) -> Network:
    if isinstance(module, TwoLayerReLU):
        linear = None if module.linear is None else module.linear.weight
        return _network(module.hidden, module.output, linear)
    if not isinstance(module, nn.Module):
        raise ValueError(f"{type(module).__name__} is not a torch.nn.Module")
    skipped = (nn.Flatten, nn.Identity, nn.Dropout)
    layers = [part for part in module.modules() if not list(part.children()) and not isinstance(part, skipped)]
    if [type(layer) for layer in layers] != [nn.Linear, nn.ReLU, nn.Linear]:
        names = ", ".join(type(layer).__name__ for layer in layers)
        raise ValueError(f"the module consists of {names}; expected Linear, ReLU, Linear")
    return _network(layers[0], layers[2], None)


def _network(hidden: Any, output: Any, linear: Any) -> Network:
    def values(parameter: Any, shape: int) -> Any:
        if parameter is None:
            return torch.zeros(shape).double().numpy()
        return parameter.detach().cpu().double().numpy()

    return Network(
        values(hidden.weight, 0),
        values(hidden.bias, hidden.out_features),
        values(output.weight, 0),
        values(output.bias, output.out_features),
        None if linear is None else values(linear, 0),
    )
