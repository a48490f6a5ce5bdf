"""Networks behind rows that are not Gaussian: planted ones and trained ones, by `recover`, the number of units not given.

    python bench/any_inputs.py EXHUME TABLE.csv [--networks FOLDER] [--seeds A-B] [--budget S] [--threads N] [--jobs N] [--device D] [LINE ...]
    python bench/any_inputs.py --make FOLDER [--seeds A-B] [LINE ...]
    python bench/any_inputs.py --table TABLE.csv

A LINE is INPUTS:KIND:SHAPE:ROWS, with :float32 behind it where the files are to hold single precision; names of groups stand for
several (small, wide, classifier, controller, deep, interrupted, all). INPUTS and KIND are keys of INPUTS and KINDS below; trained
networks come from scikit-learn and lie in the folder of networks, where they are looked for first: a machine without scikit-learn
needs only that folder (--make fills it). A KIND that ends in .safetensors is a network of one hidden layer in a file. A line that
begins with interrupted: is ended by Ctrl-C at a moment drawn between a second and most of what the whole run takes.

Runs are appended to the table, one line each, with the program's processor time; what is in it is not done again. What decides is
computed here: the error on fresh rows, against the truth in double precision, over the variance; of every hidden unit that turns on
and off in the rows (one hidden layer) the largest difference from a unit found, with rows of W scaled to unit norm; the smallest
singular value of the slopes at the truth (several hidden layers).
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

SMALL = [f"{inputs}:{kind}:20-32-1:50000" for inputs in ("uniform", "laplace", "lognormal", "binary", "correlated", "digits")
         for kind in ("planted", "trained")]  # fmt: skip
WIDE = [line.replace("20-32-1:50000", "64-64-3:100000") for line in SMALL]
DEEP = ["box:control:4-25-25-2:500000", "box:arms:8-32-16-3:500000", "box:curves:10-64-32-2:500000"]
GROUPS = {
    "small": SMALL,
    "wide": WIDE,
    "classifier": ["uniform:digits:30-128-2:100000", "uniform:digits:30-128-2:100000:float32"],
    "controller": ["box:control:4-500-2:300000"],
    "deep": DEEP + [line + ":float32" for line in DEEP],
    "interrupted": ["interrupted:uniform:trained:20-32-1:50000"],
}
GROUPS["all"] = [line for group in GROUPS.values() for line in group]
DOUBLE, SINGLE = 1e-20, 1e-12  # error over the variance up to which a function counts as found
DETERMINED = 1e-6  # smallest singular value at the true weights, below which the rows leave some of them open
BLOCK = 2000  # rows whose slopes are in memory at once
FIELDS = ["line", "seed", "status", "units", "error", "found", "weights", "seconds", "processor", "determined", "said"]


# ---- inputs

def digits(folder):
    """The 8 x 8 pictures of scikit-learn, pixels between 0 and 1."""
    path = folder / "digits.npz"
    if not path.exists():
        from sklearn.datasets import load_digits

        folder.mkdir(parents=True, exist_ok=True)
        data = load_digits()
        np.savez_compressed(path, x=data.data.astype("uint8"), y=data.target.astype("uint8"))
    return np.load(path)


def pixels(n, d, random, folder):
    """Digits moved by up to a pixel, half as bright to as bright as they were; the d pixels in the middle."""
    pictures = digits(folder)["x"].reshape(-1, 8, 8) / 16.0
    padded = np.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    which, down, right = random.integers(len(pictures), size=n), random.integers(3, size=n), random.integers(3, size=n)
    rows, columns = down[:, None, None] + np.arange(8)[:, None], right[:, None, None] + np.arange(8)
    x = padded[which[:, None, None], rows, columns].reshape(n, 64) * random.uniform(0.5, 1, (n, 1))
    middle = np.argsort(np.abs(np.arange(64) // 8 - 3.5) + np.abs(np.arange(64) % 8 - 3.5), kind="stable")[:d]
    return np.ascontiguousarray(x[:, np.sort(middle)])


def correlated(n, d, random, folder):
    """Uniform numbers with one in common: 0.9 between any two columns."""
    return np.sqrt(0.9) * random.uniform(-1, 1, (n, 1)) + np.sqrt(0.1) * random.uniform(-1, 1, (n, d))


def binary(n, d, random, folder):
    """Normal columns, the first 30% of them 0 or 1."""
    x = random.standard_normal((n, d))
    ones = round(0.3 * d)
    x[:, :ones] = random.integers(2, size=(n, ones))
    return x


INPUTS = {
    "uniform": lambda n, d, random, folder: random.uniform(-1, 1, (n, d)),
    "laplace": lambda n, d, random, folder: random.laplace(size=(n, d)),
    "lognormal": lambda n, d, random, folder: random.lognormal(size=(n, d)),
    "binary": binary,
    "correlated": correlated,
    "digits": pixels,
    "box": lambda n, d, random, folder: random.uniform(-1, 1, (n, d)),
}


# ---- networks: lists of W and b per hidden layer, with A and c on top

def values(network, x):
    *hidden, (A, c) = network
    for W, b in hidden:
        x = np.maximum(x @ W.T + b, 0)
    return x @ A.T + c


def planted(shape, inputs, seed, folder):
    """Slopes of every unit uniform over directions, its hinge within the rows; weights of outputs normal."""
    d, k, m = shape
    random = np.random.default_rng([seed, 1])
    x = INPUTS[inputs](10_000, d, random, folder)
    W = random.standard_normal((k, d))
    W /= np.linalg.norm(W, axis=1)[:, None]
    z = x @ W.T
    b = -z.mean(0) + random.uniform(-0.5, 0.5, k) * z.std(0)
    return [(W, b), (random.standard_normal((m, k)), random.standard_normal(m))]


def fitted(shape, x, y, random, epochs=200):
    """scikit-learn's Adam, on inputs and outputs of unit variance; the network of the inputs as they are."""
    import warnings

    from sklearn.neural_network import MLPRegressor

    mean, scale = x.mean(0), np.maximum(x.std(0), 1e-3)
    warnings.simplefilter("ignore")
    net = MLPRegressor(hidden_layer_sizes=tuple(shape[1:-1]), max_iter=epochs, random_state=int(random.integers(1 << 31)))
    net.fit((x - mean) / scale, ((y - y.mean(0)) / y.std(0)).squeeze())
    layers = [(W.T.copy(), b) for W, b in zip(net.coefs_, net.intercepts_)]
    W, b = layers[0]
    layers[0] = (W / scale, b - W @ (mean / scale))
    return layers


