"""Random networks of several hidden layers from samples: how many come back, against rows, width and depth.

    python bench/deep_success.py build/release/apps/exhume TABLE.csv [--seeds A-B] [--budget S] [--threads N] [--jobs N] [LINE ...]
    python bench/deep_success.py --table TABLE.csv
    python bench/deep_success.py --picture TABLE.csv docs/figures/deep_success.svg

A LINE is SHAPE:ROWS, 10-20-20-1:50000 say; with :first behind it the first of two layers is given, every unit turned and
scaled at random. Networks and rows are those of `exhume generate`. Exact: held-out error at most 1e-24 of the variance. Runs are
appended to the table, one line each, with the program's processor time; runs that are in it are not done again. With --jobs several
run side by side.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

LINES = ["5-5-5-1:20000", "10-8-6-3:20000", "10-10-10-1:50000", "10-20-20-1:50000", "8-8-8-8-2:100000", "10-20-20-1:20000:first"]
EXACT = 1e-24
DETERMINED = 1e-6  # smallest singular value at the true weights, below which the rows leave some of them open
BLOCK = 2000  # rows whose slopes are in memory at once
FIELDS = ["line", "seed", "status", "units", "heldout", "weights", "seconds", "processor", "determined"]


def tensors(path):
    """Arrays of a .safetensors file of doubles."""
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    found = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            found[name] = np.frombuffer(raw[8 + size + first : 8 + size + last], "<f8").reshape(entry["shape"])
    return found


def give_first_layer(network, path, seed):
    """Its rows turned and scaled at random."""
    file, random = tensors(network), np.random.default_rng(seed)
    scale = random.choice([-1, 1], len(file["layers.0.b"])) * np.exp(random.standard_normal(len(file["layers.0.b"])))
    np.savez(path, W=file["layers.0.W"] * scale[:, None], b=file["layers.0.b"] * scale)


def determined(network, x):
    """Smallest singular value of the slopes at the true weights: rows of unit norm, last layer projected out.

    Units that no row turns on are no part of the question.
    """
    file, rows, scale, h = tensors(network), [], np.ones(x.shape[1]), x
    lives = np.full(x.shape[1], True)
    for number in range(len(file) // 2 - 1):
        W, b = file[f"layers.{number}.W"], file[f"layers.{number}.b"]
        h, alive = np.maximum(h @ W.T + b, 0), lives
        lives = h.any(0)
        row = np.column_stack([W[lives][:, alive] * scale, b[lives]])
        scale = np.linalg.norm(row, axis=1)
        rows.append(row / scale[:, None])
    A = file["A"][:, lives] * scale
    size = sum(row.size for row in rows)
    JJ, FF, K, y = np.zeros((size, size)), 0, [0] * len(A), []
    for first in range(0, len(x), BLOCK):
        inputs, kinks, h = [], [], x[first : first + BLOCK]
        for row in rows:
            inputs.append(np.column_stack([h, np.ones(len(h))]))
            z = inputs[-1] @ row.T
            kinks.append(z > 0)
            h = np.maximum(z, 0)
        F = np.column_stack([h, np.ones(len(h))])
        FF = FF + F.T @ F
        y.append(h @ A.T)
        for output, a in enumerate(A):
            parts, g = [], np.tile(a, (len(h), 1))
            for row, below, on in zip(rows[::-1], inputs[::-1], kinks[::-1]):
                g = g * on
                parts.insert(0, (g[:, :, None] * below[:, None, :]).reshape(len(h), -1))
                g = g @ row[:, :-1]
            J = np.column_stack(parts)
            JJ += J.T @ J
            K[output] = K[output] + F.T @ J
    H = JJ - sum(k.T @ np.linalg.lstsq(FF, k, rcond=None)[0] for k in K)
    at = 0
    for unit in (unit for row in rows for unit in row):  # the scale of a unit is nobody's question
        part = slice(at, at + len(unit))
        H[part, part] += np.trace(H[part, part]) / len(unit) * np.outer(unit, unit)
        at += len(unit)
    spread = np.concatenate(y).var(0).sum()
    return np.sqrt(max(np.linalg.eigvalsh(H)[0], 0) / len(x) / spread)


def measured(command):
    """What it printed, seconds by the clock, seconds of processor time: its own, whatever else runs."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return printed, time.monotonic() - began, usage.ru_utime + usage.ru_stime


