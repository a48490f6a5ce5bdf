"""For test suites of those who convert, quantise or serve models.

>>> import exhume
>>> from exhume.testing import assert_same_function
>>> network = exhume.generate(inputs=4, hidden=6, outputs=2, samples=10).network
>>> assert_same_function(network, network.canonical(), tolerance=1e-9).verdict
'same_network'
"""

from __future__ import annotations

from typing import Any

from ._compare import Comparison, compare

__all__ = ["assert_same_function"]


def assert_same_function(a: Any, b: Any, *, tolerance: float | None = None, **options: Any) -> Comparison:
    """Raises AssertionError unless `exhume.compare(a, b, tolerance=tolerance, ...)` says they are the same.

    The message is the verdict in one sentence, with the worst input. Undecided is not the same: give a larger
    `budget` or `tolerance`.
    """
    found = compare(a, b, tolerance=tolerance, **options)
    if not found.same:
        raise AssertionError(f"{found.reason}; worst input {found.worst_input.tolist()}")
    return found
