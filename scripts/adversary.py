#!/usr/bin/env python3
"""What an adversary would try, on fresh seeds: adversary.py PATH/TO/exhume [--runs 2000] [--seed 1] [--jobs 2]
[--only WORD] [--seconds 3600]

Kinds of data, oracles, folders and files, each a small function that makes one instance, runs the program on it and says
what became of it. One table at the end: verdicts, claims that are false, bounds that are broken, hangs, crashes,
bytes written, queries used. Ends with 1 where anything was false, hung, crashed, deleted or forged unseen, where
bounds break more often than the confidences beside them allow, or where less than 99% of the recoverable ones stand.

A certificate of samples claims the function to the precision at which outputs are stored; one of an oracle claims its answers
for all but `unseen_share` of the inputs that it names, at 99.9%. Both are checked on fresh inputs.
Standard library only.
"""

import argparse
import array
import concurrent.futures
import hashlib
import importlib
import json
import math
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

LIMIT = 60  # seconds that a run may take; whatever is longer hangs
MEMORY = 6 << 30  # bytes of address space
QUERIES = 20000
FRESH = 400  # inputs on which claims are checked
OK_CODES = (0, 2, 3, 4, 5)
EXACT, NOISE, OUTSIDE = "exact", "noise", "outside"
HERE = pathlib.Path(__file__).resolve().parents[1]


@dataclass
class Outcome:
    """What became of one run."""

    verdict: str = "-"
    false: str = ""  # a claim that is not true, a forgery that was accepted, a file that is gone
    broken: bool = False  # estimated, and off by more than the bound; extracted, and off on more inputs than stated
    doubt: float = 0.0  # one minus the confidence of what is claimed, where there is one
    hang: bool = False
    crash: str = ""
    bytes: int = 0
    queries: int = 0
    note: str = ""


ACTIVATIONS = {
    "relu": lambda v: max(v, 0.0),
    "tanh": math.tanh,
    "sigmoid": lambda v: 0.5 * (1 + math.tanh(v / 2)),
    "softplus": lambda v: max(v, 0.0) + math.log1p(math.exp(-abs(v))),
    "gelu": lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))),
    "silu": lambda v: 0.5 * v * (1 + math.tanh(v / 2)),
    "sine": math.sin,
    "sin": math.sin,
    "square": lambda v: v * v,
    "abs": abs,
}


@dataclass
class Network:
    """f(x) = A max(Wx + b, 0) + c + L x, or layers of it."""

    layers: list
    linear: list = field(default_factory=list)
    activation: str = "relu"

    def __call__(self, x):
        h = x
        for i, (W, b) in enumerate(self.layers):
            z = [sum(w * v for w, v in zip(row, h)) + bias for row, bias in zip(W, b)]
            h = z if i + 1 == len(self.layers) else list(map(ACTIVATIONS[self.activation], z))
        return [v + sum(w * u for w, u in zip(row, x)) for v, row in zip(h, self.linear)] if self.linear else h


def unit_row(rng, d):
    row = [rng.gauss(0, 1) for _ in range(d)]
    size = math.sqrt(sum(v * v for v in row))
    return [v / size for v in row]


def planted(rng, d, k, m=1, bias=0.5):
    W = [unit_row(rng, d) for _ in range(k)]
    b = [rng.uniform(-bias, bias) for _ in range(k)]
    A = [[rng.choice((-1, 1)) * rng.uniform(0.5, 1.5) for _ in range(k)] for _ in range(m)]
    return Network([(W, b), (A, [rng.gauss(0, 1) for _ in range(m)])])


def deep(rng, d, widths, m=1):
    layers, below = [], d
    for k in widths:
        layers.append(([unit_row(rng, below) for _ in range(k)], [rng.gauss(0, 0.3) for _ in range(k)]))
        below = k
    layers.append(([[rng.gauss(0, 1) for _ in range(below)] for _ in range(m)], [0.0] * m))
    return Network(layers)


def read_network(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    tensors, activation = {}, header.get("__metadata__", {}).get("activation", "relu")
    if activation not in ACTIVATIONS:
        return None
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = list(array.array("d", data[8 + size + begin:8 + size + end]))
        shape = entry["shape"]
        tensors[name] = [values[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])] if len(shape) == 2 else values
    if "W" in tensors:
        return Network([(tensors["W"], tensors["b"]), (tensors["A"], tensors["c"])], tensors.get("L", []), activation)
    if any(".L" in name for name in tensors):
        return None
    layers, i = [], 0
    while f"layers.{i}.W" in tensors:
        layers.append((tensors[f"layers.{i}.W"], tensors[f"layers.{i}.b"]))
        i += 1
    if "A" in tensors:
        layers.append((tensors["A"], tensors["c"]))
    return Network(layers)


def npy(path, rows, kind="<f8"):
    columns = len(rows[0])
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(rows)}, {columns}), }}"
    head = head.ljust(117) + "\n"
    values = array.array("d" if kind == "<f8" else "f", [v for row in rows for v in row])
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values.tobytes())