def run(exhume, line, seed, budget, threads):
    shape, rows, *given = line.split(":")
    inputs, *hidden, outputs = shape.split("-")
    with tempfile.TemporaryDirectory() as folder:
        data, out = pathlib.Path(folder) / "data", pathlib.Path(folder) / "out"
        sizes = ["-d", inputs, "--layers", ",".join(hidden), "-m", outputs, "-n", rows]
        subprocess.run([exhume, "generate", *sizes, "--seed", str(seed), "--out", data], check=True, capture_output=True)
        how = ["--layers", str(len(hidden))]
        if given:
            give_first_layer(data / "network.safetensors", data / "first.npz", seed)
            how = ["--first-layer", data / "first.npz"]
        command = [exhume, "recover", data / "x.npy", data / "y.npy", *how, "--budget", str(budget), "--threads", str(threads)]
        printed, seconds, processor = measured([*command, "--out", out, "--json"])
        said = json.loads(printed)
        row = {"line": line, "seed": seed, "status": said["status"], "heldout": f"{said['heldout_relative_mse']:.1e}"}
        row["units"] = "-".join(map(str, said["hidden_units"]))
        row["seconds"] = f"{seconds:.1f}"
        row["processor"] = f"{processor:.1f}"
        row["determined"] = f"{determined(data / 'network.safetensors', np.load(data / 'x.npy')):.0e}"
        compare = [exhume, "compare", out / "network.safetensors", data / "network.safetensors", "--json"]
        if said["status"] == "certified":
            apart = subprocess.run(compare, capture_output=True, text=True).stdout
            worst = json.loads(apart)["worst_error"] if apart.startswith("{") else None
            row["weights"] = "other widths" if worst is None else f"{worst:.1e}"
        return row


def read(table):
    with open(table, newline="") as file:
        return list(csv.DictReader(file))


def by_line(rows):
    lines = {}
    for row in rows:
        lines.setdefault(row["line"], []).append(row)
    return lines


def exact(row):
    return float(row["heldout"]) <= EXACT


def summary(table):
    print("| network | rows | exact | certified | of those that the rows determine | seconds of one core | worst weight error |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for line, rows in by_line(read(table)).items():
        shape, count, *given = line.split(":")
        times = sorted(float(row["processor"]) for row in rows)
        errors = [float(row["weights"]) for row in rows if row["weights"] not in ("", "other widths")]
        of = f"of {len(rows)}"
        certified = sum(row["status"] == "certified" for row in rows)
        told = [row for row in rows if float(row["determined"]) >= DETERMINED]
        right = f"{sum(row['status'] == 'certified' for row in told)} of {len(told)}"
        print(f"| {shape}{', first layer given' if given else ''} | {int(count):,} | {sum(map(exact, rows))} {of} | {certified} {of} "
              f"| {right} | {times[0]:.0f}–{times[-1]:.0f} | {f'{max(errors):.0e}' if errors else '–'} |")  # fmt: skip


def picture(table, path):
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "exhume", "svg.fonttype": "path", "font.size": 10, "axes.spines.top": False})
    pyplot.rcParams.update({"axes.spines.right": False, "savefig.facecolor": "white", "lines.linewidth": 1.6})
    shapes = {}
    for line, rows in by_line(read(table)).items():
        shape, count, *given = line.split(":")
        if not given:
            shapes.setdefault(shape, {})[int(count)] = sum(map(exact, rows)) / len(rows)
    figure, axes = pyplot.subplots()
    marks = zip(["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"], "os^dv")
    for (shape, shares), (colour, mark) in zip(((s, v) for s, v in shapes.items() if len(v) > 1), marks):
        counts = sorted(shares)
        axes.semilogx(counts, [shares[count] for count in counts], mark + "-", color=colour, label=shape)
    axes.set(xlabel="rows", ylabel="share that is exact", ylim=(-0.03, 1.03))
    ticks = [1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.legend(frameon=False, loc="lower right")
    figure.set_size_inches(6.4, 3.2)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    if sys.argv[1:2] == ["--table"]:
        return summary(sys.argv[2])
    if sys.argv[1:2] == ["--picture"]:
        return picture(sys.argv[2], sys.argv[3])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exhume")
    parser.add_argument("table")
    parser.add_argument("lines", nargs="*", metavar="LINE")
    parser.add_argument("--seeds", default="1-5")
    parser.add_argument("--budget", type=float, default=300)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_intermixed_args()
    first, last = map(int, asked.seeds.split("-"))
    known = read(asked.table) if os.path.exists(asked.table) else []
    done = {(row["line"], int(row["seed"])) for row in known}
    with open(asked.table, "a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not known:
            writer.writeheader()
        todo = [(line, seed) for line in asked.lines or LINES for seed in range(first, last + 1) if (line, seed) not in done]
        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            runs = [pool.submit(run, asked.exhume, line, seed, asked.budget, asked.threads) for line, seed in todo]
            for finished in concurrent.futures.as_completed(runs):
                row = finished.result()
                writer.writerow(row)
                file.flush()
                print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
