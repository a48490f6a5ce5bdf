"""activations.py EXHUME PART... [--seeds 10] [--first 1] [--names tanh,gelu] [--inputs gaussian,uniform]: units that are not
ReLUs, recovered and extracted.

Parts, each a table of one line per activation, after one line per run that fell short:

    small      recover, 10 inputs, 10 units, one output, 20,000 rows; kind and number of units not given
    large      the same with 30 inputs, 30 units, 100,000 rows
    single     as small, rows and outputs in single precision
    strangers  units that are in no table (mish, hard swish, random splines): none may be certified
    trained    scikit-learn's MLPRegressor, tanh and logistic, on four data sets, from 100,000 rows
    extract    20-16-3 of each activation behind --command, answers in double and in single precision
    refused    oracles that are none of these: each is to be refused in few queries with a true sentence
    deep       two hidden layers of tanh, 5-6-6-1 and 8-12-12-2, from 20,000 rows

Networks: rows of W in random directions, of sizes 0.7 to 2, biases N(0, 1/4), output weights of sizes 0.5 to 1.5 and
random signs, constants N(0, 1). An error is the largest difference of any weight or constant, over the larger of 1 and
that weight, after units were matched. Seconds are those of the processor, of all threads together, and of the clock.
Needs NumPy and SciPy; trained and refused need scikit-learn.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from scipy.special import erf, expit

SMOOTH = ["tanh", "sigmoid", "gelu", "silu", "softplus", "elu", "erf"]


def random_spline(rng):
    """A smooth function through random values at equal places, straight outside."""
    from scipy.interpolate import CubicSpline

    at = np.linspace(-4, 4, 9)
    spline = CubicSpline(at, np.maximum(at, 0) + 0.3 * rng.standard_normal(9), bc_type="natural")

    def value(z):
        inside = np.clip(z, -4, 4)
        return spline(inside) + spline(inside, 1) * (z - inside)

    return value


FUNCTIONS = {
    "tanh": np.tanh,
    "sigmoid": expit,
    "gelu": lambda z: z * (1 + erf(z / np.sqrt(2))) / 2,
    "silu": lambda z: z * expit(z),
    "softplus": lambda z: np.logaddexp(0, z),
    "elu": lambda z: np.where(z > 0, z, np.expm1(np.minimum(z, 0))),
    "erf": erf,
    "relu": lambda z: np.maximum(z, 0),
    "mish": lambda z: z * np.tanh(np.logaddexp(0, z)),
    "hardswish": lambda z: z * np.clip(z + 3, 0, 6) / 6,
}
ODD = {"tanh", "sigmoid", "erf"}


def planted(rng, widths):
    """Weights and constants per layer."""
    layers = []
    for p, k in zip(widths[:-2], widths[1:-1]):
        W = rng.standard_normal((k, p))
        W *= rng.uniform(0.7, 2, (k, 1)) / np.linalg.norm(W, axis=1, keepdims=True)
        layers.append((W, 0.5 * rng.standard_normal(k)))
    k, m = widths[-2:]
    A = rng.choice([-1, 1], (m, k)) * rng.uniform(0.5, 1.5, (m, k))
    return [*layers, (A, rng.standard_normal(m))]


def values(layers, function, x):
    for W, b in layers[:-1]:
        x = function(x @ W.T + b)
    return x @ layers[-1][0].T + layers[-1][1]


def drawn(rng, kind, rows, inputs):
    if kind == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), (rows, inputs))
    return rng.standard_normal((rows, inputs))


def read_network(path):
    """Layers and the activation of a network.safetensors."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    meta = header.pop("__metadata__", {})
    at = {
        name: np.frombuffer(data[8 + size :][slice(*each["data_offsets"])], "<f8").reshape(each["shape"])
        for name, each in header.items()
    }
    return at, meta.get("activation", "relu")


def in_tanh(W, b, A, c, activation):
    if activation != "sigmoid":
        return W, b, A, c
    return W / 2, b / 2, A / 2, c + A.sum(1) / 2


