"""deep_beside_adam.py EXHUME [--seeds N] [--out FILE.json] [SHAPE:ROWS ...]

Random networks of several hidden layers from samples: exhume, then, on the same rows and for the same time, PyTorch's Adam with a plain
network of the same widths and with one of four times these. Prints one line a run and in the end a table in Markdown: relative
error on fresh rows, and the distance of weights where the widths are the same.

Networks as in docs/deep.md: unit rows of W_1, rows above normal times sqrt(2 / width), biases 0.3 normal, Gaussian inputs.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import torch

DEFAULT = ["5-5-5-1:20000", "10-8-6-3:20000", "10-10-10-1:50000", "10-20-20-1:50000"]
BATCH, FIRST_RATE, LAST_RATE = 512, 1e-2, 1e-5
FRESH = 20_000  # rows that nobody has seen


def planted(shape, seed):
    """Layers (W, b) of a random network."""
    random = np.random.default_rng([2026, seed, *shape])
    layers = []
    for number, (below, units) in enumerate(zip(shape, shape[1:])):
        W = random.standard_normal((units, below))
        W = W / np.linalg.norm(W, axis=1, keepdims=True) if number == 0 else W * math.sqrt(2 / below)
        layers.append((W, 0.3 * random.standard_normal(units)))
    return layers, random


def outputs(layers, x):
    for W, b in layers[:-1]:
        x = np.maximum(x @ W.T + b, 0)
    return x @ layers[-1][0].T + layers[-1][1]


def save(layers, path):
    np.savez(path, **{f"{name}{number}": value for number, layer in enumerate(layers, 1) for name, value in zip("Wb", layer)})


def distance(exhume, first, second):
    """Largest difference of weights after the best matching of units, or None where the widths differ."""
    run = subprocess.run([exhume, "compare", first, second, "--json"], capture_output=True, text=True)
    return json.loads(run.stdout).get("worst_error") if run.stdout.startswith("{") else None


def relative(found, truth):
    return float(np.square(found - truth).sum() / np.square(truth - truth.mean(0)).sum())


def adam(widths, x, y, seconds, seed):
    """Layers of a plain network after so many seconds of Adam, its rate falling by the clock."""
    torch.manual_seed(seed)
    sizes = [x.shape[1], *widths, y.shape[1]]
    parts = []
    for below, units in zip(sizes, sizes[1:]):
        parts += [torch.nn.Linear(below, units), torch.nn.ReLU()]
    net = torch.nn.Sequential(*parts[:-1])
    mean, spread = y.mean(0), y.std(0)
    rows, targets = torch.tensor(x, dtype=torch.float32), torch.tensor((y - mean) / spread, dtype=torch.float32)
    optimizer = torch.optim.Adam(net.parameters(), FIRST_RATE)
    start = time.perf_counter()
    while (share := (time.perf_counter() - start) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = LAST_RATE + (FIRST_RATE - LAST_RATE) * (1 + math.cos(math.pi * share)) / 2
        for some in torch.randperm(len(rows))[: 20 * BATCH].split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(net(rows[some]), targets[some]).backward()
            optimizer.step()
    layers = [(p.weight.detach().double().numpy(), p.bias.detach().double().numpy()) for p in net if isinstance(p, torch.nn.Linear)]
    W, b = layers[-1]
    layers[-1] = (W * spread[:, None], b * spread + mean)
    return layers


def run(exhume, shape, rows, seed, folder):
    truth, random = planted(shape, seed)
    x, fresh = random.standard_normal((rows, shape[0])), random.standard_normal((FRESH, shape[0]))
    y, wanted = outputs(truth, x), outputs(truth, fresh)
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    save(truth, folder / "truth.npz")
    start = time.perf_counter()
    command = [exhume, "recover", folder / "x.npy", folder / "y.npy", "--layers", str(len(shape) - 2), "--out", folder / "out"]
    answer = json.loads(subprocess.run([*command, "--json", "--quiet", "--force"], capture_output=True, text=True).stdout)
    seconds = time.perf_counter() - start
    row = {
        "shape": "-".join(map(str, shape)),
        "rows": rows,
        "seed": seed,
        "seconds": seconds,
        "status": answer["status"],
        "exhume": answer["heldout_relative_mse"],
        "exhume_weights": distance(exhume, folder / "out/network.safetensors", folder / "truth.npz"),
    }
    for name, times in (("same", 1), ("wide", 4)):
        layers = adam([times * k for k in shape[1:-1]], x, y, seconds, seed)
        row[name] = relative(outputs(layers, fresh), wanted)
        if times == 1:
            save(layers, folder / "adam.npz")
            row["same_weights"] = distance(exhume, folder / "adam.npz", folder / "truth.npz")
    print(json.dumps(row), flush=True)
    return row


def number(value):
    return "-" if value is None else f"{value:.0e}"


def table(rows):
    lines = [
        "| network | rows | seconds | exhume: error | weights | Adam, same widths: error | weights | Adam, 4 times the widths: error |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        lines.append(
            f"| {row['shape']} | {row['rows']:,} | {row['seconds']:.0f} | {number(row['exhume'])} | {number(row['exhume_weights'])} "
            f"| {number(row['same'])} | {number(row['same_weights'])} | {number(row['wide'])} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exhume")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("networks", nargs="*", default=DEFAULT)
    arguments = parser.parse_intermixed_args()
    rows = []
    for network in arguments.networks:
        shape, count = network.split(":")
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(run(arguments.exhume, [int(k) for k in shape.split("-")], int(count), seed, pathlib.Path(folder)))
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1))
    print(table(rows))


if __name__ == "__main__":
    main()
