"""Options as the library takes them, or refused in a sentence."""

from __future__ import annotations

import operator
from typing import Any


def seed_of(seed: Any) -> int:
    """A whole number of 64 bits."""
    try:
        value = operator.index(seed)
    except TypeError:
        value = -1
    if not 0 <= value < 2**64:
        raise ValueError(f"seed is {seed!r}, expected a whole number from 0 to 2**64 - 1")
    return value


def units_of(hidden: Any) -> int | None:
    """The number of hidden units, None for "auto"."""
    if isinstance(hidden, str) and hidden == "auto":
        return None
    try:
        return operator.index(hidden)
    except TypeError:
        raise ValueError(f"hidden is {hidden!r}, expected 'auto' or a whole number of at least 1") from None
