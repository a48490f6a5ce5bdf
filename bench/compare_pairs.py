"""compare_pairs.py EXHUME [--pairs 200] [--seed 1] [--boxes] [--curve K]: are the verdicts of `exhume compare` right?

Pairs of networks of one to three hidden layers of up to 64 units, in double and single precision: a quarter the same up
to symmetries, a quarter with one weight changed by 1e-3 of itself, a quarter with a unit planted that is on for 1e-2 to
1e-6 of the domain, an eighth quantised, an eighth trained again. Each is compared as two files and, with --boxes, as a
file against a black box, which answers in double or single precision. Prints one line per pair that is wrong, then a table, then the share of planted units
found against how rarely they are on.

With --curve K instead: K networks for every rarity and place of the planted unit, as files and as black boxes of 300 to 10,000
queries, printed as rows of results/compare.json.
"""

import argparse
import json
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile

import numpy as np

SERVER = """
import sys, json, numpy as np
data = np.load(sys.argv[1]); single = sys.argv[2] == "float32"
kind = np.float32 if single else np.float64
layers = [(data[f"W{i}"].astype(kind), data[f"b{i}"].astype(kind)) for i in range(len(data.files) // 2)]
while True:
    line = sys.stdin.buffer.readline()
    if not line: break
    head = json.loads(line)
    h = np.frombuffer(sys.stdin.buffer.read(8 * head["rows"] * head["inputs"]), "<f8").reshape(head["rows"], -1).astype(kind)
    for i, (W, b) in enumerate(layers):
        h = h @ W.T + b
        if i + 1 < len(layers): h = np.maximum(h, 0)
    sys.stdout.buffer.write((json.dumps({"rows": len(h), "outputs": h.shape[1]}) + "\\n").encode() + h.astype("<f8").tobytes())
    sys.stdout.buffer.flush()
"""


def write(path, layers):
    """A .safetensors in the project's own names."""
    names = {}
    for i, (W, b) in enumerate(layers):
        last = i + 1 == len(layers)
        prefix = "" if last or len(layers) == 2 else f"layers.{i}."
        names[prefix + ("A" if last else "W")] = W
        names[prefix + ("c" if last else "b")] = b
    header, blob = {}, b""
    for name, value in names.items():
        data = np.ascontiguousarray(value, dtype="<f8").tobytes()
        header[name] = {"dtype": "F64", "shape": list(value.shape), "data_offsets": [len(blob), len(blob) + len(data)]}
        blob += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + blob)


def evaluate(layers, x):
    for i, (W, b) in enumerate(layers):
        x = x @ W.T + b
        if i + 1 < len(layers):
            x = np.maximum(x, 0)
    return x


def random_network(rng):
    depth = rng.integers(1, 4)
    widths = [int(rng.integers(3, 21))] + [int(rng.integers(4, 65)) for _ in range(depth)] + [int(rng.integers(1, 6))]
    return [
        (rng.standard_normal((k, p)) * np.sqrt(2 / p), 0.3 * rng.standard_normal(k)) for p, k in zip(widths, widths[1:])
    ]


def trained(rng, seed, x=None):
    from sklearn.neural_network import MLPRegressor

    x, y, widths = x
    fit = MLPRegressor(hidden_layer_sizes=widths, max_iter=60, random_state=seed, early_stopping=False)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit.fit(x, y)
    return [(W.T.copy(), b.copy()) for W, b in zip(fit.coefs_, fit.intercepts_)]


def symmetric(rng, layers):
    out = [(W.copy(), b.copy()) for W, b in layers]
    for l in range(len(out) - 1):
        order = rng.permutation(len(out[l][1]))
        scale = np.exp(rng.uniform(-2, 2, len(order)))
        W, b = out[l]
        out[l] = (W[order] * scale[:, None], b[order] * scale)
        W, b = out[l + 1]
        out[l + 1] = (W[:, order] / scale, b)
    if rng.random() < 0.5:  # an idle unit and a twin
        l = int(rng.integers(0, len(out) - 1))
        W, b = out[l]
        U, c = out[l + 1]
        i = int(rng.integers(0, len(b)))
        out[l] = (np.vstack([W, rng.standard_normal((1, W.shape[1])), 2 * W[i]]), np.concatenate([b, [0.3, 2 * b[i]]]))
        U = np.hstack([U, np.zeros((len(c), 1)), 0.25 * U[:, i : i + 1]])
        U[:, i] *= 0.5
        out[l + 1] = (U, c)
    return out


def one_weight(rng, layers):
    out = [(W.copy(), b.copy()) for W, b in layers]
    l = int(rng.integers(0, len(out)))
    i, j = int(rng.integers(0, out[l][0].shape[0])), int(rng.integers(0, out[l][0].shape[1]))
    out[l][0][i, j] *= 1 + 1e-3
    return out, (l, i)


