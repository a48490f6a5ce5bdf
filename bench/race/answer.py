"""What a contestant hands in."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .networks import Network


@dataclass
class Answer:
    network: Network | None = None
    predict: Callable[[np.ndarray], np.ndarray] | None = None  # the network's own function where None
    queries: int | None = None
    intervals: tuple | None = None  # 95% intervals (low, high) of all weights, in the order of alignment.flat
    facts: dict = field(default_factory=dict)  # anything worth a field of the JSON line


class Failure(Exception):
    """The contestant ended without an answer; the text says why."""

    outcome = "failed"


class Ended(Failure):
    """It was ended at the limit."""

    outcome = "timeout"
