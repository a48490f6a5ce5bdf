"""compare_sound.py EXHUME [--pairs 100] [--first 0] [--seed 1] [--random 1000000] [--ascended 10000]

Is a bound that `exhume compare` proves ever below a difference? Half of the pairs are those of compare_pairs.py (one weight,
a planted unit, quantised, trained again, the same up to symmetries); half have 2 to 5 inputs and all weights moved by 1 to
1e-6 of themselves, where boxes are split until the bound is nearly reached. Of each pair the difference is looked for at
random inputs and at inputs that ascend along its gradient; the largest is computed again in extended precision, with what
rounding may do to it. Prints a line per pair: proved interval, largest difference found, upper over found.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from compare_pairs import one_weight, planted, quantised, random_network, symmetric, trained, write

STEPS = 30  # of an ascent


def features(layers, x):
    out = [x]
    for i, (W, b) in enumerate(layers):
        x = x @ W.T + b
        if i + 1 < len(layers):
            x = np.maximum(x, 0)
        out.append(x)
    return out


def gaps(f, g, x):
    return np.concatenate(
        [np.abs(features(g, part)[-1] - features(f, part)[-1]).max(axis=1) for part in np.array_split(x, max(1, len(x) // 20000))]
    )


def back(layers, hidden, c):
    """Rows c_r times the Jacobian of the outputs at row r."""
    for i in range(len(layers) - 1, -1, -1):
        c = c @ layers[i][0]
        if i > 0:
            c = c * (hidden[i] > 0)
    return c


def ascend(f, g, x, low, high):
    """Each row up along the gradient of its largest difference: steps of which those that lose are halved."""
    best, step = gaps(f, g, x), np.full(len(x), 0.25)
    for k in range(STEPS):
        p, q = features(f, x), features(g, x)
        gap = q[-1] - p[-1]
        worst = np.abs(gap).argmax(axis=1)
        c = np.zeros_like(gap)
        c[np.arange(len(x)), worst] = np.sign(gap[np.arange(len(x)), worst])
        slope = back(g, q, c) - back(f, p, c)
        along = np.sign(slope) if k % 2 else slope / np.maximum(np.abs(slope).max(axis=1, keepdims=True), 1e-300)
        tried = np.clip(x + step[:, None] * (high - low) * along, low, high)
        found = gaps(f, g, tried)
        up = found > best
        x, best = np.where(up[:, None], tried, x), np.where(up, found, best)
        step = np.where(up, np.minimum(2 * step, 1), step / 2)
    return x, best


def surely(f, g, x):
    """|g - f| at one input, never above the truth: extended precision less what its own rounding may be."""
    size, values = 0, []
    for layers in (f, g):
        h, error = x.astype(np.longdouble), np.zeros(len(x), np.longdouble)
        for i, (W, b) in enumerate(layers):
            error = np.abs(W) @ (error + np.abs(h)) + np.abs(b)
            h = W.astype(np.longdouble) @ h + b
            if i + 1 < len(layers):
                h = np.maximum(h, 0)
        values.append(h)
        size = size + error * (max(W.shape[1] for W, _ in layers) + 4) * np.finfo(np.longdouble).eps
    return float(np.maximum(np.abs(values[1] - values[0]) - size, 0).max())


def pair(rng, n):
    """Two networks, the half width of the domain, and options of the command."""
    if n % 2:
        kind = ["same", "weight", "planted", "quantised", "retrained"][n // 2 % 5]
        f = random_network(rng)
        if kind == "same":
            g = symmetric(rng, f)
        elif kind == "weight":
            g, _ = one_weight(rng, f)
        elif kind == "planted":
            g, _, _ = planted(rng, f, 10.0 ** -int(rng.integers(2, 5)))
        elif kind == "quantised":
            g = quantised(rng, f)
        else:
            x = rng.uniform(-1, 1, (400, f[0][0].shape[1]))
            data = (x, np.sin(2 * x[:, 0]) + x[:, 1] * x[:, -1], (16, 16)[: rng.integers(1, 3)])
            f, g = trained(rng, 1, data), trained(rng, 2, data)
        return kind, f, g, 1.0, []
    widths = [int(rng.integers(2, 6))] + [int(rng.integers(4, 26)) for _ in range(rng.integers(1, 4))] + [int(rng.integers(1, 4))]
    f = [(rng.standard_normal((k, p)) * np.sqrt(2 / p), 0.3 * rng.standard_normal(k)) for p, k in zip(widths, widths[1:])]
    power = n // 2 % 7
    g = [(W * (1 + 10.0**-power * rng.standard_normal(W.shape)), b * (1 + 10.0**-power * rng.standard_normal(b.shape))) for W, b in f]
    return f"moved by 1e-{power}", f, g, 2.0 ** -int(rng.integers(0, 5)), ["--ratio", "1.001"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("exhume")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", type=int, default=1_000_000)
    parser.add_argument("--ascended", type=int, default=10_000)
    parser.add_argument("--budget", type=int, default=20_000)
    args = parser.parse_args()
    bad, least = 0, float("inf")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for n in range(args.first, args.first + args.pairs):
            rng = np.random.default_rng([args.seed, n])
            kind, f, g, half, options = pair(rng, n)
            write(folder / "f.safetensors", f)
            write(folder / "g.safetensors", g)
            d = f[0][0].shape[1]
            low, high = -0.7 * half, half
            line = [pathlib.Path(args.exhume).resolve(), "compare", "f.safetensors", "g.safetensors", "--json", "--quiet", "--threads", "1",
                    "--budget", str(args.budget), "--low", str(low), "--high", str(high), *options]
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
            answer = json.loads(done.stdout)
            bound = answer["bound"]
            start = time.process_time()
            found, best = 0.0, []
            for _ in range(max(1, args.random // 50_000)):
                x = rng.uniform(low, high, (min(args.random, 50_000), d))
                gap = gaps(f, g, x)
                order = np.argsort(gap)[-max(1, args.ascended // (2 * max(1, args.random // 50_000))):]
                best.append(x[order])
                found = max(found, surely(f, g, x[order[-1]]))
            starts = np.concatenate([*best, rng.uniform(low, high, (max(1, args.ascended - sum(map(len, best))), d))])
            tops, values = ascend(f, g, starts, low, high)
            for row in np.argsort(values)[-8:]:
                found = max(found, surely(f, g, tops[row]))
            # The stated worst input reaches the lower end, but for rounding in double precision.
            worst = np.array(answer["worst_input"])
            lower_held = np.abs(features(g, worst[None])[-1] - features(f, worst[None])[-1]).max() >= bound["lower"] * (1 - 1e-9)
            upper = bound["upper"]
            right = upper >= found and lower_held and bound["lower"] <= upper
            bad += not right
            ratio = upper / found if found > 0 else float("inf")
            least = min(least, ratio)
            shape = "-".join(str(s) for s in [d] + [len(b) for _, b in f])
            print(f"pair {n} {kind} {shape}: {answer['verdict']}, {bound['lower']:.6g} to {upper:.6g}, found {found:.6g}, ratio {ratio:.6g}"
                  f", {time.process_time() - start:.0f} s{'' if right else '  WRONG'}", flush=True)
    print(f"{args.pairs} pairs, {bad} bounds below a difference, upper over found at least {least:.9g}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
