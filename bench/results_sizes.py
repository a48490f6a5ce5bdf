"""results_sizes.py EXHUME small|many

Measures a table of results/ and prints its rows as JSON: the outcome of `recover`, its time and its peak of memory. Each network
is planted by `generate` with one fixed seed.

    small  small networks, processor time (user)                                     results/sizes.json
    many   up to 10^8 rows of small networks, seconds of the clock, beside `cat` of the same files; needs 4 GB of disk and, for
           files in the page cache, as much memory                                   results/distributed.json
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SEED = "3"
NETWORKS = {
    "10-10-1, 1,500": ["-d", "10", "-k", "10", "-m", "1", "-n", "1500"],
    "20-20-20, 3,000": ["-d", "20", "-k", "20", "-m", "20", "-n", "3000"],
    "10-20-1, 20,000, Laplace inputs": ["-d", "10", "-k", "20", "-m", "1", "-n", "20000", "--distribution", "laplace"],
    "20-20-1, 20,000": ["-d", "20", "-k", "20", "-m", "1", "-n", "20000"],
    "10-10-10, 10,000, 10% noise": ["-d", "10", "-k", "10", "-m", "10", "-n", "10000", "--noise-relative", "0.1"],
}
MANY = {
    "10^6, 4, 1": ["-d", "4", "-k", "4", "-m", "1", "-n", "1000000"],
    "10^7, 4, 1": ["-d", "4", "-k", "4", "-m", "1", "-n", "10000000"],
    "10^8, 4, 1": ["-d", "4", "-k", "4", "-m", "1", "-n", "100000000"],
    "2 10^6, 20, 3": ["-d", "20", "-k", "20", "-m", "3", "-n", "2000000"],
    "2 10^7, 20, 3": ["-d", "20", "-k", "20", "-m", "3", "-n", "20000000"],
}


def seconds_of(value: float) -> str:
    return f"{value:.2f} s" if value < 0.5 else f"{value:.1f} s"


def measure_many(program: str, options: list[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([program, "generate", *options, "--seed", SEED, "--quiet", "--out", folder], check=True)
        files = [folder / "x.npy", folder / "y.npy"]
        start = time.monotonic()
        subprocess.run(["cat", *files], stdout=subprocess.DEVNULL, check=True)
        read = time.monotonic() - start
        start = time.monotonic()
        command = [program, "recover", *files, "--truth", folder / "network.safetensors", "--json", "--out", folder / "found"]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        answer = json.loads(run.stdout.read())
        _, _, used = os.wait4(run.pid, 0)
        taken = time.monotonic() - start
    return {
        "outcome": answer["status"],
        "seconds": seconds_of(taken),
        "memory": f"{used.ru_maxrss / 1024:.0f} MB",
        "worst error": f"{answer['truth']['worst_error']:.0e}",
        "cat of the same files": f"{read:.2f} s",
    }


def measure(program: str, options: list[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([program, "generate", *options, "--seed", SEED, "--quiet", "--out", folder], check=True)
        command = [program, "recover", folder / "x.npy", folder / "y.npy", "--json"]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        answer = json.loads(run.stdout.read())
        _, _, used = os.wait4(run.pid, 0)
    memory = f"{used.ru_maxrss / 1024:.0f} MB"
    return {"outcome": answer["status"], "seconds": seconds_of(used.ru_utime), "memory": memory}


if __name__ == "__main__":
    tables = {"small": (measure, NETWORKS), "many": (measure_many, MANY)}
    if len(sys.argv) != 3 or sys.argv[2] not in tables:
        sys.exit(__doc__)
    each, networks = tables[sys.argv[2]]
    print(json.dumps({name: each(sys.argv[1], options) for name, options in networks.items()}, ensure_ascii=False))
