#!/usr/bin/env python3
"""Odd deep networks, extracted by queries: how many are certified, and what is said of the others.

    python3 bench/odd_deep.py build/release/apps/exhume [--count 100] [--seed 1] [--jobs 2] [--only WORD] [--budget S] [--keep DIR]

Two or three hidden layers of 2 to 6 units, 3 to 8 inputs, one to three outputs, half of them asked within a box, half anywhere.
Each is odd in one way: a unit that acts rarely, two units on one plane facing away from each other or the same way, a copy of a
unit, a unit that is always on, outputs of size 1e-8, a unit of amplitude 1e-9, or none of these. For every network: is it
certified, does what was found give its answers, are there more units than it needs, and, where it is not certified, which weights
are said to be open. Ends with 1 where a certificate is false or fewer than 90% are certified. Standard library only.
"""

import argparse
import array
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

FRESH = 500  # inputs at which a network that was found is compared with the one that was asked
EXACT = 1e-9  # of the outputs' spread: what counts as the same function
WANTED = 0.9


def row(rng, d):
    values = [rng.gauss(0, 1) for _ in range(d)]
    size = math.sqrt(sum(v * v for v in values))
    return [v / size for v in values]


def network(rng, d, widths, m):
    """[(W, b), ..., (A, c)], unit rows; every unit switches somewhere among normal inputs."""
    layers, rows = [], [[rng.gauss(0, 1) for _ in range(d)] for _ in range(400)]
    for k in widths:
        W, b = [], []
        for _ in range(k):
            w = row(rng, len(rows[0]))
            at = sorted(sum(u * v for u, v in zip(w, x)) for x in rows)
            W.append(w)
            b.append(-at[int(rng.uniform(0.2, 0.8) * len(at))])
        layers.append((W, b))
        rows = through(layers[-1], rows)
    layers.append(([[rng.choice((-1, 1)) * rng.uniform(0.3, 1.5) for _ in range(widths[-1])] for _ in range(m)],
                   [rng.gauss(0, 1) for _ in range(m)]))
    return layers


def through(layer, rows, relu=True):
    W, b = layer
    z = [[sum(u * v for u, v in zip(w, x)) + c for w, c in zip(W, b)] for x in rows]
    return [[max(v, 0.0) for v in line] for line in z] if relu else z


def evaluate(layers, rows):
    for layer in layers[:-1]:
        rows = through(layer, rows)
    return through(layers[-1], rows, relu=False)


def pre_activations(layers, level, rows):
    for layer in layers[:level]:
        rows = through(layer, rows)
    return through(layers[level], rows, relu=False)


# Ways of being odd: each changes one unit of one layer.

def nothing(rng, layers, level, rows):
    pass


def rare(rng, layers, level, rows):
    """A unit that is on for one to five inputs in a hundred."""
    W, b = layers[level]
    j = rng.randrange(len(W))
    at = sorted((z[j] for z in pre_activations(layers, level, rows)), reverse=True)
    b[j] -= at[int(rng.uniform(0.01, 0.05) * len(at))]


def antiparallel(rng, layers, level, rows):
    W, b = layers[level]
    if len(W) < 2:
        return
    i, j = rng.sample(range(len(W)), 2)
    W[j], b[j] = [-v for v in W[i]], -b[i] + rng.choice((0.0, 0.3))


def twin(rng, layers, level, rows):
    """Two units on one plane, of different size."""
    W, b = layers[level]
    if len(W) < 2:
        return
    i, j = rng.sample(range(len(W)), 2)
    c = rng.uniform(0.5, 2)
    W[j], b[j] = [c * v for v in W[i]], c * b[i]


def duplicate(rng, layers, level, rows):
    W, b = layers[level]
    if len(W) < 2:
        return
    i, j = rng.sample(range(len(W)), 2)
    W[j], b[j] = list(W[i]), b[i]


def always_on(rng, layers, level, rows):
    W, b = layers[level]
    j = rng.randrange(len(W))
    lowest = min(z[j] for z in pre_activations(layers, level, rows))
    b[j] += max(0.0, -lowest) + rng.uniform(0.5, 3) * (abs(lowest) + 1)


def small_outputs(rng, layers, level, rows):
    W, b = layers[-1]
    layers[-1] = ([[1e-8 * v for v in w] for w in W], [1e-8 * v for v in b])


def small_unit(rng, layers, level, rows):
    W, b = layers[level]
    j = rng.randrange(len(W))
    W[j], b[j] = [1e-9 * v for v in W[j]], 1e-9 * b[j]


WAYS = {"rare unit": rare, "antiparallel units": antiparallel, "twin units": twin, "duplicate unit": duplicate,
        "always-on unit": always_on, "outputs of size 1e-8": small_outputs, "amplitude 1e-9": small_unit, "nothing odd": nothing}


def write(path, layers):
    header, data = {}, b""
    for i, (W, b) in enumerate(layers):
        last = i + 1 == len(layers)
        for name, values, shape in ((("A" if last else f"layers.{i}.W"), [v for w in W for v in w], [len(W), len(W[0])]),
                                    (("c" if last else f"layers.{i}.b"), b, [len(b)])):
            raw = array.array("d", values).tobytes()
            header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + data)


def read(path):
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    found = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = list(array.array("d", raw[8 + size + begin:8 + size + end]))
            shape = entry["shape"]
            found[name] = [values[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])] if len(shape) == 2 else values
    return found


