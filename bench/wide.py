"""wide.py EXHUME [--device auto|cpu|cuda] [--rates PROGRAM] [--adam] [--seed N] [--networks N] [--out FILE] [LINE ...]

Wide networks: every line is planted anew (--networks times, with one seed after the other), recovered by the command line
with the number of units not given, and compared with the truth. Prints time by stage, status and worst error; with --rates the
speed of moments beside a dgemm; with --adam, where PyTorch is there, what Adam reaches on the same data in the same time at 1
and 4 times the width (relative test error). Lines named digits-... are trained by scikit-learn and need it.
LINE: names of LINES below, or small and digits (for two cores), wide (for a device), exponent-small, exponent-wide.
"""

import argparse
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

# name: inputs, units, outputs, rows, amplitudes
LINES = {
    "30": (30, 30, 1, 100_000, "signs"),
    "64-small": (64, 64, 1, 150_000, "signs"),
    "64": (64, 64, 1, 300_000, "signs"),
    "100": (100, 100, 100, 20_000, "normal"),
    "digits-32": (64, 32, 1, 200_000, "fitted"),
    "digits-64": (64, 64, 1, 200_000, "fitted"),
    "64-128": (64, 128, 1, 2_000_000, "signs"),
    "64-128-2": (64, 128, 2, 2_000_000, "signs"),
    "128-10": (128, 128, 10, 1_000_000, "normal"),
    "128-1": (128, 128, 1, 4_000_000, "signs"),
    "128-4": (128, 128, 4, 1_000_000, "lognormal"),
    "784-32-10": (784, 32, 10, 200_000, "trained"),
    "784-128-10": (784, 128, 10, 1_000_000, "trained"),
    "256-10": (256, 256, 10, 2_000_000, "normal"),
}
GROUPS = {
    "small": ["30", "100", "64", "64-small", "784-32-10"],
    "digits": ["digits-32", "digits-64"],
    "wide": ["64", "128-10", "128-1", "128-4", "64-128", "784-128-10"],
    "exponent-small": ["k16", "k32", "k64"],
    "exponent-wide": ["k32", "k64", "k128", "k256"],
}
ROWS_PER_UNIT_SQUARED = 64  # of the exponent's lines: n / k^2


def line(name):
    if name.startswith("k"):
        k = int(name[1:])
        return k, k, 1, ROWS_PER_UNIT_SQUARED * k * k, "signs"
    return LINES[name]


