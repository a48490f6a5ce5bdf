"""Networks as torch modules. Imported only where torch is asked for."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ._deep_network import DeepNetwork, Layer
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
    layers = _leaves(module)
    if [type(layer) for layer in layers] != [nn.Linear, nn.ReLU, nn.Linear]:
        names = ", ".join(type(layer).__name__ for layer in layers)
        raise ValueError(f"the module consists of {names}; expected Linear, ReLU, Linear")
    return _network(layers[0], layers[2], None)


def _leaves(module: Any) -> list[Any]:
    """The parts of a module that compute something, in their order."""
    if not isinstance(module, nn.Module):
        raise ValueError(f"{type(module).__name__} is not a torch.nn.Module")
    skipped = (nn.Flatten, nn.Identity, nn.Dropout)
    return [part for part in module.modules() if not list(part.children()) and not isinstance(part, skipped)]


def _values(parameter: Any, size: int) -> Any:
    """A parameter as an array; `size` zeros where there is none."""
    if parameter is None:
        return torch.zeros(size).double().numpy()
    return parameter.detach().cpu().double().numpy()


def _network(hidden: Any, output: Any, linear: Any) -> Network:
    return Network(
        _values(hidden.weight, 0),
        _values(hidden.bias, hidden.out_features),
        _values(output.weight, 0),
        _values(output.bias, output.out_features),
        None if linear is None else _values(linear, 0),
    )


class SkipReLU(nn.Module):
    """Layers of which some also stand on what lies further below: `layers[l]` holds W and b, `skips[l]` L or nothing."""

    def __init__(self, network: DeepNetwork) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_linear(layer.W, layer.b) for layer in network.layers)
        self.skips = nn.ModuleList(
            nn.Identity() if layer.L is None else _linear(layer.L, None) for layer in network.layers
        )

    def forward(self, x: Any) -> Any:
        lower: list[Any] = []
        for number, (layer, skip) in enumerate(zip(self.layers, self.skips)):
            z = layer(x)
            if isinstance(skip, nn.Linear):
                z = z + skip(torch.cat(lower, dim=-1))
            lower.append(x)
            x = z if number + 1 == len(self.layers) else torch.relu(z)
        return x


def _linear(W: Any, b: Any) -> nn.Linear:
    layer = nn.Linear(W.shape[1], W.shape[0], bias=b is not None, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(W))
        if b is not None:
            layer.bias.copy_(torch.tensor(b))
    return layer


def to_deep_module(network: DeepNetwork) -> nn.Module:
    if network.has_skip_terms:
        return SkipReLU(network)
    parts: list[nn.Module] = []
    for layer in network.layers:
        parts += [_linear(layer.W, layer.b), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def from_deep_module(module: Any) -> DeepNetwork:
    if isinstance(module, SkipReLU):
        skips = [_values(skip.weight, 0) if isinstance(skip, nn.Linear) else None for skip in module.skips]
        return DeepNetwork([(*_layer(part)[:2], skip) for part, skip in zip(module.layers, skips)])
    if isinstance(module, TwoLayerReLU):
        return DeepNetwork.from_network(from_module(module))
    parts = _leaves(module)
    expected = [nn.ReLU if place % 2 else nn.Linear for place in range(len(parts))]
    if len(parts) % 2 == 0 or [type(part) for part in parts] != expected:
        names = ", ".join(type(part).__name__ for part in parts)
        raise ValueError(f"the module consists of {names}; expected Linear and ReLU in turn, Linear last")
    return DeepNetwork([_layer(part) for part in parts[::2]])


def _layer(linear: Any) -> Layer:
    return Layer(_values(linear.weight, 0), _values(linear.bias, linear.out_features))
