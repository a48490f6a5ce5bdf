"""results_sizes.py EXHUME small

Measures the table of small networks of results/sizes.json and prints its rows as JSON: the outcome of `recover`, its processor
time (user) and its peak of memory. Each network is planted by `generate` with one fixed seed.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SEED = "3"
NETWORKS = {
    "10-10-1, 1,500": ["-d", "10", "-k", "10", "-m", "1", "-n", "1500"],
    "20-20-20, 3,000": ["-d", "20", "-k", "20", "-m", "20", "-n", "3000"],
    "10-20-1, 20,000, Laplace inputs": ["-d", "10", "-k", "20", "-m", "1", "-n", "20000", "--distribution", "laplace"],
    "20-20-1, 20,000": ["-d", "20", "-k", "20", "-m", "1", "-n", "20000"],
    "10-10-10, 10,000, 10% noise": ["-d", "10", "-k", "10", "-m", "10", "-n", "10000", "--noise-relative", "0.1"],
}


def measure(program: str, options: list[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([program, "generate", *options, "--seed", SEED, "--quiet", "--out", folder], check=True)
        command = [program, "recover", folder / "x.npy", folder / "y.npy", "--json"]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        answer = json.loads(run.stdout.read())
        _, _, used = os.wait4(run.pid, 0)
    seconds = f"{used.ru_utime:.2f}" if used.ru_utime < 0.5 else f"{used.ru_utime:.1f}"
    return {"outcome": answer["status"], "seconds": f"{seconds} s", "memory": f"{used.ru_maxrss / 1024:.0f} MB"}


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] != "small":
        sys.exit(__doc__)
    print(json.dumps({name: measure(sys.argv[1], options) for name, options in NETWORKS.items()}, ensure_ascii=False))