def planted(rng, layers, rarity, layer=None):
    """A unit in a random layer, its place, and the share of the inputs on which it is on: about `rarity`, counted on as many
    inputs as four of them take. Weights are drawn until there is such a unit: one with weights below zero alone, on units
    that are all off somewhere, is on nowhere."""
    l = int(rng.integers(0, len(layers) - 1)) if layer is None else layer
    rows = max(400_000, int(round(4 / rarity)))
    inputs = np.random.default_rng(rng.integers(1 << 62)).bit_generator.state

    def preactivations(w):
        drawn = np.random.default_rng()
        drawn.bit_generator.state = inputs
        for first in range(0, rows, 400_000):
            h = drawn.uniform(-1, 1, (min(400_000, rows - first), layers[0][0].shape[1]))
            for W, b in layers[:l]:
                h = np.maximum(h @ W.T + b, 0)
            yield h @ w

    while True:
        w = rng.standard_normal(layers[l][0].shape[1])
        z = np.concatenate(list(preactivations(w)))
        on = int(round(rarity * rows))
        b = -np.partition(z, -on - 1)[-on - 1]
        share = float(np.mean(z + b > 0))
        if 0.3 * rarity < share < 3 * rarity:
            break
    out = [(W.copy(), c.copy()) for W, c in layers]
    W, c = out[l]
    scale = np.abs(z).max() * 0.2
    out[l] = (np.vstack([W, w / scale]), np.append(c, b / scale))
    U, c = out[l + 1]
    out[l + 1] = (np.hstack([U, rng.standard_normal((len(c), 1))]), c)
    return out, (l, len(out[l][1]) - 1), share


def quantised(rng, layers):
    kind = rng.integers(0, 4)
    out = []
    for W, b in layers:
        if kind == 0:
            out.append((W.astype(np.float16).astype(float), b.astype(np.float16).astype(float)))
        elif kind == 1:
            out.append((W.astype(np.float32).astype(float), b.astype(np.float32).astype(float)))
        else:
            step = np.abs(W).max(axis=1 if kind == 2 else None, keepdims=True) / 127
            out.append((np.round(W / step) * step, b))
    return out


def compared(exhume, folder, *options):
    done = subprocess.run([pathlib.Path(exhume).resolve(), "compare", "f.safetensors", *options, "--json", "--quiet", "--threads", "1"],
                          cwd=folder, capture_output=True, text=True)
    return json.loads(done.stdout)


def column(where, queries):
    """Of results/compare.json, which names the usual number of queries once."""
    if queries == 10000:
        return "black box, " + ("unit in layer 1" if where == "layer 1" else where)
    return f"{where}, {queries:,}" + (" queries" if queries == 300 else "")


