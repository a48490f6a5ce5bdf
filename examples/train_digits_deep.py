"""Trains the classifier of examples/data/digits_64_32_16_10.safetensors: handwritten digits, two hidden layers.

    python examples/train_digits_deep.py [FILE]

64-32-16-10 with ReLUs, inputs standardised; cross-entropy, Adam, weight decay, in single precision as usual. Every
fifth row is kept for the test. Written out in NumPy, so that it needs no framework; other BLAS libraries may give other
last bits, and so other weights.
"""

import pathlib
import sys

import numpy as np

import exhume

DATA = pathlib.Path(__file__).resolve().parent / "data"
SIZES = [64, 32, 16, 10]
EPOCHS, BATCH, RATE, DECAY = 120, 64, 2e-3, 1e-3
FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # of Adam


def digits():
    """Standardised pixels, digits, and which rows are the test's."""
    data = np.load(DATA / "digits.npz")
    x = data["x"].astype(np.float64)
    spread = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(spread == 0, 1, spread)  # some pixels are always white
    return x.astype(np.float32), data["y"].astype(int), np.arange(len(x)) % 5 == 4


def forward(parameters, x):
    """The input of every layer, then the logits."""
    values = [x]
    for place in range(0, len(parameters), 2):
        z = values[-1] @ parameters[place].T + parameters[place + 1]
        values.append(z if place + 2 == len(parameters) else np.maximum(z, 0))
    return values


def gradients(parameters, x, y):
    """Of the mean cross-entropy."""
    values = forward(parameters, x)
    logits = values[-1] - values[-1].max(axis=1, keepdims=True)
    slope = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    slope[np.arange(len(y)), y] -= 1
    slope /= np.float32(len(y))
    found = []
    for place in range(len(parameters) - 2, -1, -2):
        below = values[place // 2]
        found = [slope.T @ below, slope.sum(axis=0), *found]
        slope = (slope @ parameters[place]) * (below > 0)
    return found


def train(x, y, seed=0):
    random = np.random.default_rng(seed)
    parameters = []
    for below, units in zip(SIZES, SIZES[1:]):
        parameters.append((random.standard_normal((units, below)) * np.sqrt(2 / below)).astype(np.float32))
        parameters.append(np.zeros(units, dtype=np.float32))
    means = [np.zeros_like(part) for part in parameters]
    squares = [np.zeros_like(part) for part in parameters]
    steps, step = EPOCHS * (len(x) // BATCH), 0
    for _ in range(EPOCHS):
        order = random.permutation(len(x))
        for start in range(0, len(x) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            step += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
            for place, slope in enumerate(gradients(parameters, x[rows], y[rows])):
                means[place] += np.float32(1 - FIRST) * (slope - means[place])
                squares[place] += np.float32(1 - SECOND) * (slope**2 - squares[place])
                move = means[place] / (1 - FIRST**step) / (np.sqrt(squares[place] / (1 - SECOND**step)) + TINY)
                parameters[place] -= (rate * (move + DECAY * parameters[place])).astype(np.float32)
    return parameters


def main(path=DATA / "digits_64_32_16_10.safetensors"):
    x, y, test = digits()
    parameters = train(x[~test], y[~test])
    network = exhume.Network(list(zip(parameters[::2], parameters[1::2])))
    right = network(x).argmax(axis=1) == y
    print(f"{100 * right[~test].mean():.1f}% of {(~test).sum()} training rows, {100 * right[test].mean():.1f}% of {test.sum()} others")
    network.save(path)
    return network


if __name__ == "__main__":
    main(*sys.argv[1:])