class Run:
    """One instance: a folder, random numbers, and the program under limits."""

    def __init__(self, exhume, folder, seed, bases):
        self.exhume, self.folder, self.bases = exhume, folder, bases
        self.rng = random.Random(seed)
        self.out = Outcome()

    def call(self, *words, timeout=LIMIT, stdin=None, size=None):
        """Runs the program; hang and crash are noted. size: of the largest file that it may write."""
        def limits():
            if size is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.setsid()

        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen([self.exhume, *map(str, words)], cwd=self.folder, stdin=stdin or subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limits, env=environment)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                self.out.note = "SIGTERM did not end it"
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            self.out.hang = True
            return None
        if process.returncode not in OK_CODES:
            self.out.crash = f"{words[0]} ended with {process.returncode}: {err[-200:].decode(errors='replace').strip()}"
        process.out, process.err = out, err.decode(errors="replace")
        return process

    def document(self, name="out"):
        path = self.folder / name / "certificate.json"
        return json.loads(path.read_text()) if path.exists() else None

    def judge(self, f, inputs, truth, most_relative=1e-6, oracle=False):
        """Verdict of out/, and whether its claims are true of the function f."""
        says = self.document()
        self.out.bytes += sum(p.stat().st_size for p in self.folder.rglob("*") if p.is_file())
        if says is None:
            self.out.verdict = "no result"
            return None
        self.out.verdict = says["status"]
        if says["status"] not in ("certified", "estimated"):
            return says
        found = read_network(self.folder / "out/network.safetensors")
        if found is None:
            self.out.note = "not compared"
            return says
        if oracle:
            inputs = self.domain(says, len(inputs()))
        error = size = largest = 0.0
        gaps = []
        for _ in range(FRESH):
            x = inputs()
            y = f(x)
            gap = sum((u - v) ** 2 for u, v in zip(found(x), y))
            gaps.append(gap)
            error += gap / FRESH
            size += sum(v * v for v in y) / FRESH
            largest = max(largest, *map(abs, y))
        if says["status"] == "certified":
            if truth == NOISE:
                self.out.false = "certified, but there is noise"
            elif truth == OUTSIDE:
                self.out.false = "certified, but it is no network that it knows"
            elif oracle:
                self.out.doubt = 1e-3
                off = sum(gap > (most_relative * largest) ** 2 for gap in gaps)
                if off > most_of(FRESH, says["unseen_share"]):
                    self.out.broken = True
                    self.out.note = f"{off} of {FRESH} fresh inputs answered otherwise, {says['unseen_share']:.2g} are stated"
            elif error > most_relative**2 * max(size, 1e-300):
                self.out.false = f"certified, off by {math.sqrt(error / max(size, 1e-300)):.1e} of the outputs"
        else:
            self.out.doubt = 1 - says["confidence"]
            if error > 1.2 * says["functional_error_bound"]:  # fresh rows know their mean to some percent
                self.out.broken = True
                self.out.note = f"E|f - fhat|^2 is {error:.2g}, bound {says['functional_error_bound']:.2g}"
        return says

    def domain(self, says, d):
        """Inputs of which a certificate of an extraction speaks."""
        if says["low"] is not None:
            return lambda: [self.rng.uniform(says["low"], says["high"]) for _ in range(d)]
        return lambda: [self.rng.gauss(0, says["spread"]) for _ in range(d)]

    def recover(self, rows, outputs, *more, kind="<f8"):
        npy(self.folder / "x.npy", rows, kind)
        npy(self.folder / "y.npy", outputs, kind)
        return self.call("recover", "x.npy", "y.npy", "--out", "out", "--budget", 20, "--threads", 1, "--quiet", *more)


KINDS = []


def kind(name, recoverable=False):
    def add(function):
        KINDS.append((name, recoverable, function))
        return function
    return add


# Samples.

def normal_inputs(run, d):
    return lambda: [run.rng.gauss(0, 1) for _ in range(d)]


def samples(run, f, inputs, n, noise=None):
    rows = [inputs() for _ in range(n)]
    exact = [f(x) for x in rows]
    if noise is None:
        return rows, exact
    m = len(exact[0])
    sd = []
    for o in range(m):
        mean = sum(y[o] for y in exact) / n
        sd.append(math.sqrt(sum((y[o] - mean) ** 2 for y in exact) / n))
    return rows, [[v + s * e for v, s, e in zip(y, sd, noise(i, x, m))] for i, (x, y) in enumerate(zip(rows, exact))]


def of_network(run, truth=EXACT, noise=None, n=1500, inputs=None, change=None, most_relative=1e-6, **more):
    d, k, m = run.rng.randint(2, 5), run.rng.randint(1, 4), run.rng.randint(1, 2)
    f = planted(run.rng, d, k, m)
    draw = (inputs or normal_inputs)(run, d)
    rows, outputs = samples(run, f, draw, n, noise)
    if change is not None:
        rows, outputs = change(rows, outputs)
    run.recover(rows, outputs, **more)
    return run.judge(f, draw, truth, most_relative)


@kind("exact, normal inputs", recoverable=True)
def exact_normal(run):
    of_network(run)


@kind("exact, inputs in a box", recoverable=True)
def exact_box(run):
    of_network(run, inputs=lambda r, d: lambda: [r.rng.uniform(-1, 1) for _ in range(d)])


@kind("exact, columns of very different units", recoverable=True)
def exact_units(run):
    d, k = run.rng.randint(2, 4), run.rng.randint(1, 3)
    scale = [10 ** run.rng.uniform(-6, 6) for _ in range(d)]
    inner = planted(run.rng, d, k)
    draw = lambda: [s * run.rng.gauss(0, 1) for s in scale]
    f = lambda x: inner([v / s for v, s in zip(x, scale)])
    run.recover(*samples(run, f, draw, 1200))
    run.judge(f, draw, EXACT)


@kind("exact, single precision")
def exact_single(run):
    of_network(run, kind="<f4", most_relative=1e-5)


