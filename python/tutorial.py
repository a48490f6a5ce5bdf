"""A tour of Exhume in four stops. Run it: python tutorial.py

1. A planted network, hidden behind its samples, and recovered from them.
2. A network that scikit-learn trained on handwritten digits, recovered from answers to random queries.
3. Noisy data: every weight with its standard error and interval.
4. Data that no two-layer ReLU network made: what an honest answer looks like.
"""

from __future__ import annotations

import pathlib
import warnings

import numpy as np

import exhume


def planted() -> None:
    print("1. A planted network")
    teacher = exhume.generate(inputs=10, hidden=8, outputs=8, samples=5000, seed=1)
    result = exhume.recover(teacher.x, teacher.y)
    print(result.verdict)

    # The recovered network has its units in another order and scale: align() compares up to that.
    error = result.network.align(teacher.network).worst_error
    print(f"largest difference of a weight: {error:.1e}\n")
    assert result.status == "certified" and error < 1e-9


def trained_on_digits() -> exhume.Network:
    """Trained by scikit-learn here and now, or, where that is not installed, earlier."""
    try:
        from sklearn.datasets import load_digits
        from sklearn.neural_network import MLPRegressor
    except ImportError:
        print("(scikit-learn is not installed: this is a network that it trained earlier)")
        return exhume.Network.load(
            pathlib.Path(__file__).resolve().parents[1] / "examples/data/digits_64_16_1.npz"
        )
    images, labels = load_digits(return_X_y=True)
    scale = images.std(axis=0)
    images = (images - images.mean(axis=0)) / np.where(scale > 0, scale, 1)
    model = MLPRegressor(hidden_layer_sizes=(16,), max_iter=300, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that training has not converged does not matter here
        model.fit(images, labels)
    return exhume.Network.from_sklearn(model)


def digits() -> None:
    print("2. A network trained by scikit-learn on digits")
    model = trained_on_digits()

    # Whoever can query the model can have the model. The queries are random, and go in as blocks:
    # memory does not grow with their number.
    random = np.random.default_rng(0)
    queries = (random.standard_normal((5000, 64)) for _ in range(12))
    result = exhume.recover(((x, model(x)) for x in queries), hidden=16)
    print(result.verdict)
    error = result.network.align(model).worst_error
    print(f"largest difference of a weight: {error:.1e}\n")
    assert result.status == "certified" and error < 1e-9


def noisy() -> None:
    print("3. Noisy data")
    teacher = exhume.generate(inputs=3, hidden=2, outputs=2, samples=20000, noise=0.1, seed=3)
    result = exhume.recover(teacher.x, teacher.y)
    print(result.summary(confidence=0.95), "\n")

    # How often the truth lies inside is what a 95 % interval promises.
    truth = teacher.network.canonical()
    (order,) = result.network.align(truth).match
    true_weights = truth.W[order].ravel()
    rows = [row for row in result.coefficients(0.95) if row.name.startswith("W")]
    inside = sum(row.lower <= value <= row.upper for row, value in zip(rows, true_weights))
    print(f"true weights inside their interval: {inside} of {len(rows)}\n")
    assert result.status == "estimated" and inside >= len(rows) - 2


def refusal() -> None:
    print("4. Data that no such network made")
    random = np.random.default_rng(0)
    x = random.standard_normal((2000, 3))
    y = np.sin(3 * x[:, 0]) * x[:, 1]
    result = exhume.recover(x, y, hidden=3, budget=5)
    print(f"{result.status}: {result.reason}")
    for assumption in result.certificate["assumptions"]:
        print(f"  {'holds' if assumption['holds'] else 'fails'}  {assumption['name']}")
    assert result.status != "certified"

    # Data that cannot be used at all are an exception, in one sentence.
    x[7, 1] = np.nan
    try:
        exhume.recover(x, y)
    except exhume.DataError as error:
        print(f"DataError: {error}")


if __name__ == "__main__":
    planted()
    digits()
    noisy()
    refusal()
