"""A deep network in two parts: its lowest layer by exhume, the rest by scikit-learn (docs/threshold.md).

    y = v . sigmoid(A relu(W x - 2) + b)        12 inputs, two layers of 8

The layer is found without knowing what lies above it. Its outputs are then the inputs of a smaller problem, on which
the rest is fitted; beside it, a network of the same shape is fitted on the raw inputs.
"""

import numpy as np
from sklearn.neural_network import MLPRegressor

import exhume


def fit(inputs, targets, hidden, activation):
    """A function fitted by L-BFGS to standardised targets."""
    middle, spread = targets.mean(), targets.std()
    network = MLPRegressor(
        hidden_layer_sizes=hidden, activation=activation, solver="lbfgs", max_iter=1000, alpha=0.0, random_state=0
    ).fit(inputs, (targets - middle) / spread)
    return lambda rows: middle + spread * network.predict(rows)


def main(rows=400_000, training=20_000):
    random = np.random.default_rng(0)
    W = np.linalg.qr(random.standard_normal((12, 12)))[0][:8]
    A, b, v = random.standard_normal((8, 8)), random.uniform(-0.5, 0.5, 8), random.standard_normal(8)
    x = random.standard_normal((rows, 12))
    y = 1 / (1 + np.exp(-(np.maximum(x @ W.T - 2, 0) @ A.T + b))) @ v

    layer = exhume.lowest_layer(x, y, hidden=8)
    cosines = np.abs(layer.W @ W.T).max(axis=0)
    print(f"{layer.status}: {layer.reason}")
    print(f"largest angle to a true direction: {np.arccos(np.clip(cosines, 0, 1)).max():.1e} radians")

    features = np.maximum(x @ layer.W.T - layer.t, 0)
    some = np.flatnonzero((features > 0).any(axis=1))  # the other rows all have the same output
    train, test = some[:training], some[training : 2 * training]
    rest = fit(features[train], y[train], (8,), "logistic")
    whole = fit(x[train], y[train], (8, 8), "relu")
    variance = y[test].var()
    left = {"lowest layer, then 8 sigmoids": rest(features[test]), "12-8-8-1 on the raw inputs": whole(x[test])}
    for name, predicted in left.items():
        print(f"{name}: {np.mean((predicted - y[test]) ** 2) / variance:.1e} of the variance left")
    return layer, {name: np.mean((p - y[test]) ** 2) / variance for name, p in left.items()}


if __name__ == "__main__":
    main()
