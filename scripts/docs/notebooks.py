"""notebooks.py [--again]

Runs the notebooks of docs/gallery, each in a kernel of its own with this Python, and keeps them with their outputs in
build/docs/gallery. One that was run before and has not changed is left alone, unless --again. Ends with status 1 where a
cell fails.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import pathlib
import sys
import time

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError

import exhume

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "docs/gallery"
EXECUTED = ROOT / "build/docs/gallery"
LONGEST = 600  # seconds a cell may take
# Sizes that are smaller here than on a reader's cluster; each notebook says so.
SMALLER = {"EXHUME_ROWS": "1000000"}


def run(source: pathlib.Path, again: bool) -> str:
    """Runs one notebook; a line about it."""
    target = EXECUTED / source.name
    digest = hashlib.sha256(source.read_bytes() + exhume.__version__.encode()).hexdigest()
    if not again and target.exists() and nbformat.read(target, as_version=4).metadata.get("source") == digest:
        return f"{source.stem}: run before"
    notebook = nbformat.read(source, as_version=4)
    start = time.monotonic()
    # Through pipes of this machine: nothing is opened to the network.
    kernel = AsyncKernelManager(kernel_name="python3", transport="ipc")
    try:
        NotebookClient(notebook, km=kernel, timeout=LONGEST, resources={"metadata": {"path": ROOT}}).execute()
    finally:
        asyncio.run(kernel.shutdown_kernel(now=True))
    notebook.metadata["source"] = digest
    nbformat.write(notebook, target)
    return f"{source.stem}: {time.monotonic() - start:.0f} s"


def main() -> None:
    for name, value in SMALLER.items():
        os.environ.setdefault(name, value)
    EXECUTED.mkdir(parents=True, exist_ok=True)
    failed = False
    for source in sorted(SOURCES.glob("*.ipynb")):
        try:
            print(run(source, "--again" in sys.argv[1:]), flush=True)
        except CellExecutionError as error:
            failed = True
            print(f"{source.stem}: {error.ename}: {error.evalue}", flush=True)
        except CellTimeoutError:
            failed = True
            print(f"{source.stem}: a cell takes more than {LONGEST} s", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