def weight_error(truth, found, activation):
    """One hidden layer. Units are matched by the nearest of the other network, turned where the function is odd."""
    (W, b), (A, c) = truth
    W, b, A, c = in_tanh(W, b, A, c, activation)
    arrays, named = found
    V, e, B, f = in_tanh(arrays["W"], arrays["b"], arrays["A"], arrays["c"], named)
    if V.shape != W.shape:
        return np.inf
    unit, other = np.c_[W, b, A.T], np.c_[V, e, B.T]
    worst = np.max(np.abs(c - f) / np.maximum(1, np.abs(c)))
    for one in unit:
        apart = np.abs(other - one).max(1)
        if activation in ODD:
            apart = np.minimum(apart, np.abs(other + one).max(1))
        worst = max(worst, apart.min() / max(1, np.abs(one).max()))
    return worst


def deep_error(truth, found):
    """Several hidden layers of tanh: units of each layer matched in turn by what goes into them."""
    arrays, _ = found
    depth = len(truth) - 1
    others = [(arrays[f"layers.{i}.W"], arrays[f"layers.{i}.b"]) for i in range(depth)] + [(arrays["A"], arrays["c"])]
    if any(a[0].shape != b[0].shape for a, b in zip(truth, others)):
        return np.inf
    worst, order, sign = 0.0, np.arange(truth[0][0].shape[1]), 1
    for layer, ((W, b), (V, e)) in enumerate(zip(truth, others)):
        V = V[:, order] * sign
        if layer == depth:
            return max(worst, np.abs(W - V).max(), np.abs(b - e).max())
        one, two = np.c_[W, b], np.c_[V, e]
        near = np.abs(one[:, None] - two[None]).max(2)
        turned = np.abs(one[:, None] + two[None]).max(2)
        order = np.minimum(near, turned).argmin(1)
        pick = np.arange(len(W))
        sign = np.where(near[pick, order] <= turned[pick, order], 1, -1)
        worst = max(worst, np.minimum(near, turned)[pick, order].max())