def write_safetensors(path, tensors):
    """tensors: name -> (shape, flat list of doubles)."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        raw = struct.pack(f"<{len(values)}d", *values)
        header[name] = {"dtype": "F64", "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def lognormal_network(path, d, k, m, seed):
    """Amplitudes normal times lognormal(0, 0.7), one factor a unit."""
    g = random.Random(seed)
    W = []
    for _ in range(k):
        w = [g.gauss(0, 1) for _ in range(d)]
        norm = math.sqrt(sum(v * v for v in w))
        W += [v / norm for v in w]
    scale = [g.lognormvariate(0, 0.7) for _ in range(k)]
    A = [g.gauss(0, 1) * scale[j] for _ in range(m) for j in range(k)]
    b = [g.uniform(-0.5, 0.5) for _ in range(k)]
    write_safetensors(path, {"W": ((k, d), W), "b": ((k,), b), "A": ((m, k), A), "c": ((m,), [0.0] * m)})


def enlarged(images):
    """8 x 8 pictures as 28 x 28 ones, by linear interpolation between the centres of their pixels; rows of 784."""
    import numpy as np

    at = np.clip((np.arange(28) + 0.5) * 8 / 28 - 0.5, 0, 7)
    left = np.minimum(at.astype(int), 6)
    weights = np.zeros((28, 8))
    weights[np.arange(28), left] = left + 1 - at
    weights[np.arange(28), left + 1] = at - left
    return np.einsum("ai,nij,bj->nab", weights, images.reshape(-1, 8, 8), weights).reshape(len(images), 784)


def trained_network(path, k, seed, digits):
    """784-k-10, trained on 28 x 28 digits made from the 8 x 8 ones (digits: an .npz with x and y), by 1500 steps of Adam."""
    import numpy as np

    data = np.load(digits)
    x, y = enlarged(data["x"].astype(float)), data["y"].astype(int)
    x = (x - x.mean()) / x.std()
    g = np.random.default_rng(seed)
    sizes = {"W": (k, 784), "b": (k,), "A": (10, k), "c": (10,)}
    bound = {"W": 784**-0.5, "b": 784**-0.5, "A": k**-0.5, "c": k**-0.5}
    net = {name: g.uniform(-bound[name], bound[name], size) for name, size in sizes.items()}
    mean, square = ({name: np.zeros(size) for name, size in sizes.items()} for _ in range(2))
    for step in range(1, 1501):
        i = g.integers(len(x), size=256)
        hidden = np.maximum(x[i] @ net["W"].T + net["b"], 0)
        scores = hidden @ net["A"].T + net["c"]
        off = np.exp(scores - scores.max(1, keepdims=True))
        off /= off.sum(1, keepdims=True)
        off[np.arange(256), y[i]] -= 1
        off /= 256
        back = (off @ net["A"]) * (hidden > 0)
        slopes = {"W": back.T @ x[i], "b": back.sum(0), "A": off.T @ hidden, "c": off.sum(0)}
        for name, slope in slopes.items():
            mean[name] += 0.1 * (slope - mean[name])
            square[name] += 0.001 * (slope**2 - square[name])
            size = np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8
            net[name] -= 1e-3 * mean[name] / (1 - 0.9**step) / size
    write_safetensors(path, {name: (value.shape, value.reshape(-1).tolist()) for name, value in net.items()})


def fitted_network(path, k, seed, digits):
    """64-k-1: scikit-learn's regression of the digit on its 8 x 8 pixels."""
    import numpy as np
    from sklearn.neural_network import MLPRegressor

    data = np.load(digits)
    x, y = data["x"].reshape(len(data["x"]), -1).astype(float), data["y"].astype(float)
    x = (x - x.mean()) / x.std()
    net = MLPRegressor(hidden_layer_sizes=(k,), max_iter=300, random_state=seed).fit(x, y)
    tensors = {"W": net.coefs_[0].T, "b": net.intercepts_[0], "A": net.coefs_[1].T, "c": net.intercepts_[1]}
    write_safetensors(path, {name: (value.shape, value.reshape(-1).tolist()) for name, value in tensors.items()})


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def adam_error(folder, width, seconds):
    """Relative test error of a student of this width after so many seconds of Adam."""
    import numpy as np
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.tensor(np.load(folder / "x.npy", mmap_mode="r")[:2_000_000].astype("float32")).to(device)
    y = torch.tensor(np.load(folder / "y.npy", mmap_mode="r")[:2_000_000].astype("float32")).to(device)
    y = (y - y.mean(0)) / y.std()
    test = len(x) // 20
    net = torch.nn.Sequential(torch.nn.Linear(x.shape[1], width), torch.nn.ReLU(), torch.nn.Linear(width, y.shape[1])).to(device)
    adam = torch.optim.Adam(net.parameters(), 3e-3)
    start = time.time()
    while time.time() - start < seconds:
        for group in adam.param_groups:  # the rate falls to a hundredth
            group["lr"] = 3e-3 * 10 ** (-2 * (time.time() - start) / seconds)
        for _ in range(20):
            i = torch.randint(test, len(x), (4096,), device=device)
            loss = ((net(x[i]) - y[i]) ** 2).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
    with torch.no_grad():
        return float(((net(x[:test]) - y[:test]) ** 2).sum() / ((y[:test] - y[:test].mean(0)) ** 2).sum())


