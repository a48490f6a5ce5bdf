"""Environments of the contestants, the program, and what the machine is."""

import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
THREAD_VARIABLES = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"]


def python_of(environment):
    """The interpreter of .venv-NAME, or None where it was not made."""
    path = ROOT / f".venv-{environment}" / "bin" / "python"
    return path if path.exists() else None


def variables(exhume, threads):
    """The environment of a worker: the package on its path, the program, the threads."""
    return os.environ | {name: str(threads) for name in THREAD_VARIABLES} | {
        "PYTHONPATH": str(ROOT / "bench"), "EXHUME": str(exhume), "PYTHONDONTWRITEBYTECODE": "1"}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or None


def machine():
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return {"processor": processor(), "cores": os.cpu_count(), "memory_gb": round(memory), "system": platform.system(),
            "python": platform.python_version()}
