"""Words that several sentences share."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """ "1 output", "2 outputs"."""
    return f"{number} {word}{'' if number == 1 else 's'}"