def measure(name, seed, arguments, folder):
    d, k, m, n, amplitudes = line(name)
    data, result = folder / "data", folder / "result"
    common = [arguments.exhume, "generate", "-n", str(n), "--seed", str(seed), "--out", str(data), "--force", "-q"]
    if amplitudes in ("lognormal", "trained", "fitted"):
        network = folder / "network.safetensors"
        try:
            if amplitudes == "lognormal":
                lognormal_network(network, d, k, m, seed)
            else:
                {"trained": trained_network, "fitted": fitted_network}[amplitudes](network, k, seed, arguments.digits)
        except ImportError as missing:
            return {"line": name, "status": f"no data: needs {missing.name}"}
        made = run(common + ["--network", str(network)])
    else:
        made = run(common + ["-d", str(d), "-k", str(k), "-m", str(m), "--amplitudes", amplitudes])
    if made.returncode != 0:
        return {"line": name, "status": "no data: " + made.stderr.strip()}
    start = time.time()
    found = run([arguments.exhume, "recover", str(data / "x.npy"), str(data / "y.npy"), "--device", arguments.device,
                 "--budget", str(arguments.budget), "--json", "--force", "--out", str(result)])
    seconds = time.time() - start
    row = {"line": name, "seed": seed, "d": d, "k": k, "m": m, "n": n, "amplitudes": amplitudes, "seconds": seconds}
    try:
        certificate = json.loads(found.stdout)
    except ValueError:
        return {**row, "status": "failed: " + found.stderr.strip()[-200:]}
    row.update(status=certificate["status"], units=certificate.get("hidden_units"), stages=certificate["timings"])
    compared = run([arguments.exhume, "compare", str(result / "network.safetensors"), str(data / "network.safetensors")])
    for text in compared.stdout.splitlines():
        if text.startswith("worst parameter error"):
            row["worst"] = float(text.split()[3])
    if arguments.adam:
        try:
            row["adam"] = [adam_error(data, width, max(seconds, 1)) for width in (k, 4 * k)]
        except ImportError:
            row["adam"] = "no PyTorch here"
    return row


def show(row):
    print(f"{row['line']:11} {row['status']}, {row['units']} units" if row.get("units") else f"{row['line']:11} {row['status']}", end="")
    if "seconds" in row:
        print(f"  {row['seconds']:.2f} s  worst error {row.get('worst', float('nan')):.1e}", end="")
    stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in row.get("stages", {}).items())
    print(f"  ({stages})" if stages else "", end="")
    adam = row.get("adam")
    print(f"  Adam {adam}" if isinstance(adam, str) else f"  Adam at 1 and 4 times the width {adam[0]:.1e}, {adam[1]:.1e}" if adam else "")
    sys.stdout.flush()


def exponent(rows):
    """Of seconds against k, by least squares of the logarithms."""
    points = [(math.log(r["k"]), math.log(r["seconds"])) for r in rows]
    mean_x, mean_y = (sum(p[i] for p in points) / len(points) for i in (0, 1))
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exhume")
    parser.add_argument("lines", nargs="*", metavar="LINE", default=["small"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rates")
    parser.add_argument("--adam", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--networks", type=int, default=1)
    parser.add_argument("--budget", type=float, default=300)
    parser.add_argument("--digits", default=str(pathlib.Path(__file__).parents[1] / "examples/data/digits.npz"))
    parser.add_argument("--out")
    arguments = parser.parse_intermixed_args()
    if arguments.rates:
        print(run([arguments.rates, arguments.device]).stdout, end="")
    rows = []
    for name in arguments.lines:
        with tempfile.TemporaryDirectory() as folder:
            seeds = range(arguments.seed, arguments.seed + arguments.networks)
            group = [measure_and_show(each, seed, arguments, pathlib.Path(folder))
                     for each in GROUPS.get(name, [name]) for seed in seeds]
        if name.startswith("exponent") and all("seconds" in row for row in group):
            print(f"seconds grow as k^{exponent(group):.2f} at n = {ROWS_PER_UNIT_SQUARED} k^2")
        rows += group
    if arguments.out:
        pathlib.Path(arguments.out).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 0 if all(row["status"] == "certified" for row in rows) else 1


def measure_and_show(name, seed, arguments, folder):
    row = measure(name, seed, arguments, folder)
    show(row)
    return row


if __name__ == "__main__":
    sys.exit(main())