def ran(command, folder, limit=600):
    """Certificate or what was printed, processor seconds, seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    try:
        done = subprocess.run([str(each) for each in command], capture_output=True, cwd=folder, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, "time limit", np.inf, np.inf
    wall = time.time() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    path = folder / "found" / "certificate.json"
    certificate = json.loads(path.read_text()) if path.exists() else None
    return certificate, (done.stdout + done.stderr).decode().strip(), cpu, wall


class Table:
    def __init__(self, title):
        self.title, self.lines = title, []

    def add(self, name, runs, good):
        """runs: dicts with error, cpu, wall and more."""
        cpu, wall = ([r[key] for r in runs] for key in ("cpu", "wall"))
        line = {"runs": len(runs), "good": sum(map(good, runs))}
        errors = [r["error"] for r in runs if good(r)]
        line["worst error"] = f"{max(errors):.0e}" if errors else ""
        line["processor s, median (worst)"] = f"{np.median(cpu):.1f} ({max(cpu):.1f})"
        line["s, median (worst)"] = f"{np.median(wall):.1f} ({max(wall):.1f})"
        for key in runs[0]:
            if key.startswith("+"):
                line[key[1:]] = f"{max(r[key] for r in runs):.3g}"
        self.lines.append((name, line))
        print(f"== {name}: " + ", ".join(f"{key} {value}" for key, value in line.items()), flush=True)

    def show(self):
        keys = list(self.lines[0][1])
        print(f"\n{self.title}\n\n| | {' | '.join(keys)} |\n|{' --- |' * (len(keys) + 1)}")
        for name, line in self.lines:
            print(f"| {name} | {' | '.join(str(line[key]) for key in keys)} |")
        print(flush=True)


def recover(arguments, inputs, layers, function, x, kind=np.float64, more=()):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        x = x.astype(kind)
        np.save(folder / "x.npy", x)
        np.save(folder / "y.npy", values(layers, function, x.astype(float)).astype(kind))
        certificate, said, cpu, wall = ran(
            [arguments.exhume, "recover", "x.npy", "y.npy", "-o", "found", "-q", *arguments.option, *more], folder
        )
        found = None
        if certificate and (folder / "found" / "network.safetensors").exists():
            found = read_network(folder / "found" / "network.safetensors")
        return certificate, found, said, cpu, wall


def short_of(run):
    print("   ", ", ".join(f"{key} {value:.2g}" if isinstance(value, float) else f"{key} {value}" for key, value in run.items()),
          flush=True)


def planted_table(arguments, title, d, k, n, kind, limit, tolerance):
    table = Table(title)
    for name in arguments.names or SMOOTH:
        for inputs in arguments.inputs:
            runs = []
            for seed in range(arguments.first, arguments.first + arguments.seeds):
                rng = np.random.default_rng([seed, d, SMOOTH.index(name), inputs == "uniform"])
                layers = planted(rng, [d, k, 1])
                x = drawn(rng, inputs, n, d)
                certificate, found, said, cpu, wall = recover(arguments, inputs, layers, FUNCTIONS[name], x, kind)
                status = certificate["status"] if certificate else "none"
                told = certificate.get("activation") if certificate else None
                error = weight_error(layers, found, name) if found and told and "W" in found[0] else np.inf
                run = {"status": status, "told": told, "error": error, "cpu": cpu, "wall": wall, "seed": seed}
                run["right"] = told == name or {told, name} == {"tanh", "sigmoid"}
                runs.append(run)
                if not good_run(run, limit, tolerance):
                    short_of({"network": f"{name} {inputs}", **run})
                    if certificate:
                        print("       ", certificate["reason"], flush=True)
                        print("       ", certificate["tried"][-1], flush=True)
            table.add(f"{name}, {inputs}", runs, lambda run: good_run(run, limit, tolerance))
    table.show()


def in_time(run, limit):
    """By the clock: measure on a machine that nobody else uses."""
    return run["wall"] <= limit


def good_run(run, limit, tolerance):
    return run["status"] == "certified" and run["right"] and run["error"] <= tolerance and in_time(run, limit)


def small(arguments):
    planted_table(arguments, "recover, 10-10-1, 20,000 rows", 10, 10, 20_000, np.float64, arguments.limit or 10, 1e-9)


def large(arguments):
    planted_table(arguments, "recover, 30-30-1, 100,000 rows", 30, 30, 100_000, np.float64, arguments.limit or 60, 1e-9)


def single(arguments):
    planted_table(arguments, "recover, 10-10-1, 20,000 rows, single precision", 10, 10, 20_000, np.float32,
                  arguments.limit or 60, 1e-2)


def strangers(arguments):
    table = Table("units of no table: certified")
    for name in arguments.names or ["mish", "hardswish", "spline"]:
        for inputs in arguments.inputs:
            runs = []
            for seed in range(arguments.first, arguments.first + arguments.seeds):
                rng = np.random.default_rng([seed, 77, len(name), inputs == "uniform"])
                function = random_spline(rng) if name == "spline" else FUNCTIONS[name]
                d = int(rng.integers(3, 11))
                layers = planted(rng, [d, int(rng.integers(2, 11)), 1])
                x = drawn(rng, inputs, 10_000, d)
                certificate, _, said, cpu, wall = recover(
                    arguments, inputs, layers, function, x, np.float32 if seed % 2 else np.float64, ["--budget", 60]
                )
                status = certificate["status"] if certificate else "none"
                runs.append({"status": status, "error": 0, "cpu": cpu, "wall": wall})
                if status != "uncertified":
                    short_of({"network": name, "seed": seed, **runs[-1]})
                    print("       ", certificate["reason"] if certificate else said, flush=True)
            table.add(f"{name}, {inputs}", runs, lambda run: run["status"] == "certified")
    table.show()


def trained(arguments):
    from sklearn import datasets
    from sklearn.neural_network import MLPRegressor
    from sklearn.preprocessing import StandardScaler

    table = Table("trained by scikit-learn, 100,000 rows")
    sets = {"wine": datasets.load_wine, "diabetes": datasets.load_diabetes, "cancer": datasets.load_breast_cancer,
            "digits": datasets.load_digits}
    for name, load in sets.items():
        for activation in ("tanh", "logistic"):
            if arguments.names and activation not in arguments.names and name not in arguments.names:
                continue
            runs = []
            for seed in range(arguments.first, arguments.first + arguments.seeds):
                rng = np.random.default_rng([seed, 5])
                rows, target = load(return_X_y=True)
                rows = StandardScaler().fit_transform(rows)
                target = StandardScaler().fit_transform(target[:, None].astype(float))[:, 0]
                rows = rows[:, rows.std(0) > 0]
                units = int(rng.integers(6, 21))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    net = MLPRegressor(hidden_layer_sizes=(units,), activation=activation, random_state=seed, max_iter=1000).fit(rows, target)
                layers = [(net.coefs_[0].T, net.intercepts_[0]), (net.coefs_[1].T, net.intercepts_[1])]
                if seed % 2:
                    x = rng.standard_normal((100_000, rows.shape[1]))
                else:
                    picked = rng.integers(0, len(rows), 100_000)
                    x = rows[picked] + 0.5 * rng.standard_normal((100_000, rows.shape[1]))
                sigma = "sigmoid" if activation == "logistic" else "tanh"
                certificate, found, said, cpu, wall = recover(arguments, "", layers, FUNCTIONS[sigma], x)
                status = certificate["status"] if certificate else "none"
                error = weight_error(layers, found, sigma) if found and "W" in found[0] else np.inf
                told = (certificate or {}).get("identifiability") or {}
                run = {"status": status, "units": units, "error": error, "delta": told.get("delta", np.inf),
                       "cpu": cpu, "wall": wall, "seed": seed}
                runs.append(run)
                short_of({"network": f"{name} {activation}", **run})
                if certificate and status != "certified":
                    print("       ", certificate["reason"], flush=True)
                    print("       ", certificate["tried"][-1], flush=True)
            table.add(f"{name}, {activation}", runs, lambda run: run["status"] == "certified")
    table.show()


SERVER = """
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import activations
arguments = json.loads(sys.argv[2])
answer = activations.oracle(arguments)
while True:
    line = sys.stdin.buffer.readline()
    if not line: break
    head = json.loads(line)
    x = np.frombuffer(sys.stdin.buffer.read(8 * head["rows"] * head["inputs"]), "<f8").reshape(head["rows"], -1)
    y = np.atleast_2d(answer(x)).astype("<f8")
    sys.stdout.buffer.write((json.dumps({"rows": len(y), "outputs": y.shape[1]}) + "\\n").encode() + y.tobytes())
    sys.stdout.buffer.flush()
