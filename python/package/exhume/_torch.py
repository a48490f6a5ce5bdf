"""Networks as torch modules. Imported only where torch is asked for."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ._network import Layer, Network


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


class SkipReLU(nn.Module):
    """A network with skip terms: `layers[l]` holds W and b, `skips[l]` L or nothing."""

    def __init__(self, network: Network) -> None:
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


class Unit(nn.Module):
    """An activation that torch has as a function only."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, z: Any) -> Any:
        if self.name == "gaussian":
            return torch.exp(-z * z)
        return {"erf": torch.erf, "sin": torch.sin, "abs": torch.abs}[self.name](z)


_UNITS = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
    "selu": nn.SELU,
    "identity": nn.Identity,
}


def _unit(activation: str) -> nn.Module:
    """The module of an activation of the table."""
    name, _, number = activation.partition(":")
    if name == "leaky_relu":
        return nn.LeakyReLU(float(number or 0.01))
    if name == "elu":
        return nn.ELU(float(number or 1.0))
    if name == "gelu_tanh":
        return nn.GELU(approximate="tanh")
    return _UNITS[name]() if name in _UNITS else Unit(name)


def _name(unit: Any) -> str | None:
    """The activation of a torch module, or None."""
    if isinstance(unit, Unit):
        return unit.name
    if isinstance(unit, nn.LeakyReLU):
        return f"leaky_relu:{unit.negative_slope!r}"
    if isinstance(unit, nn.ELU):
        return "elu" if unit.alpha == 1 else f"elu:{unit.alpha!r}"
    if isinstance(unit, nn.GELU):
        return "gelu_tanh" if unit.approximate == "tanh" else "gelu"
    if isinstance(unit, nn.Softplus) and unit.beta != 1:
        return None
    return next((name for name, kind in _UNITS.items() if type(unit) is kind), None)


def to_module(network: Network) -> nn.Module:
    if network.has_skip_terms:
        if network.activation != "relu":
            raise ValueError("a network with skip terms is written to torch with ReLUs only")
        return SkipReLU(network)
    parts: list[nn.Module] = []
    for layer in network.layers:
        parts += [_linear(layer.W, layer.b), _unit(network.activation)]
    return nn.Sequential(*parts[:-1])


def from_module(module: Any) -> Network:
    if isinstance(module, SkipReLU):
        skips = [_values(skip.weight, 0) if isinstance(skip, nn.Linear) else None for skip in module.skips]
        return Network([(*_layer(part)[:2], skip) for part, skip in zip(module.layers, skips)])
    parts = _leaves(module)
    units = {_name(part) for part in parts[1::2]}
    linear = all(type(part) is nn.Linear for part in parts[::2])
    if len(parts) % 2 == 0 or not linear or len(units) > 1 or None in units:
        names = ", ".join(type(part).__name__ for part in parts)
        raise ValueError(
            f"the module consists of {names}; expected Linear and units of one kind in turn, Linear last"
        )
    return Network([_layer(part) for part in parts[::2]], activation=str((units or {"relu"}).pop()))


def _layer(linear: Any) -> Layer:
    return Layer(_values(linear.weight, 0), _values(linear.bias, linear.out_features))
