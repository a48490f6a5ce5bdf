"""How far apart the weights of two networks are, once order and scale of the hidden units are out of the way.

Rows of hidden units get unit norm, the scale going to the next layer; units are matched layer by layer by optimal
assignment. The error is the largest difference of any weight, bias or output weight. Networks of other widths, or
with skip terms, have no such error: None.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from .networks import Network, from_arrays


def unit_rows(network):
    """The same function with rows of unit norm in every hidden layer."""
    scale, layers = None, []
    for W, b in network.layers:
        W = W if scale is None else W * scale
        norms = np.linalg.norm(W, axis=1)
        norms = np.where(norms > 0, norms, 1)
        layers.append((W / norms[:, None], b / norms))
        scale = norms
    return Network(layers, network.A * scale, network.c, network.L)


def orders(network, truth):
    """For every layer the unit of `network` that stands for each unit of `truth`; None where the shapes differ."""
    if network is None or network.L is not None or network.skips or network.widths != truth.widths:
        return None
    if network.layers[0][0].shape[1] != truth.layers[0][0].shape[1] or network.A.shape != truth.A.shape:
        return None
    mine, theirs = unit_rows(network), unit_rows(truth)
    found = []
    for depth, ((W, b), (V, t)) in enumerate(zip(mine.layers, theirs.layers)):
        W = W[:, found[-1]] if found else W
        rows, columns = np.column_stack([W, b]), np.column_stack([V, t])
        if depth + 1 == len(mine.layers):  # output weights tell parallel units apart
            rows, columns = np.column_stack([rows, mine.A.T]), np.column_stack([columns, theirs.A.T])
        if not np.isfinite(rows).all():
            return None
        distance = ((columns[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2)
        found.append(linear_sum_assignment(distance)[1])
    return found


def reordered(network, found):
    layers = []
    for depth, ((W, b), order) in enumerate(zip(network.layers, found)):
        W = W[:, found[depth - 1]] if depth else W
        layers.append((W[order], b[order]))
    return Network(layers, network.A[:, found[-1]], network.c)


def matched(network, truth):
    """`network` with unit rows and its units in the order of `truth`; None where the shapes differ."""
    found = orders(network, truth)
    return None if found is None else reordered(unit_rows(network), found)


def flat(network):
    """All parameters, one after the other."""
    return np.concatenate([part.ravel() for part in network.arrays().values()])


def unflat(values, like):
    """A network of the shapes of `like`, from `flat`."""
    parts, at = {}, 0
    for name, part in like.arrays().items():
        parts[name] = np.reshape(values[at : at + part.size], part.shape)
        at += part.size
    return from_arrays(parts)


def weight_error(network, truth):
    aligned = matched(network, truth)
    return None if aligned is None else float(np.abs(flat(aligned) - flat(unit_rows(truth))).max())


def coverage(network, intervals, truth):
    """Share of the true weights within the intervals of `network`'s weights."""
    found = orders(network, truth)
    if found is None:
        return None
    low, high = (flat(reordered(unflat(end, network), found)) for end in intervals)
    true = flat(unit_rows(truth))
    return float(np.mean((low <= true) & (true <= high)))
