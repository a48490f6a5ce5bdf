"""Normal 95% intervals of all weights at a least-squares fit: the Jacobian there and the size of the noise.

    covariance = sd^2 (J'J)^-1  with rows of W held at unit norm
"""

import numpy as np

from ..alignment import flat, unit_rows
from .relu_model import ReluModel

NORMAL_95 = 1.959963984540054


def normal_intervals(network, x, noise_sd):
    """(low, high) of the weights with unit rows, in the order of alignment.flat; None where they are not determined."""
    if network.L is not None or len(network.layers) != 1:
        return None
    unit = unit_rows(network)
    W, b = unit.layers[0]
    model = ReluModel(x, np.zeros((len(x), len(unit.c))), len(b))
    p = model.pack(W, b, unit.A, unit.c)
    J = model.jacobian(p)
    # Moving a row of W along itself is moving its output weights: a basis of all other moves.
    basis = np.eye(len(p))
    for i, row in enumerate(W):
        at = slice(i * model.d, (i + 1) * model.d)
        basis[at, at] -= np.outer(row, row)
    values, vectors = np.linalg.eigh(basis)
    basis = vectors[:, values > 0.5]
    information = (J @ basis).T @ (J @ basis)
    try:
        covariance = basis @ np.linalg.inv(information) @ basis.T
    except np.linalg.LinAlgError:
        return None
    half = NORMAL_95 * noise_sd * np.sqrt(np.maximum(np.diag(covariance), 0))
    centre = flat(unit)
    return centre - half, centre + half
