"""Random networks and random inputs for the tasks, all from one numpy generator an instance."""

import numpy as np

from .networks import Network, one_layer
from .problem import Instance

TEST_ROWS = 4000


def network(random, d, k, m, bias=0.5, amplitudes="normal"):
    """Unit rows, biases uniform in [-bias, bias]; amplitudes normal, or of size in [0.5, 1.5] with random sign."""
    W = random.standard_normal((k, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    b = random.uniform(-bias, bias, k)
    if amplitudes == "normal":
        A = random.standard_normal((m, k))
    else:
        A = random.uniform(0.5, 1.5, (m, k)) * random.choice([-1.0, 1.0], (m, k))
    return one_layer(W, b, A, random.standard_normal(m) if bias else np.zeros(m))


def deep_network(random, d, widths, m):
    """Unit rows in the first layer, normal weights times sqrt(2 / width) above, biases 0.3 normal."""
    layers, before = [], d
    for depth, width in enumerate(widths):
        W = random.standard_normal((width, before))
        W = W / np.linalg.norm(W, axis=1, keepdims=True) if depth == 0 else W * np.sqrt(2 / before)
        layers.append((W, 0.3 * random.standard_normal(width)))
        before = width
    return Network(layers, random.standard_normal((m, before)), random.standard_normal(m))


def inputs(random, n, d, distribution="gaussian"):
    if distribution == "gaussian":
        return random.standard_normal((n, d))
    if distribution == "uniform":
        return random.uniform(-np.sqrt(3), np.sqrt(3), (n, d))
    if distribution == "laplace":
        return random.laplace(scale=np.sqrt(0.5), size=(n, d))
    if distribution == "exponential":
        return random.exponential(size=(n, d)) - 1
    if distribution == "correlated":  # a shift, and a covariance of condition number about 30
        mix = np.linalg.qr(random.standard_normal((d, d)))[0] * np.geomspace(1, np.sqrt(30), d)
        return random.standard_normal((n, d)) @ mix.T + 2
    if distribution == "symmetric mixture":  # paper symmetric: x and -x equally likely, nothing else
        centres = random.standard_normal((3, d))
        side = random.choice([-1.0, 1.0], (n, 1))
        return side * (centres[random.integers(3, size=n)] + 0.5 * random.standard_normal((n, d)) + random.exponential(0.5, (n, d)))
    raise ValueError(distribution)


def sampled(random, truth, n, distribution="gaussian", noise=0.0, facts=None):
    """An instance of a network's samples; noise in multiples of the outputs' standard deviation, on the samples alone."""
    d = truth.layers[0][0].shape[1]
    x = inputs(random, n + TEST_ROWS, d, distribution)
    y = truth(x)
    sd = noise * y[:n].std(axis=0)
    seen = y[:n] + sd * random.standard_normal((n, y.shape[1]))
    told = {"hidden": truth.widths[-1], "noise_sd": [float(s) for s in sd]} | (facts or {})
    return Instance(x[:n], seen, x[n:], y[n:], truth, told)
