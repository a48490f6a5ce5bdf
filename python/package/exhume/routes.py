"""Every algorithm by its name.

A route is called like `exhume.recover`, with the same arguments less `route`:

>>> import exhume
>>> planted = exhume.generate(inputs=4, hidden=3, outputs=3, samples=2000)
>>> exhume.routes.depth2(planted.x, planted.y).route
'depth2'
"""

from __future__ import annotations

from typing import Any

from ._progress import Progress
from ._recover import recover
from ._result import Result


class Route:
    """One named way to a network; call it like `exhume.recover`."""

    def __init__(self, name: str, about: str) -> None:
        self.name = self.__name__ = name
        self.about = self.__doc__ = about

    def __call__(
        self,
        x: Any,
        y: Any = None,
        hidden: int | str = "auto",
        *,
        seed: int = 0,
        budget: float = 300.0,
        threads: int = 0,
        progress: Progress = None,
    ) -> Result:
        return recover(
            x, y, hidden, route=self.name, seed=seed, budget=budget, threads=threads, progress=progress
        )

    def __repr__(self) -> str:
        return f"<exhume.routes.{self.name.replace('-', '_')}: {self.about}>"


depth2 = Route("depth2", "Gaussian inputs: directions of all units from Hermite moments of orders 2 to 4.")
depth2_jennrich = Route(
    "depth2-jennrich", "Gaussian inputs: the paper's own start, Jennrich's algorithm on Hermite tensors."
)
symmetric = Route("symmetric", "Inputs x and -x equally likely: the null space of the pure-neuron detector.")
any_inputs = Route("any_inputs", "No assumption on the inputs: units grown from the residual, restarts and repairs.")


def names() -> list[str]:
    """The names of all routes."""
    return [value.name for value in globals().values() if isinstance(value, Route)]
