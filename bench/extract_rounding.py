"""How far rounding of outputs defends a network against `exhume extract`.

    python bench/extract_rounding.py build/release/apps/exhume [TABLE.csv] [--seeds A-B] [--networks d-k-m ...]
    python bench/extract_rounding.py --picture TABLE.csv docs/figures/extract_rounding.svg

Random networks with one hidden layer, asked through --command; every output is rounded to p significant digits before it
is given out. One row for every network, p and seed: certified or not, units found, questions, worst error of a weight
once rows have unit norm, the largest difference of the two functions on fresh normal inputs over the outputs' spread, and
the processor time of the program. A success: as many units as there are, and that difference at most RIGHT times
the rounding, 10^(1-p).
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from planted_network import answers, planted

NETWORKS = ["20-10-3", "64-16-1"]
DIGITS = [4, 5, 6, 7, 8, 9, 10, 12, 14, 16]
SECONDS = 90
RIGHT = 100
FIELDS = ["network", "digits", "seed", "status", "units", "questions", "weights", "function", "seconds"]


def network_of(name, seed):
    return planted(*map(int, name.split("-")), seed)


def rounded(y, digits):
    """To so many significant digits; 16 leave doubles as they are, but for the last bit."""
    size = 10.0 ** (digits - 1 - np.floor(np.log10(np.maximum(np.abs(y), 1e-300))))
    return np.round(y * size) / size


def serve(name, seed, digits):
    """Answers batches as --command asks for them."""
    network = network_of(name, seed)
    while line := sys.stdin.buffer.readline():
        sizes = json.loads(line)
        raw = sys.stdin.buffer.read(8 * sizes["rows"] * sizes["inputs"])
        y = rounded(answers(network, np.frombuffer(raw, "<f8").reshape(sizes["rows"], sizes["inputs"])), digits)
        sys.stdout.buffer.write(json.dumps({"rows": y.shape[0], "outputs": y.shape[1]}).encode() + b"\n")
        sys.stdout.buffer.write(np.ascontiguousarray(y, "<f8").tobytes())
        sys.stdout.buffer.flush()


def worst_error(found, truth):
    """Of any weight, units matched one by one; infinite where widths differ."""
    if found[0].shape != truth[0].shape:
        return np.inf
    rows = []
    for W, b, A, _ in (found, truth):
        norms = np.linalg.norm(W, axis=1)
        rows.append(np.column_stack([W / norms[:, None], b / norms, (A * norms).T]))
    apart = np.abs(rows[0][:, None] - rows[1][None]).max(-1)
    nearest = apart.argmin(0)
    return apart.min(0).max() if len(set(nearest)) == len(nearest) else np.inf


def run(exhume, name, digits, seed):
    from safetensors.numpy import load_file

    truth = network_of(name, seed)
    command = f"{sys.executable} {pathlib.Path(__file__).resolve()} --serve {name} {seed} {digits}"
    row = {"network": name, "digits": digits, "seed": seed, "status": "out of time", "units": 0, "questions": 0}
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        before = os.times()
        try:
            done = subprocess.run(
                [exhume, "extract", "--command", command, "--inputs", name.split("-")[0], "--seed", str(seed)]
                + ["--threads", "1", "--json", "--out", str(out)],
                capture_output=True, text=True, timeout=SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return row
        after = os.times()
        row["seconds"] = round(after.children_user - before.children_user, 2)
        said = json.loads(done.stdout)
        row.update(status=said["status"], units=said["hidden_units"], questions=said["queries"])
        if (out / "network.safetensors").exists():
            file = load_file(out / "network.safetensors")
            if {"W", "b", "A", "c"} <= file.keys():
                found = [file[key] for key in "WbAc"]
                x = np.random.default_rng(seed + 1000).standard_normal((5000, truth[0].shape[1]))
                y = answers(truth, x)
                row["weights"] = f"{worst_error(found, truth):.2g}"
                row["function"] = f"{np.abs(answers(found, x) - y).max() / y.std():.2g}"
    return row


def success(row):
    hidden = int(row["network"].split("-")[1])
    right = row["function"] and float(row["function"]) <= RIGHT * 10.0 ** (1 - int(row["digits"])) + 1e-12
    return bool(right and int(row["units"]) == hidden)


def picture(table, path):
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "exhume", "svg.fonttype": "path", "font.size": 10, "axes.spines.top": False})
    pyplot.rcParams.update({"axes.spines.right": False, "savefig.facecolor": "white", "lines.linewidth": 1.6})
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    figure, (share, error) = pyplot.subplots(1, 2)
    for name, colour, mark in zip(dict.fromkeys(row["network"] for row in rows), ["#0072b2", "#d55e00"], "os"):
        mine = [row for row in rows if row["network"] == name]
        digits = sorted({int(row["digits"]) for row in mine})
        part = [[row for row in mine if int(row["digits"]) == p] for p in digits]
        share.plot(digits, [sum(map(success, some)) / len(some) for some in part], mark + "-", color=colour, label=name)
        for p, some in zip(digits, part):
            right = [float(row["weights"]) for row in some if success(row)]
            error.semilogy([p] * len(right), right, mark, color=colour, markersize=4)
    share.set(xlabel="digits of an output", ylabel="share extracted", ylim=(-0.03, 1.03))
    error.set(xlabel="digits of an output", ylabel="worst error of a weight")
    share.legend(frameon=False, loc="lower right")
    figure.set_size_inches(6.4, 3.0)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    if sys.argv[1:2] == ["--picture"]:
        return picture(sys.argv[2], sys.argv[3])
    parser = argparse.ArgumentParser()
    parser.add_argument("exhume")
    parser.add_argument("table", nargs="?")
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--networks", nargs="*", default=NETWORKS)
    given = parser.parse_args()
    first, last = map(int, given.seeds.split("-"))
    file = open(given.table, "w", newline="") if given.table else sys.stdout
    writer = csv.DictWriter(file, FIELDS, restval="")
    writer.writeheader()
    for name in given.networks:
        for digits in DIGITS:
            for seed in range(first, last + 1):
                writer.writerow(run(given.exhume, name, digits, seed))
                file.flush()


if __name__ == "__main__":
    main()
