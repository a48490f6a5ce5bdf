"""An instance of a task, as a contestant sees it and as the referee keeps it.

A contestant sees samples (x, y), fresh inputs test_x, and facts such as the number of hidden units. The referee alone
has test_y, without noise, and the network behind it. For tasks with questions the contestant gets an oracle.
"""

import json
import pathlib
from dataclasses import dataclass, field

import numpy as np

from .networks import Network, from_arrays


@dataclass
class Instance:
    x: np.ndarray
    y: np.ndarray  # rows x outputs
    test_x: np.ndarray
    test_y: np.ndarray
    truth: Network | None = None
    facts: dict = field(default_factory=dict)


class Oracle:
    """A network that answers, and counts the rows it was asked."""

    def __init__(self, network):
        self.network, self.queries = network, 0

    def __call__(self, x):
        self.queries += len(x)
        return self.network(x)


@dataclass
class Problem:
    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    facts: dict
    folder: pathlib.Path
    oracle: Oracle | None = None

    @property
    def hidden(self):
        return self.facts["hidden"]

    @property
    def seed(self):
        return self.facts["seed"]


def save(instance, folder):
    """The contestant's half. Programs read x.npy and y.npy."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    for name in ("x", "y", "test_x"):
        np.save(folder / f"{name}.npy", getattr(instance, name))
    if instance.facts.get("oracle"):
        np.savez(folder / "oracle.npz", **instance.truth.arrays())
    (folder / "facts.json").write_text(json.dumps(instance.facts))


def load(folder):
    folder = pathlib.Path(folder)
    facts = json.loads((folder / "facts.json").read_text())
    x, y, test_x = (np.load(folder / f"{name}.npy") for name in ("x", "y", "test_x"))
    oracle = Oracle(from_arrays(dict(np.load(folder / "oracle.npz")))) if facts.get("oracle") else None
    return Problem(x, y, test_x, facts, folder, oracle)