"""


def oracle(of):
    """What a --command process answers with: a planted network, or a function that is none."""
    rng = np.random.default_rng(of["seed"])
    kind = np.float32 if of.get("single") else np.float64
    if of["kind"] in ("boosting", "forest"):
        from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

        x = rng.standard_normal((600, of["inputs"]))
        y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(600)
        make = GradientBoostingRegressor if of["kind"] == "boosting" else RandomForestRegressor
        model = make(n_estimators=60, random_state=of["seed"]).fit(x, y)
        return lambda x: model.predict(x)[:, None].astype(kind)
    layers = planted(rng, of["widths"])
    if of["kind"] == "quantised":  # weights and answers of the hidden layer in steps of 1/32
        steps = [(np.round(W * 32) / 32, np.round(b * 32) / 32) for W, b in layers]
        hidden = lambda x: np.round(np.maximum(x @ steps[0][0].T + steps[0][1], 0) * 32) / 32
        return lambda x: hidden(np.round(x * 32) / 32) @ steps[1][0].T + steps[1][1]
    if of["kind"] == "leaky":
        function = lambda z: np.where(z > 0, z, kind(0.01) * z)
    else:
        function = FUNCTIONS[of["kind"]]
    layers = [(W.astype(kind), b.astype(kind)) for W, b in layers]

    def answer(x):
        h = x.astype(kind)
        for W, b in layers[:-1]:
            h = function((h @ W.T + b).astype(kind)).astype(kind)
        return (h @ layers[-1][0].T + layers[-1][1]).astype(kind)

    return answer


def extract_one(arguments, of, inputs, more=()):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "serve.py").write_text(SERVER)
        here = str(pathlib.Path(__file__).resolve().parent)
        command = f"{sys.executable} serve.py {here} '{json.dumps(of)}'"
        certificate, said, cpu, wall = ran(
            [arguments.exhume, "extract", "--command", command, "--inputs", inputs, "-o", "found", "-q", *more], folder, 300
        )
        found = None
        if certificate and (folder / "found" / "network.safetensors").exists():
            found = read_network(folder / "found" / "network.safetensors")
        return certificate, found, said, cpu, wall


def extract(arguments):
    table = Table("extract, 20-16-3 behind --command")
    unknowns = 16 * (20 + 1 + 3) + 3
    for name in arguments.names or SMOOTH:
        for precise in ("double", "single"):
            runs = []
            for seed in range(arguments.first, arguments.first + arguments.seeds):
                of = {"kind": name, "widths": [20, 16, 3], "seed": [seed, 20, SMOOTH.index(name)], "single": precise == "single"}
                certificate, found, said, cpu, wall = extract_one(arguments, of, 20)
                status = certificate["status"] if certificate else "none"
                truth = planted(np.random.default_rng(of["seed"]), of["widths"])
                error = weight_error(truth, found, name) if found and "W" in found[0] else np.inf
                queries = (certificate or {}).get("queries", 0)
                queries = queries if isinstance(queries, (int, float)) else queries.get("total", 0)
                run = {"status": status, "told": (certificate or {}).get("activation"), "error": error,
                       "+queries per unknown": queries / unknowns, "cpu": cpu, "wall": wall, "seed": seed}
                good = lambda run: run["status"] == "certified" and in_time(run, 30) and run["+queries per unknown"] <= 40
                runs.append(run)
                if not good(run):
                    short_of({"network": f"{name} {precise}", **run})
                    print("       ", (certificate or {}).get("reason", said[-600:]), flush=True)
            table.add(f"{name}, {precise}", runs, good)
    table.show()


def refused(arguments):
    cases = {
        "tanh, two hidden layers, single": {"kind": "tanh", "widths": [8, 10, 10, 2], "single": True, "inputs": 8},
        "gradient boosting": {"kind": "boosting", "inputs": 6},
        "random forest": {"kind": "forest", "inputs": 6},
        "quantised": {"kind": "quantised", "widths": [6, 10, 1], "inputs": 6},
        "leaky ReLU 0.01, single": {"kind": "leaky", "widths": [8, 10, 2], "single": True, "inputs": 8},
    }
    for name, of in cases.items():
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            certificate, found, said, cpu, wall = extract_one(arguments, {**of, "seed": seed}, of["inputs"])
            certificate = certificate or {}
            queries = certificate.get("queries", {})
            queries = queries if isinstance(queries, (int, float)) else queries.get("total", 0)
            print(f"{name}, seed {seed}: {certificate.get('status', 'no certificate')}, {queries} queries, {wall:.1f} s: "
                  f"{certificate.get('reason', said[-700:])}", flush=True)


def deep(arguments):
    table = Table("two hidden layers of tanh, 20,000 rows")
    for widths in ([5, 6, 6, 1], [8, 12, 12, 2]):
        for given in (False, True):
            runs = []
            for seed in range(arguments.first, arguments.first + arguments.seeds):
                rng = np.random.default_rng([seed, *widths])
                layers = planted(rng, widths)
                x = drawn(rng, "gaussian", 20_000, widths[0])
                more = ["--hidden", ",".join(map(str, widths[1:-1]))] if given else ["--layers", "2"]
                certificate, found, said, cpu, wall = recover(arguments, "", layers, np.tanh, x, np.float64, more)
                status = certificate["status"] if certificate else "none"
                error = deep_error(layers, found) if found and "layers.0.W" in found[0] else np.inf
                run = {"status": status, "error": error, "cpu": cpu, "wall": wall, "seed": seed}
                runs.append(run)
                if status != "certified":
                    short_of({"network": widths, **run})
                    print("       ", (certificate or {}).get("reason", said[-400:]), flush=True)
            table.add("-".join(map(str, widths)) + (", widths given" if given else ""), runs,
                      lambda run: run["status"] == "certified")
    table.show()


def main():
    parts = {each.__name__: each for each in (small, large, single, strangers, trained, extract, refused, deep)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exhume", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("parts", nargs="+", choices=parts)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--names", type=lambda text: text.split(","))
    parser.add_argument("--inputs", type=lambda text: text.split(","), default=["gaussian", "uniform"])
    parser.add_argument("--limit", type=float, help="seconds within which a run counts")
    parser.add_argument("--option", nargs="*", default=[], help="further options of recover")
    arguments = parser.parse_args()
    for name in arguments.parts:
        parts[name](arguments)


if __name__ == "__main__":
    main()