def curve(exhume, seed, networks):
    """Rows of results/compare.json: planted units found against rarity and queries, as JSON."""
    rows = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "server.py").write_text(SERVER)
        for power in range(2, 7):
            row = {}
            for where in ("layer 1", "layers 2 and 3"):
                for n in range(networks):
                    rng = np.random.default_rng([seed, power, n, where == "layer 1"])
                    f = random_network(rng)
                    while len(f) < 3 and where != "layer 1":
                        f = random_network(rng)
                    layer = 0 if where == "layer 1" else int(rng.integers(1, len(f) - 1))
                    g, _, _ = planted(rng, f, 10.0**-power, layer)
                    write(folder / "f.safetensors", f)
                    write(folder / "g.safetensors", g)
                    np.savez(folder / "g.npz", **{f"W{i}": W for i, (W, b) in enumerate(g)}, **{f"b{i}": b for i, (W, b) in enumerate(g)})
                    ways = {"two files": ["g.safetensors"]}
                    for queries in (300, 1000, 3000, 10000):
                        ways[column(where, queries)] = ["--command", f"{sys.executable} server.py g.npz float64", "--queries", str(queries)]
                    for way, more in ways.items():
                        count = row.setdefault(way, [0, 0])
                        count[0] += compared(exhume, folder, *more)["verdict"] == "different"
                        count[1] += 1
            rows[f"1 in {10**power:,}"] = {way: f"{found} of {all}" for way, (found, all) in row.items()}
            print(rows, file=sys.stderr, flush=True)
    print(json.dumps(rows))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("exhume")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--boxes", action="store_true")
    parser.add_argument("--queries", type=int, default=10000)
    parser.add_argument("--curve", type=int, default=0)
    args = parser.parse_args()
    if args.curve:
        return curve(args.exhume, args.seed, args.curve)
    kinds = ["same"] * 2 + ["weight"] * 2 + ["planted"] * 2 + ["quantised", "retrained"]
    expected = {"same": {"same_network"}, "weight": {"different"}, "planted": {"different"}, "quantised": {"rounding"},
                "retrained": {"different"}}
    table, rare, wrong, named = {}, {}, 0, [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "server.py").write_text(SERVER)
        for n in range(args.pairs):
            rng = np.random.default_rng([args.seed, n])
            kind = kinds[n % len(kinds)]
            f = random_network(rng)
            single = rng.random() < 0.3
            if single:
                f = [(W.astype(np.float32).astype(float), b.astype(np.float32).astype(float)) for W, b in f]
            about, share = None, None
            if kind == "same":
                g = symmetric(rng, f)
            elif kind == "weight":
                g, about = one_weight(rng, f)
            elif kind == "planted":
                rarity = 10.0 ** -int(rng.integers(2, 7))
                g, about, share = planted(rng, f, rarity)
            elif kind == "quantised":
                g = f
                while all(np.array_equal(a[0], b[0]) for a, b in zip(f, g)):
                    g = quantised(rng, f)
            else:
                d = f[0][0].shape[1]
                x = rng.uniform(-1, 1, (400, d))
                data = (x, np.sin(2 * x[:, 0]) + x[:, 1] * x[:, -1], (16, 16)[: rng.integers(1, 3)])
                f, g = trained(rng, 1, data), trained(rng, 2, data)
            write(folder / "f.safetensors", f)
            write(folder / "g.safetensors", g)
            np.savez(folder / "g.npz", **{f"W{i}": W for i, (W, b) in enumerate(g)},
                     **{f"b{i}": b for i, (W, b) in enumerate(g)})
            ways = {"files": ["g.safetensors"]}
            if args.boxes:
                served = "float32" if single or n % 5 == 3 else "float64"
                serve = f"{sys.executable} server.py g.npz {served}"
                ways["box"] = ["--command", serve, "--queries", str(args.queries)]
                if kind == "planted":
                    ways["box inside"] = ways["box"] + ["--inside"]
            for way, more in ways.items():
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                done = subprocess.run([pathlib.Path(args.exhume).resolve(), "compare", "f.safetensors", *more, "--json", "--quiet", "--threads", "1"],
                                      cwd=folder, capture_output=True, text=True)
                seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
                answer = json.loads(done.stdout) if done.stdout else {"verdict": done.stderr.strip()}
                verdict = answer["verdict"]
                right = verdict in expected[kind]
                if way != "files" and kind == "same":
                    right = verdict in {"same_function", "rounding"}
                # A weight of a unit that is off in the whole domain changes nothing there: proved, it is right.
                if way == "files" and kind == "weight" and verdict == "same_function":
                    entry_proved = answer["bound"]["upper"] <= answer["accepted"] and len(answer["units"]["changed"]) == 1
                    right = entry_proved
                if way == "box" and kind == "weight" and equal_here and verdict in {"same_function", "rounding"}:
                    right = True
                if way == "box" and kind == "weight" and verdict == "different":
                    named[1] += 1
                    named[0] += (about[0] + 1, about[1] + 1) in {(u["layer"], u["first_row"]) for u in answer["units"]["changed"]}
                if way == "files":
                    equal_here = kind == "weight" and verdict == "same_function" and right
                if way == "files" and right and about and kind == "planted":
                    right = (about[0] + 1, about[1] + 1) in {(u["layer"], u["second_row"]) for u in answer["units"]["extra"]}
                if way == "files" and right and about and kind == "weight":
                    right = (about[0] + 1, about[1] + 1) == (answer["units"]["changed"][0]["layer"],
                                                             answer["units"]["changed"][0]["first_row"])
                shape = "-".join(str(s) for s in [f[0][0].shape[1]] + [len(b) for _, b in f])
                entry = table.setdefault((kind, way), [0, 0, 0.0, 0.0])
                entry[0] += right
                entry[1] += 1
                entry[2] += seconds
                entry[3] = max(entry[3], seconds)
                if kind == "planted":
                    count = rare.setdefault((way, round(np.log10(rarity)), about[0] + 1), [0, 0])
                    count[0] += right
                    count[1] += 1
                if not right and not (kind == "planted" and way != "files"):
                    wrong += 1
                if not right:
                    print(f"pair {n} {kind} {way} {shape} {'float32' if single else 'double'}"
                          f"{'' if share is None else f' share {share:.1e} layer {about[0] + 1}'}: {verdict}; "
                          f"{answer.get('reason', '')[:160]}", flush=True)
    for (kind, way), (right, count, seconds, most) in sorted(table.items()):
        print(f"{kind:10} {way:10} {right:3} of {count:3} right   {seconds / count:.2f} s each, at most {most:.2f} s")
    for (way, power, layer), (right, count) in sorted(rare.items()):
        print(f"planted in layer {layer}, on for 1e{power}: {way}: {right} of {count} found")
    if args.boxes:
        print(f"one weight changed: {named[0]} of {named[1]} black boxes with the unit named")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