@kind("exact, four decimals")
def exact_decimals(run):
    of_network(run, change=lambda x, y: (x, [[round(v, 4) for v in row] for row in y]), n=3000, most_relative=1e-4)


@kind("exact, antiparallel and twin units")
def exact_odd(run):
    d = run.rng.randint(2, 4)
    f = planted(run.rng, d, 4)
    (W, b), _ = f.layers
    W[1], b[1] = [-v for v in W[0]], -b[0] + run.rng.choice((0.0, 0.3))
    W[3], b[3] = list(W[2]), b[2] + run.rng.choice((0.0, 1e-3, 0.2))
    draw = normal_inputs(run, d)
    run.recover(*samples(run, f, draw, 2000))
    run.judge(f, draw, EXACT)


def noisy(shape, level):
    def make(run):
        rng = run.rng
        def noise(i, x, m):
            return [level * shape(rng, x) for _ in range(m)]
        return noise
    return make


NOISES = {
    "normal": lambda rng, x: rng.gauss(0, 1),
    "uniform": lambda rng, x: rng.uniform(-1.732, 1.732),
    "Laplace": lambda rng, x: rng.choice((-1, 1)) * rng.expovariate(1) / 1.414,
    "skewed": lambda rng, x: (rng.gammavariate(2, 1) - 2) / 1.414,
    "of a size that depends on an input": lambda rng, x: (1 + 0.5 * math.tanh(2 * x[0])) * rng.gauss(0, 1),
    "Student's, three degrees": lambda rng, x: rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 2) / 3) / 1.732,
}


def add_noise_kinds():
    for name, shape in NOISES.items():
        for level in (0.1, 0.5):
            def run_one(run, shape=shape, level=level):
                of_network(run, NOISE, noisy(shape, level)(run), n=run.rng.choice((300, 800, 2000, 5000)))
            KINDS.append((f"noise {name}, {level:.0%}", False, run_one))


add_noise_kinds()


@kind("noise 10% of 4,000 rows", recoverable=True)
def noise_plenty(run):
    f = planted(run.rng, 3, 2, 2)
    draw = normal_inputs(run, 3)
    run.recover(*samples(run, f, draw, 4000, noisy(NOISES["normal"], 0.1)(run)))
    run.judge(f, draw, NOISE)


def wandering(memory, level):
    """Autoregressive noise along the rows; memory 1: a random walk that is pulled back over a thousand rows."""
    def make(run):
        state, pull = [0.0, 0.0], min(memory, 0.999)
        step = level * math.sqrt(1 - pull * pull)
        def noise(i, x, m):
            for o in range(m):
                state[o] = pull * state[o] + step * run.rng.gauss(0, 1)
            return [s + 0.1 * run.rng.gauss(0, 1) for s in state[:m]]
        return noise
    return make


@kind("noise that wanders, in the order of the rows")
def noise_wanders(run):
    memory = run.rng.choice((0.3, 0.6, 0.9, 0.99, 1.0))
    says = of_network(run, NOISE, wandering(memory, run.rng.choice((0.1, 0.3)))(run), n=run.rng.choice((1000, 3000)))
    told = says is not None and "order of the rows" in says["reason"]
    run.out.note = run.out.note or ("told" if told else "not told")


@kind("noise that wanders, rows sorted by an input")
def noise_wanders_sorted(run):
    d = 3
    f = planted(run.rng, d, 2)
    draw = normal_inputs(run, d)
    rows = sorted((draw() for _ in range(2000)), key=lambda x: x[0])
    noise = wandering(0.97, 0.2)(run)
    run.recover(rows, [[v + e for v, e in zip(f(x), noise(i, x, 1))] for i, x in enumerate(rows)])
    run.judge(f, draw, NOISE)


@kind("a jump along an input, noise 10%")
def jump(run):
    d = run.rng.randint(2, 4)
    inner = planted(run.rng, d, 2)
    at, high = run.rng.choice((0.0, 0.5, 1.3, 1.8)), run.rng.choice((0.05, 0.1, 0.5))
    f = lambda x: [v + high * (x[0] > at) for v in inner(x)]
    draw = normal_inputs(run, d)
    run.recover(*samples(run, f, draw, 3000, noisy(NOISES["normal"], 0.1)(run)))
    run.judge(f, draw, OUTSIDE)


@kind("a jump in the order of the rows, noise 10%")
def jump_in_time(run):
    f = planted(run.rng, 3, 2)
    draw = normal_inputs(run, 3)
    rows, outputs = samples(run, f, draw, 3000, noisy(NOISES["normal"], 0.1)(run))
    run.recover(rows, [[v + 0.1 * (i > 2000) for v in y] for i, y in enumerate(outputs)])
    run.judge(f, draw, OUTSIDE)


@kind("noise in the inputs")
def noise_in_inputs(run):
    d = 3
    f = planted(run.rng, d, 2)
    draw = normal_inputs(run, d)
    rows = [draw() for _ in range(3000)]
    run.recover([[v + 0.1 * run.rng.gauss(0, 1) for v in x] for x in rows], [f(x) for x in rows])
    run.judge(f, draw, OUTSIDE)


@kind("one entry in a hundred wrong")
def outliers(run):
    of_network(run, OUTSIDE, lambda i, x, m: [run.rng.choice((-9, 9)) * (run.rng.random() < 0.01) for _ in range(m)])