def trained(shape, inputs, seed, folder):
    """5,000 rows of waves and products of the inputs, with noise: what a first regression of somebody's data looks like."""
    d, m = shape[0], shape[-1]
    random = np.random.default_rng([seed, 2])
    x = INPUTS[inputs](5000, d, random, folder)
    z = (x - x.mean(0)) / np.maximum(x.std(0), 1e-3)
    a, b, c = random.standard_normal((3, d, m)) / np.sqrt(d)
    y = np.sin(2 * z @ a) + (z @ b) * (z @ c) + 0.1 * random.standard_normal((5000, m))
    return fitted(shape, x, y, random)


def of_digits(shape, inputs, seed, folder):
    """A classifier of digits in coordinates of principal components, scaled into the box: is it above four, is it even."""
    random = np.random.default_rng([seed, 3])
    data = digits(folder)
    x = data["x"] - data["x"].mean(0)
    x = x @ np.linalg.svd(x, full_matrices=False)[2][: shape[0]].T
    x /= np.abs(x).max(0)
    y = np.column_stack([data["y"] > 4, data["y"] % 2 == 0]).astype(float)
    return fitted(shape, x, y, random)


def control(shape, inputs, seed, folder):
    """A cart with a pole: the force of a saturated linear law, and the acceleration of the pole under it."""
    random = np.random.default_rng([seed, 4])
    x = INPUTS[inputs](20_000, 4, random, folder)
    gains = np.array([1.0, 1.5, 6.0, 2.0]) * random.uniform(0.5, 1.5, 4)
    force = np.clip(x @ gains, -1, 1)
    angle = 1.5 * x[:, 2]
    pull = 9.8 * np.sin(angle) - np.cos(angle) * (10 * force + 0.05 * (2 * x[:, 3]) ** 2 * np.sin(angle)) / 1.1
    return fitted(shape, x, np.column_stack([force, pull / (0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1))]), random)


