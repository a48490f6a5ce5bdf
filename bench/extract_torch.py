"""A float32 PyTorch network asked through `exhume extract --command`: widths, questions, and how far the found one is off.

    venv/bin/python bench/extract_torch.py build/release/apps/exhume [--shape 784-32-1] [--seeds 1-5]

torch (CPU) and numpy are needed. With --serve SEED it is the program that is asked: batches over stdin and stdout.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

FRESH = 20000  # inputs on which the found network is compared


def secret(shape, seed):
    torch.manual_seed(seed)
    inputs, hidden, outputs = shape
    return torch.nn.Sequential(torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outputs))


def answers(network, rows):
    with torch.no_grad():
        return network(torch.from_numpy(rows.astype(np.float32))).numpy().astype(np.float64)


def serve(shape, seed):
    torch.set_num_threads(1)
    network = secret(shape, seed)
    while line := sys.stdin.buffer.readline():
        rows = json.loads(line)["rows"]
        x = np.frombuffer(sys.stdin.buffer.read(8 * rows * shape[0])).reshape(rows, shape[0])
        y = answers(network, x)
        sys.stdout.buffer.write(json.dumps({"rows": rows, "outputs": y.shape[1]}).encode() + b"\n" + y.tobytes())
        sys.stdout.buffer.flush()


def tensors(path):
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8:8 + size])
    return {name: np.frombuffer(data[8 + size:][slice(*entry["data_offsets"])]).reshape(entry["shape"])
            for name, entry in head.items() if name != "__metadata__"}


def found_answers(path, x):
    t = tensors(path)
    return np.maximum(x @ t["W"].T + t["b"], 0) @ t["A"].T + t["c"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("exhume", nargs="?")
    parser.add_argument("--shape", default="784-32-1")
    parser.add_argument("--seeds", default="1-5")
    parser.add_argument("--serve", type=int)
    options = parser.parse_args()
    shape = tuple(map(int, options.shape.split("-")))
    if options.serve is not None:
        serve(shape, options.serve)
        return
    first, last = map(int, options.seeds.split("-"))
    for seed in range(first, last + 1):
        with tempfile.TemporaryDirectory() as folder:
            command = f"{sys.executable} {os.path.abspath(__file__)} --shape {options.shape} --serve {seed}"
            start = time.monotonic()
            run = subprocess.run([options.exhume, "extract", "--command", command, "--inputs", str(shape[0]), "--seed", str(seed),
                                  "--out", f"{folder}/out", "--json"], capture_output=True, text=True)
            seconds = time.monotonic() - start
            said = json.loads(run.stdout)
            line = f"seed {seed}: {said['status']}, {said['precision']}, {said['hidden_units']} units, {said['queries']} questions, {seconds:.0f} s"
            if said["status"] != "refused":
                x = np.random.default_rng(seed).standard_normal((FRESH, shape[0])) * said["spread"]
                y = answers(secret(shape, seed), x)
                exact = secret(shape, seed).double()
                with torch.no_grad():
                    rounding = np.abs(y - exact(torch.from_numpy(x)).numpy()).max() / y.std()
                line += f"; worst of {FRESH}: {np.abs(y - found_answers(f'{folder}/out/network.safetensors', x)).max() / y.std():.1e}"
                line += f" of the outputs' spread, the oracle's own rounding {rounding:.1e}"
            else:
                line += "; " + said["reason"]
            print(line, flush=True)


if __name__ == "__main__":
    main()