@kind("a linear function, noise 20%")
def linear(run):
    w = [run.rng.gauss(0, 1) for _ in range(3)]
    f = lambda x: [sum(a * b for a, b in zip(w, x))]
    draw = normal_inputs(run, 3)
    run.recover(*samples(run, f, draw, 600, noisy(NOISES["normal"], 0.2)(run)))
    run.judge(f, draw, NOISE)


@kind("a network and a linear term, noise 10%")
def linear_beside(run):
    f = planted(run.rng, 3, 2)
    f.linear = [[run.rng.gauss(0, 1) for _ in range(3)]]
    draw = normal_inputs(run, 3)
    run.recover(*samples(run, f, draw, 2000, noisy(NOISES["normal"], 0.1)(run)))
    run.judge(f, draw, NOISE)


FUNCTIONS = {
    "a sine": lambda x: [math.sin(2 * x[0])],
    "a product": lambda x: [x[0] * x[1]],
    "tanh units": lambda x: [math.tanh(2 * x[0]) + math.tanh(x[1] - x[0])],
    "a step": lambda x: [float(x[0] > 0.3)],
    "a constant": lambda x: [1.5],
    "nearly a network": lambda x: [max(x[0], 0.0) + 1e-6 * math.sin(5 * x[1])],
    "steep parallel planes": lambda x: [1e3 * (max(x[0], 0.0) - max(x[0] - 1e-3, 0.0))],
    "a softplus of slope 300": lambda x: [math.log1p(math.exp(min(300 * x[0], 700.0))) / 300 + x[1]],
}


# Those that are networks of some activation: a certificate of exact samples is then right or wrong by its answers.
NETWORKS = ("a sine", "tanh units", "a constant", "steep parallel planes", "a product", "a softplus of slope 300")


def add_function_kinds():
    for name, f in FUNCTIONS.items():
        def run_one(run, f=f, name=name):
            draw = normal_inputs(run, 2)
            level = run.rng.choice((0.0, 0.05))
            run.recover(*samples(run, f, draw, 1000, noisy(NOISES["normal"], level)(run) if level else None))
            run.judge(f, draw, NOISE if level else EXACT if name in NETWORKS else OUTSIDE)
        KINDS.append((f"samples of {name}", False, run_one))


add_function_kinds()


# Oracles: a program of its own that answers as it is told to, and counts what it is asked.

ORACLE = r'''
import array, json, math, random, sys, time
way, record, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
layers = json.loads(open(sys.argv[4]).read() if sys.argv[4].endswith(".json") else sys.argv[4])
rng, asked = random.Random(seed), 0
def net(x):
    h = x
    for i, (W, b) in enumerate(layers):
        z = [sum(w * v for w, v in zip(row, h)) + c for row, c in zip(W, b)]
        h = z if i + 1 == len(layers) else [max(v, 0.0) for v in z]
    return h
def f(x):
    y = net(x)
    if way == "drifts": return [v * (1 + 1e-4 * asked / 100) for v in y]
    if way == "lies": return [v + (rng.random() < 0.01) * rng.gauss(0, 1) for v in y]
    if way == "noise": return [v + 1e-3 * rng.gauss(0, 1) for v in y]
    if way == "rounds": return [round(v, 2) for v in y]
    if way == "single": return [float(array.array("f", [v])[0]) for v in y]
    if way == "coarse inputs": return net([round(v, 3) for v in x])
    if way == "a sine beside": return [v + 1e-6 * math.sin(40 * x[0]) for v in y]
    if way == "steep planes": return [v + 1e3 * (max(x[0], 0) - max(x[0] - 1e-3, 0)) for v in y]
    if way == "softplus": return [math.log1p(math.exp(min(300 * v, 700.0))) / 300 for v in y]
    if way == "a constant": return [0.5 for v in y]
    if way == "labels": return [float(v > 0) for v in y]
    if way == "nan" and asked > 300: return [math.nan for v in y]
    if way == "huge": return [v * 1e300 for v in y]
    if way == "tiny": return [v * 1e-8 for v in y]
    return y
inp, out = sys.stdin.buffer, sys.stdout.buffer
while True:
    line = inp.readline()
    if not line: break
    head = json.loads(line)
    n, d = head["rows"], head["inputs"]
    data = array.array("d"); data.frombytes(inp.read(8 * n * d))
    rows = [list(data[i * d:(i + 1) * d]) for i in range(n)]
    ys = []
    for x in rows:
        asked += 1
        ys.append(f(x))
    open(record, "w").write(str(asked))
    if way == "dies" and asked > 200: sys.exit(3)
    if way == "is silent" and asked > 100: time.sleep(1000)
    m = len(ys[0]) if ys else 1
    if way == "a million outputs": m = 10**9
    if way == "wrong rows" and asked > 50: n += 1
    if way == "garbage" and asked > 50:
        out.write(b"\x00\xff not json\n"); out.flush(); continue
    out.write(json.dumps({"rows": n, "outputs": m}).encode() + b"\n")
    out.write(array.array("d", [v for y in ys for v in y]).tobytes())
    if way == "endless bytes" and asked > 50:
        try:
            while True: out.write(b"\x00" * 65536); out.flush()
        except BrokenPipeError: sys.exit(0)
    out.flush()
'''
# What may be said of an oracle's function: a network (certificates must be right), or none (no certificate may stand).
WAYS = {
    "answers": EXACT, "answers, two layers": EXACT, "answers, antiparallel and twin units": EXACT, "tiny": EXACT,
    "huge": EXACT, "single": EXACT, "steep planes": EXACT, "a constant": EXACT,
    "drifts": OUTSIDE, "lies": OUTSIDE, "noise": OUTSIDE, "rounds": OUTSIDE, "coarse inputs": OUTSIDE,
    "a sine beside": OUTSIDE, "softplus": OUTSIDE, "labels": EXACT, "nan": OUTSIDE, "dies": OUTSIDE,
    "is silent": OUTSIDE, "a million outputs": OUTSIDE, "wrong rows": OUTSIDE, "garbage": OUTSIDE,
    "endless bytes": OUTSIDE,
}


