"""Progress of long work: a callback, or a bar."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

Callback = Callable[[str, float], object]
Progress = bool | Callback | None


@contextlib.contextmanager
def progress_callback(progress: Progress) -> Iterator[Callback | None]:
    """`progress` as the callback that the library calls: None and False are silent, True draws a bar."""
    if callable(progress):
        yield progress
    elif progress:
        with _bar() as callback:
            yield callback
    else:
        yield None


@contextlib.contextmanager
def _bar() -> Iterator[Callback]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield _lines()
        return
    bar: Any = tqdm(total=1.0, bar_format="{desc:<16} {percentage:3.0f}%|{bar}| {elapsed}")

    def show(stage: str, fraction: float) -> None:
        bar.set_description_str(stage, refresh=False)
        bar.n = min(max(fraction, 0.0), 1.0)
        bar.refresh()

    try:
        yield show
    finally:
        bar.close()


def _lines() -> Callback:
    """Without tqdm: a line on stderr whenever a stage begins."""
    last = ""

    def show(stage: str, _fraction: float) -> None:
        nonlocal last
        if stage != last:
            last = stage
            print(stage, file=sys.stderr)

    return show
