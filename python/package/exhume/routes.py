"""Every route by its name: the rows of the library's table (`names()` lists them).

A route is called like `exhume.recover`, with the same arguments less `route`:

>>> import exhume
>>> planted = exhume.generate(inputs=4, hidden=3, outputs=3, samples=2000)
>>> exhume.routes.depth2(planted.x, planted.y).route
'depth2'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._recover import recover
from ._result import Result


class Route:
    """One named way to a network; call it like `exhume.recover`."""

    def __init__(self, name: str, about: str, condition: str) -> None:
        self.name = name
        self.__name__ = name.replace("-", "_")
        self.about = about
        self.condition = condition
        """When it applies."""
        self.__doc__ = f"{about}. Applies: {condition}."

    def __call__(self, x: Any, y: Any = None, hidden: int | str = "auto", **options: Any) -> Result:
        return recover(x, y, hidden, route=self.name, **options)

    def __repr__(self) -> str:
        return f"<exhume.routes.{self.__name__}: {self.about}>"


def _made() -> list[Route]:
    """One for every row of the library's table that leads to a network."""
    return [
        Route(info.name, info.about, info.condition) for info in _core.routes() if info.finds == "network"
    ]


_ROUTES = {route.__name__: route for route in _made()}
globals().update(_ROUTES)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Route: ...


def names() -> list[str]:
    """The names of all routes, in the order in which they are tried."""
    return [route.name for route in _ROUTES.values()]