def truth_of(way, f):
    """The function that a certificate of such an oracle has to be right about."""
    scale = {"tiny": 1e-8, "huge": 1e300}.get(way, 1.0)
    if way == "a constant":
        return lambda x: [0.5 for _ in f(x)]
    if way == "labels":  # a constant on nearly all inputs may be called one
        return lambda x: [float(v > 0) for v in f(x)]
    if way == "steep planes":
        return lambda x: [v + 1e3 * (max(x[0], 0) - max(x[0] - 1e-3, 0)) for v in f(x)]
    return lambda x: [scale * v for v in f(x)]


def add_oracle_kinds():
    for way, truth in WAYS.items():
        def run_one(run, way=way, truth=truth):
            d = run.rng.randint(2, 4)
            if "two layers" in way:
                f = deep(run.rng, d, (run.rng.randint(2, 4), run.rng.randint(2, 3)))
            else:
                f = planted(run.rng, d, run.rng.randint(2, 5))
            if "twin" in way:
                (W, b), _ = f.layers
                W[1], b[1] = [-v for v in W[0]], -b[0] + run.rng.choice((0.0, 0.3))
            (run.folder / "oracle.py").write_text(ORACLE)
            command = f"{sys.executable} oracle.py '{way}' asked {run.rng.randrange(10**6)} '{json.dumps(f.layers)}'"
            run.call("extract", "--command", command, "--inputs", d, "--queries", QUERIES, "--timeout", 5, "--out", "out",
                     "--seed", run.rng.randrange(10**6), "--threads", 1, "--quiet")
            asked = run.folder / "asked"
            run.out.queries = int(asked.read_text() or 0) if asked.exists() else 0
            if run.out.queries > QUERIES:
                run.out.false = f"{run.out.queries} queries, {QUERIES} were allowed"
            draw = normal_inputs(run, d)
            run.judge(truth_of(way, f), draw, truth, 1e-4 if way == "single" else 1e-6, oracle=True)
        KINDS.append((f"oracle: {way}", way in ("answers",), run_one))


add_oracle_kinds()


# Folders that lie.

DAMAGED = ("certified", "estimated", "extracted")

def forgery_tools(name="run_forgery_tests"):
    sys.path.insert(0, str(HERE / "tests/forgeries"))
    return importlib.import_module(name)


def make_bases(exhume, root):
    """Folders to damage, once for all runs: certified, estimated, extracted; and one of every kind, to forge field by field."""
    rng = random.Random(5)
    bases = {}
    for name in ("certified", "estimated", "extracted"):
        folder = root / name
        folder.mkdir()
        run = Run(exhume, folder, 7, {})
        run.rng = rng
        if name == "extracted":
            run.call("generate", "--inputs", 4, "--hidden", 4, "--outputs", 1, "--samples", 100, "--out", "demo", "--quiet")
            run.call("extract", "--network", "demo/network.safetensors", "--out", "out", "--quiet")
        else:
            noise = noisy(NOISES["normal"], 0.1)(run) if name == "estimated" else None
            run.recover(*samples(run, planted(rng, 3, 2, 2), normal_inputs(run, 3), 2000, noise))
        if run.document() is not None:
            bases[name] = folder
    tools = forgery_tools("run_field_tests")
    tools.EXHUME = exhume
    for make in (tools.certified, tools.single, tools.decimals, tools.estimated, tools.deep, tools.deep_estimated,
                 tools.extracted, tools.extracted_in_box, tools.extracted_deep, tools.lowest_layer, tools.halfspaces,
                 tools.memorized, tools.memorized_perturbed, tools.memorized_descent):
        name = {"extracted_in_box": "extracted-box"}.get(make.__name__, make.__name__.replace("_", "-"))
        folder = root / f"field-{name}"
        folder.mkdir()
        try:
            make(folder)
            tools.Folder(folder, "r")  # without its page, which is made from the certificate
            if json.loads((folder / "r/certificate.json").read_text())["status"] in ("certified", "estimated"):
                bases[f"field {name}"] = folder
        except (AssertionError, OSError) as error:
            print(f"adversary: no folder '{name}' to forge: {str(error)[:200]}")
    return bases


@kind("a folder with one field changed, digests renewed")
def forged_field(run):
    tools = forgery_tools("run_field_tests")
    base = run.rng.choice(sorted(name for name in run.bases if name.startswith("field ")))
    name = base.removeprefix("field ")
    shutil.copytree(run.bases[base], run.folder, dirs_exist_ok=True)
    folder = tools.Folder(run.folder, "r")
    document = folder.document()
    fields = [(path, words) for path, words in tools.places(document)
              if path[0] != "digest" and path[-1] != "sha256" and not tools.open_field(words, name)]
    path, words = run.rng.choice(fields)
    value, around = document, document
    for key in path:
        around, value = value, value[key]
    forged = tools.edited(value, words, around)
    tools.change(document, path, forged)
    folder.seal(document)
    checked = run.call("verify", "r", "--quiet")
    run.out.verdict = "caught" if checked is not None and checked.returncode in (3, 4) else "accepted"
    if run.out.verdict == "accepted" and not run.out.hang and not run.out.crash:
        run.out.false = f"accepted: {name}, {words} was {str(value)[:40]}, made {str(forged)[:40]}"


