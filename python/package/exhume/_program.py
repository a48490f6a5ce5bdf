"""The program in the package, asked for a JSON document: what exists as a command and not as a function of the library."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core
from ._arrays import as_rows
from ._samples import is_path, spooled

PROGRAM = pathlib.Path(__file__).parent / "bin" / "exhume"


def program() -> str:
    """Its path: that of the package, or one that is installed."""
    found = str(PROGRAM) if PROGRAM.exists() else shutil.which("exhume")
    if found is None:
        raise RuntimeError("this installation has no command line; install the package with pip, or build it with make program")
    return found


def ask(command: str, *arguments: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """The JSON that `exhume command arguments --option value ...` prints. Refusals are exceptions with the same words."""
    line = [program(), command, *(os.fspath(argument) for argument in arguments), "--json"]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            line.append(flag)
        elif value is not None and value is not False:
            line += [flag, os.fspath(value) if is_path(value) else str(value)]
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode in (0, 3) and done.stdout.strip():
        document: dict[str, Any] = json.loads(done.stdout)
        return document
    words = done.stderr.strip().removeprefix("exhume: ") or f"exhume {command} ended with status {done.returncode}"
    if done.returncode == 130:
        raise KeyboardInterrupt
    kinds: dict[int, type[Exception]] = {2: ValueError, 4: _core.DataError, 5: _core.ResourceError}
    raise kinds.get(done.returncode, RuntimeError)(words)


def joined(target: Any) -> str | None:
    """Names of columns as --target takes them."""
    if target is None:
        return None
    names = [target] if isinstance(target, str) else list(target)
    return ",".join('"' + str(name).replace('"', '""') + '"' for name in names)


@contextlib.contextmanager
def as_files(x: Any, y: Any, threads: int) -> Iterator[list[str]]:
    """The names of files with the samples; arrays and blocks are written to temporary ones, and refusals speak of x and y."""
    if is_path(x):
        yield [os.fspath(x)] + ([] if y is None else [os.fspath(y)])
        return
    with tempfile.TemporaryDirectory(prefix="exhume-") as folder:
        paths = [os.path.join(folder, name) for name in ("x.npy", "y.npy")]
        if y is None:
            spooled(x, folder, threads)
        else:
            for path, rows in zip(paths, (as_rows(x, "x"), as_rows(y, "y", one_column=True))):
                np.save(path, rows)
        try:
            yield paths
        except ValueError as refusal:
            words = str(refusal).replace(paths[0], "x").replace(paths[1], "y")
            raise type(refusal)(words) from None