def arms(shape, inputs, seed, folder):
    """Where the hand of a robot with four joints is (its joints' angles and lengths), and its distance from a wall."""
    random = np.random.default_rng([seed, 5])
    x = INPUTS[inputs](20_000, 8, random, folder)
    lengths, angles = 1 + 0.5 * x[:, 4:], np.cumsum(np.pi / 2 * x[:, :4] * random.uniform(0.5, 1, 4), 1)
    hand = np.column_stack([(lengths * np.cos(angles)).sum(1), (lengths * np.sin(angles)).sum(1)])
    return fitted(shape, x, np.column_stack([hand, np.abs(hand[:, 0] - 1)]), random)


def curves(shape, inputs, seed, folder):
    """Friedman's first function of inputs in an order drawn, and a second of the others."""
    random = np.random.default_rng([seed, 6])
    x = INPUTS[inputs](20_000, 10, random, folder)
    u = (x[:, random.permutation(10)] + 1) / 2
    first = 10 * np.sin(np.pi * u[:, 0] * u[:, 1]) + 20 * (u[:, 2] - 0.5) ** 2 + 10 * u[:, 3] + 5 * u[:, 4]
    second = np.arctan((u[:, 6] * u[:, 7] - 0.5) * 4) + np.maximum(u[:, 8], u[:, 9]) + u[:, 5]
    return fitted(shape, x, np.column_stack([first, second]), random)


KINDS = {"planted": planted, "trained": trained, "digits": of_digits, "control": control, "arms": arms, "curves": curves}


def tensors(path):
    """Arrays of a .safetensors file of doubles."""
    raw = pathlib.Path(path).read_bytes()
    size = int.from_bytes(raw[:8], "little")
    found = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            found[name] = np.frombuffer(raw[8 + size + first : 8 + size + last], "<f8").reshape(entry["shape"])
    return found


def read_network(path):
    """Layers of a network that exhume wrote, with the linear part of the inputs, where there is one."""
    file = tensors(path)
    hidden = [(file["W"], file["b"])] if "W" in file else []
    while f"layers.{len(hidden)}.W" in file:
        hidden.append((file[f"layers.{len(hidden)}.W"], file[f"layers.{len(hidden)}.b"]))
    return [*hidden, (file["A"], file["c"])], file.get("L")