@kind("a folder with a weight changed, digests renewed")
def forged_weight(run):
    tools = forgery_tools()
    name = run.rng.choice(DAMAGED)
    shutil.copytree(run.bases[name], run.folder, dirs_exist_ok=True)
    folder = tools.Folder(lambda *words: run.call(*words), run.folder, "out")
    tensors, put_back = folder.tensors()
    part = run.rng.choice(sorted(tensors))
    values = tensors[part][1]
    values[run.rng.randrange(len(values))] += run.rng.choice((-1, 1)) * run.rng.choice((1e-2, 0.1, 1.0))
    put_back()
    if run.rng.random() < 0.3:
        folder.json["kind"] = run.rng.choice(("", "something"))
    if run.rng.random() < 0.3:
        folder.json.pop("kind", None)
    folder.seal()
    checked = run.call("verify", "out", "--quiet")
    run.out.verdict = "caught" if checked is not None and checked.returncode in (3, 4) else "accepted"
    if run.out.verdict == "accepted" and not run.out.hang and not run.out.crash:
        run.out.false = f"accepted: {name} with {part} changed, kind {folder.json.get('kind', 'gone')!r}"


@kind("a folder with a broken certificate")
def broken_certificate(run):
    name = run.rng.choice(DAMAGED)
    shutil.copytree(run.bases[name], run.folder, dirs_exist_ok=True)
    path = run.folder / "out/certificate.json"
    data = bytearray(path.read_bytes())
    for _ in range(run.rng.randint(1, 8)):
        data[run.rng.randrange(len(data))] = run.rng.randrange(256)
    path.write_bytes(bytes(data[:run.rng.randint(0, len(data))] if run.rng.random() < 0.3 else data))
    for words in (("verify", "out"), ("report", "out")):
        done = run.call(*words, "--quiet") if words[0] == "verify" else run.call(*words)
        if done is not None and words[0] == "verify":
            run.out.verdict = "caught" if done.returncode else "accepted"
            if done.returncode == 0:
                run.out.false = "accepted a certificate with other bytes"


# Files that are hostile.

def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 12)):
        way = rng.random()
        at = rng.randrange(max(len(data), 1))
        if way < 0.5 and data:
            data[at] = rng.choice((0, 255, rng.randrange(256), ord("9")))
        elif way < 0.7:
            del data[at:at + rng.randint(1, 200)]
        elif way < 0.9:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 40)))
        elif data:
            data[at:at + 8] = struct.pack("<Q", rng.choice((0, 2**63, 2**64 - 1, 10**12)))
    return bytes(data)


@kind("samples with damaged bytes")
def hostile_samples(run):
    shutil.copytree(run.bases["certified"], run.folder, dirs_exist_ok=True)
    for name in run.rng.sample(("x.npy", "y.npy"), run.rng.randint(1, 2)):
        path = run.folder / name
        path.write_bytes(mutate(run.rng, path.read_bytes()[:20000]))
    done = run.call(run.rng.choice(("inspect", "recover")), "x.npy", "y.npy", "--threads", 1)
    run.out.verdict = "-" if done is None else f"exit {done.returncode}"