def answers(tensors, rows):
    """Of a network that was found; with skip terms too. None where the file has another form."""
    if "W" in tensors:
        layers = [(tensors["W"], tensors["b"])]
    else:
        layers = [(tensors[f"layers.{i}.W"], tensors[f"layers.{i}.b"]) for i in range(len(tensors))
                  if f"layers.{i}.W" in tensors]
    if any(".L" in name or ".S" in name for name in tensors):
        return None
    y = evaluate([*layers, (tensors["A"], tensors["c"])], rows)
    if "L" in tensors:
        y = [[v + sum(a * u for a, u in zip(line, x)) for v, line in zip(out, tensors["L"])] for out, x in zip(y, rows)]
    return y


def one(task):
    exhume, number, seed, budget, only, keep = task
    rng = random.Random(f"{seed}/{number}")
    way = list(WAYS)[number % len(WAYS)]
    if only not in way:
        return None
    d, m = rng.randint(3, 8), rng.randint(1, 3)
    widths = [rng.randint(3, 6), rng.randint(2, 5)] + ([rng.randint(2, 3)] if rng.random() < 0.2 else [])
    layers = network(rng, d, widths, m)
    box = number // len(WAYS) % 2 == 1
    draw = (lambda: [rng.uniform(-3, 3) for _ in range(d)]) if box else (lambda: [rng.gauss(0, 1) for _ in range(d)])
    WAYS[way](rng, layers, rng.randrange(len(widths)), [draw() for _ in range(2000)])
    shape = "-".join(map(str, [d, *widths, m]))
    with tempfile.TemporaryDirectory(prefix="exhume-odd-") as scratch:
        folder = pathlib.Path(scratch)
        write(folder / "asked.safetensors", layers)
        command = [exhume, "extract", "--network", "asked.safetensors", "--out", "out", "--threads", "1", "--quiet",
                   "--budget", str(budget), "--seed", str(rng.randrange(10**6))] + (["--low=-3", "--high=3"] if box else [])
        began = time.monotonic()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        seconds = time.monotonic() - began
        if keep:
            shutil.copytree(folder, pathlib.Path(keep) / str(number), dirs_exist_ok=True)
        path = folder / "out/certificate.json"
        says = json.loads(path.read_text()) if path.exists() else {"status": "no result", "reason": done.stderr.strip()[-300:]}
        off, found_shape = math.nan, ""
        if (folder / "out/network.safetensors").exists():
            tensors = read(folder / "out/network.safetensors")
            hidden = [tensors["W"]] if "W" in tensors else [tensors[f"layers.{i}.W"] for i in range(9) if f"layers.{i}.W" in tensors]
            found_shape = "-".join(map(str, [d, *(len(W) for W in hidden), m]))
            x = [draw() for _ in range(FRESH)]
            y, f = evaluate(layers, x), answers(tensors, x)
            if f is not None:
                means = [sum(column) / FRESH for column in zip(*y)]
                spread = math.sqrt(sum((v - c) ** 2 for line in y for v, c in zip(line, means)) / FRESH)
                # Of a network that is constant on nearly all inputs: of its size.
                scale = max(spread, 1e-3 * max(abs(v) for line in y for v in line), 1e-300)
                off = math.sqrt(sum((u - v) ** 2 for a, b in zip(y, f) for u, v in zip(a, b)) / FRESH) / scale
    return {"number": number, "way": way, "shape": shape, "box": box, "status": says["status"], "found": found_shape, "off": off,
            "seconds": seconds, "reason": says.get("reason", ""), "queries": says.get("queries", 0), "exit": done.returncode}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exhume")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default="")
    given = parser.parse_args()
    exhume = str(pathlib.Path(given.exhume).resolve())
    tasks = [(exhume, i, given.seed, given.budget, given.only, given.keep) for i in range(given.first, given.first + given.count)]
    rows = []
    with concurrent.futures.ProcessPoolExecutor(given.jobs) as pool:
        for result in pool.map(one, tasks):
            if result is None:
                continue
            rows.append(result)
            r = result
            print(f"{r['number']:4} {r['way']:22} {'box' if r['box'] else 'free':5} {r['shape']:12} -> {r['found'] or '-':12} "
                  f"{r['status']:12} off {r['off']:8.1e} {r['queries']:7} queries {r['seconds']:6.1f} s"
                  f"{'' if r['status'] == 'certified' else '  ' + r['reason']}", flush=True)
    false = [r for r in rows if r["status"] == "certified" and r["off"] > EXACT]
    print(f"\n{'odd in':24} {'networks':>9} {'certified':>10} {'same function, not certified':>29}")
    for way in WAYS:
        mine = [r for r in rows if r["way"] == way]
        if mine:
            print(f"{way:24} {len(mine):9} {sum(r['status'] == 'certified' for r in mine):10} "
                  f"{sum(r['status'] != 'certified' and r['off'] <= EXACT for r in mine):29}")
    certified = sum(r["status"] == "certified" for r in rows)
    print(f"{'all':24} {len(rows):9} {certified:10} {sum(r['status'] != 'certified' and r['off'] <= EXACT for r in rows):29}")
    statuses = collections.Counter(r["status"] for r in rows)
    print(f"{len(false)} false; {dict(statuses)}; {sum(r['queries'] for r in rows)} queries, {sum(r['seconds'] for r in rows):.0f} s")
    return 0 if rows and not false and certified >= WANTED * len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
