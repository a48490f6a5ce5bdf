"""results_extract.py EXHUME SEED COUNT

Measures the table of random networks of results/extract.json that `make results` renews, and prints its rows as JSON: COUNT
networks per architecture, from seed SEED on; how many were certified with all their units, queries, processor time (user) and
the worst error of a weight among those.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ARCHITECTURES = ["784-32-1", "784-128-10", "10-10-10-1", "10-20-20-1", "20-12-6-5", "60-12-8-3"]


def planted(program: str, architecture: str, seed: int, folder: pathlib.Path) -> pathlib.Path:
    inputs, *hidden, outputs = architecture.split("-")
    widths = ["--hidden", hidden[0]] if len(hidden) == 1 else ["--layers", ",".join(hidden)]
    shape = ["--inputs", inputs, *widths, "--outputs", outputs, "--samples", "1"]
    subprocess.run([program, "generate", *shape, "--seed", str(seed), "--quiet", "--out", folder], check=True)
    return folder / "network.safetensors"


def extracted(program: str, network: pathlib.Path, folder: pathlib.Path) -> tuple[dict, float]:
    command = [program, "extract", "--network", network, "--threads", "1", "--json", "--out", folder]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    answer = json.loads(run.stdout.read())
    _, _, used = os.wait4(run.pid, 0)
    return answer, used.ru_utime


def worst_error(program: str, one: pathlib.Path, other: pathlib.Path) -> float | None:
    said = subprocess.run([program, "compare", one, other, "--json"], capture_output=True, text=True)
    return json.loads(said.stdout).get("worst_error") if said.returncode in (0, 3) else None


def span(values: list[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def row(program: str, architecture: str, seeds: range) -> dict[str, str]:
    errors, queries, seconds = [], [], []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as name:
            network = planted(program, architecture, seed, pathlib.Path(name) / "planted")
            answer, used = extracted(program, network, pathlib.Path(name) / "found")
            found = pathlib.Path(name) / "found" / "network.safetensors"
            error = worst_error(program, network, found) if answer["status"] == "certified" else None
        if error is not None and error < 1e-6:
            errors.append(error)
            queries.append(answer["queries"])
            seconds.append(used)
    figures = {"certified": f"{len(errors)} of {len(seeds)}"}
    if errors:
        figures |= {"queries": span(queries, ",d"), "worst error": f"{max(errors):.1e}", "seconds": span(seconds, ".1f") + " s"}
    return figures


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    seeds = range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3]))
    print(json.dumps({architecture: row(sys.argv[1], architecture, seeds) for architecture in ARCHITECTURES}))


if __name__ == "__main__":
    main()