def network_of(kind, shape, inputs, seed, folder):
    if kind.endswith(".safetensors"):
        return read_network(kind)[0]
    path = folder / f"{inputs}-{kind}-{'-'.join(map(str, shape))}-{seed}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        layers = KINDS[kind](shape, inputs, seed, folder)
        np.savez(path, **{f"{name}{i}": part for i, layer in enumerate(layers) for name, part in zip("Wb", layer)})
    file = np.load(path)
    return [(file[f"W{i}"], file[f"b{i}"]) for i in range(len(file.files) // 2)]


# ---- what the rows determine, and what was found

def smallest_slope(network, x):
    """Smallest singular value of the slopes at the true weights: rows of unit norm, last layer projected out.

    Units that no row turns on are no part of the question.
    """
    *hidden, (A, _) = network
    rows, scale, h, lives = [], np.ones(x.shape[1]), x, np.full(x.shape[1], True)
    for W, b in hidden:
        h, alive = np.maximum(h @ W.T + b, 0), lives
        lives = h.any(0)
        row = np.column_stack([W[lives][:, alive] * scale, b[lives]])
        scale = np.linalg.norm(row, axis=1)
        rows.append(row / scale[:, None])
    A = A[:, lives] * scale
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


def units_that_bend(network, x):
    """Units of one hidden layer that at least two rows per unknown turn on, and as many turn off."""
    W, b = network[0]
    on = sum((x[i : i + 10_000] @ W.T + b > 0).sum(0) for i in range(0, len(x), 10_000))
    return np.minimum(on, len(x) - on) >= 2 * (x.shape[1] + 1)


def units_found(network, found, bends):
    """Of the units that bend, the largest difference of each from the unit found that is nearest."""
    def directions(W, b):
        rows = np.column_stack([W, b])
        return rows / np.linalg.norm(W, axis=1)[:, None]

    true, other = directions(*network[0])[bends], directions(*found[0])
    if len(other) == 0:
        return np.full(len(true), np.inf)
    # Without a sign: a unit and its mirror image differ by a linear function.
    return np.array([min(np.abs(other - unit).max(1).min(), np.abs(other + unit).max(1).min()) for unit in true])


# ---- runs

def measured(command, stop_after=None):
    """What it printed, the last error it showed, seconds by the clock, seconds of processor time: its own, whatever else runs."""
    began = time.monotonic()
    shown = b""
    if stop_after is None:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    else:  # progress is drawn on terminals
        ours, theirs = pty.openpty()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env={**os.environ, "TERM": "xterm", "COLUMNS": "200"})
        os.close(theirs)
        time.sleep(stop_after)
        process.send_signal(signal.SIGINT)
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    errors = re.findall(rb"error ([0-9.e+-]+) with \d+ unit", shown)
    return printed, float(errors[-1]) if errors else None, time.monotonic() - began, usage.ru_utime + usage.ru_stime


def run(asked, line, seed, seconds_of_all=None):
    interrupted = line.startswith("interrupted:")
    inputs, kind, sizes, rows, *single = line.removeprefix("interrupted:").split(":")
    shape, n = [int(size) for size in sizes.split("-")], int(rows)
    folder = pathlib.Path(asked.networks)
    network = network_of(kind, shape, inputs, seed, folder)
    random = np.random.default_rng([seed, 7])
    x, fresh = (INPUTS[inputs](count, shape[0], random, folder) for count in (n, 20_000))
    if single:
        x = x.astype("float32").astype(float)
    y = values(network, x)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, array in (("x", x), ("y", y)):
            np.save(folder / f"{name}.npy", array.astype("float32") if single else array)
        command = [asked.exhume, "recover", folder / "x.npy", folder / "y.npy", "--budget", str(asked.budget), "--threads", str(asked.threads),
                   "--device", asked.device, "--seed", str(seed), "--out", folder / "out", "--json"]  # fmt: skip
        if len(shape) > 3:
            command += ["--layers", str(len(shape) - 2)]
        stop_after = np.random.default_rng([seed, 8]).uniform(1, 0.9 * seconds_of_all) if interrupted else None
        printed, shown, seconds, processor = measured([str(word) for word in command], stop_after)
        row = {"line": line, "seed": seed, "seconds": f"{seconds:.1f}", "processor": f"{processor:.1f}"}
        try:
            said = json.loads(printed)
        except ValueError:
            return {**row, "status": "no result", "said": printed[-200:]}
        row["status"] = said["status"]
        units = said.get("hidden_units")
        row["units"] = "-".join(map(str, units)) if isinstance(units, list) else units
        row["said"] = "; ".join(f"{tried['route']}: {tried['outcome']}" for tried in said.get("tried", []))
        if not (folder / "out" / "network.safetensors").exists():
            return row
        found, slope = read_network(folder / "out" / "network.safetensors")
        spread = values(network, fresh).var(0).sum()
        if len(shape) > 3 and slope is not None:  # layers that pass on what is below them: held-out rows say how far it is off
            row["error"] = f"{said['heldout_relative_mse']:.1e}"
        else:
            wrong = values(found, fresh) + (0 if slope is None else fresh @ slope.T) - values(network, fresh)
            row["error"] = f"{(wrong**2).mean(0).sum() / spread:.1e}"
        if interrupted:
            row["found"] = "not shown" if shown is None else "as shown" if float(row["error"]) <= 1.5 * shown else f"shown {shown:.1e}"
        elif len(shape) == 3:
            bends = units_that_bend(network, x)
            apart = units_found(network, found, bends)
            row["determined"] = int(bends.sum())
            row["found"] = int((apart <= (1e-3 if single else 1e-6)).sum())
            row["weights"] = f"{apart.max(initial=0):.1e}"
        else:
            few = x[:: max(1, len(x) // 40_000)]
            row["determined"] = f"{smallest_slope(network, few):.0e}"
        return row


def read(table):
    with open(table, newline="") as file:
        return list(csv.DictReader(file))


def right(row):
    limit = SINGLE if row["line"].endswith("float32") else DOUBLE
    return row["status"] == "certified" and row["error"] != "" and float(row["error"]) <= limit


def summary(table):
    print("| inputs, network, rows | certified and right | of those that the rows determine | units found | seconds of one core | worst weight error |")
    print("| --- | --- | --- | --- | --- | --- |")
    lines = {}
    for row in read(table):
        lines.setdefault(row["line"], []).append(row)
    for line, rows in lines.items():
        times = sorted(float(row["processor"]) for row in rows)
        shallow = [row for row in rows if row["determined"] and "e-" not in row["determined"] and row["found"].isdigit()]
        told = [row for row in rows if row not in shallow and row["determined"] and float(row["determined"]) >= DETERMINED]
        units = f"{sum(int(row['found']) for row in shallow)} of {sum(int(row['determined']) for row in shallow)}" if shallow else ""
        worst = max((float(row["weights"]) for row in shallow if right(row)), default=None)
        print(f"| {line.replace(':', ', ')} | {sum(map(right, rows))} of {len(rows)} | {f'{sum(map(right, told))} of {len(told)}' if told else ''} | {units} "
              f"| {times[0]:.0f} to {times[-1]:.0f} | {'' if worst is None else f'{worst:.0e}'} |")  # fmt: skip


def main():
    if sys.argv[1:2] == ["--table"]:
        return summary(sys.argv[2])
    make = sys.argv[1:2] == ["--make"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    if make:
        parser.add_argument("--make", dest="networks")
    else:
        parser.add_argument("exhume")
        parser.add_argument("table")
        parser.add_argument("--networks", default="build/networks")
    parser.add_argument("lines", nargs="*", metavar="LINE")
    parser.add_argument("--seeds", default="1-2")
    parser.add_argument("--budget", type=float, default=300)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_intermixed_args()
    first, last = map(int, asked.seeds.split("-"))
    lines = [line for name in asked.lines or ["small"] for line in GROUPS.get(name, [name])]
    todo = [(line, seed) for line in lines for seed in range(first, last + 1)]
    if make:
        digits(pathlib.Path(asked.networks))
        for line, seed in todo:
            inputs, kind, sizes, *_ = line.removeprefix("interrupted:").split(":")
            network_of(kind, [int(size) for size in sizes.split("-")], inputs, seed, pathlib.Path(asked.networks))
        return
    known = read(asked.table) if os.path.exists(asked.table) else []
    done = {(row["line"], int(row["seed"])) for row in known}
    whole = {}  # seconds of the run that interrupted ones are compared with
    for line in {line for line, seed in todo if line.startswith("interrupted:") and (line, seed) not in done}:
        whole[line] = float(run(asked, line.removeprefix("interrupted:"), first)["seconds"])
    with open(asked.table, "a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not known:
            writer.writeheader()
        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            runs = [pool.submit(run, asked, line, seed, whole.get(line)) for line, seed in todo if (line, seed) not in done]
            for finished in concurrent.futures.as_completed(runs):
                row = finished.result()
                writer.writerow(row)
                file.flush()
                print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
