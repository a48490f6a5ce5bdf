"""Normal 95% intervals of all weights at a fit: the Jacobian there, and the noise of every output from what the fit leaves of it.

    covariance = (sum over outputs o of J_o' J_o / s_o^2)^-1   with rows of W held at unit norm
"""

import numpy as np

from ..alignment import flat, unit_rows
from .relu_model import ReluModel

NORMAL_95 = 1.959963984540054


def normal_intervals(network, x, y):
    """(low, high) of the weights with unit rows, in the order of alignment.flat; None where they are not determined."""
    if network.L is not None or len(network.layers) != 1:
        return None
    unit = unit_rows(network)
    W, b = unit.layers[0]
    model = ReluModel(x, y, len(b))
    p = model.pack(W, b, unit.A, unit.c)
    n, m = y.shape
    free = (len(p) - len(b)) / m  # parameters an output has to itself
    sd = np.sqrt(np.sum((unit(x) - y) ** 2, axis=0) / (n - free))
    # Moving a row of W along itself is moving its output weights: a basis of all other moves.
    away = np.eye(len(p))
    for i, row in enumerate(W):
        at = slice(i * model.d, (i + 1) * model.d)
        away[at, at] -= np.outer(row, row)
    values, vectors = np.linalg.eigh(away)
    basis = vectors[:, values > 0.5]
    J = (model.jacobian(p).reshape(n, m, -1) / sd[:, None]).reshape(n * m, -1) @ basis
    try:
        covariance = basis @ np.linalg.inv(J.T @ J) @ basis.T
    except np.linalg.LinAlgError:
        return None
    half = NORMAL_95 * np.sqrt(np.maximum(np.diag(covariance), 0))
    centre = flat(unit)
    return centre - half, centre + half