@kind("a table with damaged text")
def hostile_table(run):
    rng = run.rng
    rows = [[rng.gauss(0, 1) for _ in range(3)] for _ in range(200)]
    text = "a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in rows) + "\n"
    poison = ("\u009b31m", "\u202e", "1e999", "nan", '"', "\x00", ",,,,", "1,5", "\r", "9" * 4000, "-inf", "0x1p3")
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(poison) + text[at:]
    (run.folder / "t.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    done = run.call("recover", "t.csv", "--budget", 5, "--threads", 1)
    run.out.verdict = "-" if done is None else f"exit {done.returncode}"
    if done is not None and any(c in (done.out.decode(errors="replace") + done.err) for c in ("\u009b", "\u202e", "\u2028")):
        run.out.false = "control characters of a name reach the terminal"


@kind("a network file or log with damaged bytes")
def hostile_network(run):
    base = run.bases.get("extracted") or run.bases["certified"]
    shutil.copytree(base, run.folder, dirs_exist_ok=True)
    names = [p for p in (run.folder / "out").iterdir() if p.suffix in (".safetensors", ".onnx", ".log")]
    path = run.rng.choice(sorted(names))
    path.write_bytes(mutate(run.rng, path.read_bytes()))
    if path.suffix == ".log":
        done = run.call("extract", "--network", "demo/network.safetensors", "--log", path, "--resume", "--queries", QUERIES)
    else:
        done = run.call("extract", "--network", path, "--queries", QUERIES)
        run.call("verify", "out")
    run.out.verdict = "-" if done is None else f"exit {done.returncode}"


@kind("a pipe, a device or a sparse file for samples")
def hostile_device(run):
    way = run.rng.choice(("fifo", "zero", "sparse", "folder", "missing"))
    path = run.folder / "x.npy"
    if way == "fifo":
        os.mkfifo(path)
    elif way == "zero":
        path.symlink_to("/dev/zero")
    elif way == "sparse":
        with open(path, "wb") as file:
            head = "{'descr': '<f8', 'fortran_order': False, 'shape': (30000000000, 4), }".ljust(117) + "\n"
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
            file.truncate(1 << 40)
    elif way == "folder":
        path.mkdir()
    npy(run.folder / "y.npy", [[1.0]] * 100)
    done = run.call("recover", "x.npy", "y.npy", "--budget", 5, timeout=30)
    run.out.verdict = "-" if done is None else f"exit {done.returncode}"
    run.out.note = way


# Logs and checkpoints.

@kind("a log of another oracle, resumed")
def other_oracle(run):
    d = run.rng.randint(2, 4)
    first, second = planted(run.rng, d, 3), planted(run.rng, d, 3)
    if run.rng.random() < 0.5:  # nearly the same
        (W, b), (A, c) = first.layers
        second = Network([([list(w) for w in W], list(b)), ([list(a) for a in A], list(c))])
        second.layers[1][0][0][0] += run.rng.choice((1e-3, 0.1))
    (run.folder / "oracle.py").write_text(ORACLE)
    record = run.rng.choice((200, 400, QUERIES))
    for f, more in ((first, ["--queries", record]), (second, ["--queries", record, "--resume"])):
        (run.folder / "layers.json").write_text(json.dumps(f.layers))
        done = run.call("extract", "--command", f"{sys.executable} oracle.py answers asked 1 layers.json", "--inputs", d,
                        "--log", "run.log", "--threads", 1, "--seed", 5, "--out", "out", "--quiet", *more)
        if done is None:
            return
        if f is first:
            shutil.rmtree(run.folder / "out", ignore_errors=True)
    run.out.queries = int((run.folder / "asked").read_text() or 0)
    run.judge(second, normal_inputs(run, d), EXACT, oracle=True)
    run.out.verdict = f"exit {done.returncode}"
    if done.returncode == 0:
        run.out.false = "the answers of another oracle were taken for this one's"


@kind("two processes on one log")
def two_on_one_log(run):
    d = 3
    f = planted(run.rng, d, 4)
    (run.folder / "oracle.py").write_text(ORACLE)
    (run.folder / "layers.json").write_text(json.dumps(f.layers))
    words = [run.exhume, "extract", "--command", f"{sys.executable} oracle.py answers asked 1 layers.json", "--inputs", str(d),
             "--log", "run.log", "--threads", "1", "--quiet"]
    both = [subprocess.Popen(words, cwd=run.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(2)]
    try:
        codes = [process.wait(LIMIT) for process in both]
    except subprocess.TimeoutExpired:
        run.out.hang = True
        for process in both:
            process.kill()
        return
    run.out.verdict = "exit " + " and ".join(map(str, sorted(codes)))
    again = run.call("extract", *words[2:], "--resume", "--out", "out")
    says = run.judge(f, normal_inputs(run, d), EXACT, oracle=True)
    run.out.verdict = "exit " + " and ".join(map(str, sorted(codes)))
    if again is not None and (again.returncode != min(codes) or says is None):
        run.out.false = f"the log cannot be resumed after two processes had it: {again.err[-150:].strip()}"


@kind("a checkpoint with damaged bytes")
def hostile_checkpoint(run):
    f = planted(run.rng, 3, 2, 2)
    draw = normal_inputs(run, 3)
    run.recover(*samples(run, f, draw, 1200), "--checkpoint", "kept")
    files = sorted(p for p in (run.folder / "kept").rglob("*") if p.is_file()) if (run.folder / "kept").exists() else []
    shutil.rmtree(run.folder / "out", ignore_errors=True)
    for path in files:
        if run.rng.random() < 0.7:
            path.write_bytes(mutate(run.rng, path.read_bytes()))
    done = run.call("recover", "x.npy", "y.npy", "--out", "out", "--checkpoint", "kept", "--resume", "--budget", 20, "--threads", 1,
                    "--quiet")
    run.judge(f, draw, EXACT)
    run.out.verdict = "-" if done is None else f"exit {done.returncode}"
    run.out.note = run.out.note or f"{len(files)} files"


@kind("a limit on the size of files")
def limited_size(run):
    f = planted(run.rng, 3, 2)
    draw = normal_inputs(run, 3)
    rows, outputs = samples(run, f, draw, 800)
    npy(run.folder / "x.npy", rows)
    npy(run.folder / "y.npy", outputs)
    most = run.rng.choice((100, 1000, 5000, 20000))
    done = run.call("recover", "x.npy", "y.npy", "--out", "out", "--budget", 10, "--quiet", size=most)
    left = [str(p.relative_to(run.folder)) for p in run.folder.rglob("*.part*")]
    run.out.verdict = "-" if done is None else f"exit {done.returncode}"
    if left:
        run.out.false = f"left behind: {left}"


# Delivery.

@kind("inputs of the run inside the folder it writes")
def delivery(run):
    (run.folder / "out").mkdir()
    f = planted(run.rng, 3, 2)
    draw = normal_inputs(run, 3)
    rows, outputs = samples(run, f, draw, 800)
    npy(run.folder / "out/inputs.npy", rows)
    npy(run.folder / "out/y.npy", outputs)
    (run.folder / "out/notes.txt").write_text("mine")
    mine = ["inputs.npy", "y.npy", "notes.txt"]
    before = {name: hashlib.sha256((run.folder / "out" / name).read_bytes()).digest() for name in mine}
    if run.rng.random() < 0.5:
        (run.folder / "out/certificate.json").write_text(json.dumps(
            {"written": [{"role": "network", "path": name} for name in mine], "kind": "network", "status": "certified"}))
    for _ in range(2):
        run.call("recover", "out/inputs.npy", "out/y.npy", "--out", "out", "--budget", 10, "--quiet")
    for name in mine:
        path = run.folder / "out" / name
        if not path.exists() or hashlib.sha256(path.read_bytes()).digest() != before[name]:
            run.out.false = f"{name}, which is the user's, is gone or changed"
    run.out.verdict = "kept"


def one(task):
    exhume, name, function, seed, bases, scratch = task
    folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
    run = Run(exhume, folder, seed, bases)
    began = time.monotonic()
    try:
        function(run)
    except Exception as error:  # the adversary's own mistake, or a result that cannot be read
        run.out.crash = run.out.crash or f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return name, seed, run.out, time.monotonic() - began


def most_of(count, share, tail=1e-6):
    """So many of `count` fall where a share of all lies: more have probability below `tail`."""
    total, k, term = 0.0, 0, (1 - share) ** count
    while True:
        total += term
        if 1 - total < tail or k == count:
            return k
        term *= (count - k) / (k + 1) * share / (1 - share)
        k += 1


def most_broken(doubts, tail=1e-3):
    """The most broken bounds that chance gives, each with its own doubt: more have probability below `tail`."""
    chances = [1.0]  # of so many
    for doubt in doubts:
        chances = [(chances[k] if k < len(chances) else 0.0) * (1 - doubt) + (chances[k - 1] * doubt if k else 0.0)
                   for k in range(min(len(chances) + 1, 60))]
    total = 0.0
    for k, chance in enumerate(chances):
        total += chance
        if 1 - total < tail:
            return k
    return len(chances)


def report(results, recoverable):
    verdicts = sorted({out.verdict for _, _, out, _ in results})
    print(f"\n{'kind':58} {'runs':>5} {'false':>6} {'broken':>7} {'hangs':>6} {'crashes':>8} {'MB':>8} {'queries':>9} {'s each':>7}  verdicts")
    names = []
    for name, *_ in results:
        if name not in names:
            names.append(name)
    totals, doubts = Outcome(), []
    counts = {"false": 0, "broken": 0, "hang": 0, "crash": 0, "claims": 0, "recoverable": 0, "stand": 0}
    for name in sorted(names):
        mine = [(out, seconds) for other, _, out, seconds in results if other == name]
        outs = [out for out, _ in mine]
        row = {key: sum(bool(getattr(out, key)) for out in outs) for key in ("false", "broken", "hang", "crash")}
        for key, value in row.items():
            counts[key] += value
        doubts += [out.doubt for out in outs if out.doubt]
        if name in recoverable:
            counts["recoverable"] += len(outs)
            counts["stand"] += sum(out.verdict in ("certified", "estimated") for out in outs)
        told = ", ".join(f"{verdict} {sum(out.verdict == verdict for out in outs)}" for verdict in verdicts
                         if any(out.verdict == verdict for out in outs))
        size, queries = sum(out.bytes for out in outs), sum(out.queries for out in outs)
        totals.bytes += size
        totals.queries += queries
        print(f"{name:58} {len(outs):5} {row['false']:6} {row['broken']:7} {row['hang']:6} {row['crash']:8} {size / 1e6:8.1f} "
              f"{queries:9} {sum(s for _, s in mine) / len(mine):7.2f}  {told}")
    allowed, counts["claims"] = most_broken(doubts), len(doubts)
    print(f"\n{len(results)} runs: {counts['false']} false, {counts['broken']} bounds broken of {counts['claims']} with a confidence "
          f"({sum(doubts):.2g} are expected, up to {allowed} are chance), {counts['hang']} hangs, {counts['crash']} crashes, {totals.bytes / 1e6:.0f} MB written, "
          f"{totals.queries} queries; {counts['stand']} of {counts['recoverable']} recoverable ones stand")
    for name, seed, out, _ in results:
        if out.false or out.broken or out.hang or out.crash:
            what = [out.false, "bound broken" if out.broken else "", "hang" if out.hang else "", out.crash, out.note]
            print(f"  {name}, seed {seed}: " + "; ".join(word for word in what if word))
    return (counts["false"] == counts["hang"] == counts["crash"] == 0 and counts["broken"] <= allowed
            and counts["stand"] >= 0.99 * counts["recoverable"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exhume")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    kinds = [k for k in KINDS if given.only in k[0]]
    if given.list:
        print("\n".join(name for name, *_ in kinds))
        return 0
    exhume = str(pathlib.Path(given.exhume).resolve())
    end = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory(prefix="exhume-adversary-") as scratch:
        root = pathlib.Path(scratch)
        (root / "bases").mkdir()
        bases = make_bases(exhume, root / "bases")
        tasks = [(exhume, kinds[i % len(kinds)][0], kinds[i % len(kinds)][2], f"{given.seed}/{i}", bases, scratch)
                 for i in range(given.runs)]
        results = []
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            for batch in range(0, len(tasks), 4 * given.jobs):
                if time.monotonic() > end:
                    print(f"adversary: {given.seconds:.0f} s are over after {len(results)} of {given.runs} runs")
                    break
                for result in pool.map(one, tasks[batch:batch + 4 * given.jobs]):
                    results.append(result)
                    _, _, out, _ = result
                    if sys.stderr.isatty():
                        print(f"\r{len(results)} of {given.runs}", end="", file=sys.stderr)
    return 0 if results and report(results, {name for name, recoverable, _ in kinds if recoverable}) else 1


if __name__ == "__main__":
    sys.exit(main())
