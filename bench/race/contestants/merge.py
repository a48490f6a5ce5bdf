"""Units of wide students pruned and merged, as in expand-and-cluster (Martinelli, Simsek, Gerstner, Brea, 2024).

A unit is its direction (w, b) / |w|. Units that carry next to nothing are dropped, the others are clustered by their angle
(average linkage), clusters that hold the most of the function are kept, and each becomes one unit. Output weights
are then solved for.
"""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from ..networks import one_layer
from .relu_model import ReluModel

DEAD = 1e-3  # of the largest contribution


def directions(network):
    """(unit rows with bias, weight of the unit in the function) for every unit."""
    W, b = network.layers[0]
    norms = np.linalg.norm(W, axis=1)
    norms = np.where(norms > 0, norms, 1)
    return np.column_stack([W, b]) / norms[:, None], norms * np.linalg.norm(network.A, axis=0)


def cluster(rows, weights, count):
    """At most `count` mean rows of clusters, the heaviest first."""
    if len(rows) <= count:
        return rows
    groups = fcluster(linkage(rows / np.linalg.norm(rows, axis=1, keepdims=True), "average"), count, "maxclust")
    means = []
    for group in np.unique(groups):
        at = groups == group
        means.append((weights[at].sum(), np.average(rows[at], axis=0, weights=weights[at])))
    means.sort(key=lambda pair: -pair[0])
    return np.array([mean for _, mean in means[:count]])


def merge_units(network, x, y, hidden):
    rows, weights = directions(network)
    alive = weights > DEAD * weights.max()
    rows = cluster(rows[alive], weights[alive], hidden)
    model = ReluModel(x, y, len(rows))
    W, b = rows[:, :-1], rows[:, -1]
    return one_layer(W, b, *model.solve_outputs(W, b))
