"""SciPy's linear programs for few units and any inputs: paper rectified, Algorithm 1.

Without noise and with outputs of rank k, the output of unit i alone lies in the row space of Y, vanishes on the rows
where the unit is off and is linear where it is on. For every way in which a hyperplane splits the rows, one linear
program asks for such a function (HiGHS).
"""

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from ..answer import Answer, Failure
from ..networks import one_layer
from .relu_model import ReluModel

PACKAGES = ["scipy", "numpy"]
SAME = 1e-6
RANK = 1e-9


def splits(x):
    """Sign patterns of the hyperplanes through the origin, met by turning about d - 1 rows at a time."""
    n, d = x.shape
    seen = set()
    for chosen in combinations(range(n), d - 1):
        normal = np.linalg.svd(x[list(chosen)])[2][-1]
        side = x @ normal
        for bits in range(2 ** (d - 1)):
            moved = side.copy()
            for place, row in enumerate(chosen):
                moved[row] = 1.0 if bits >> place & 1 else -1.0
            for sign in (1, -1):
                pattern = tuple(sign * moved > 0)
                if any(pattern) and pattern not in seen:
                    seen.add(pattern)
                    yield np.array(pattern)


def unit_on(pattern, x, basis):
    """w with max(x w, 0) in the span of `basis` (rows x k) and this pattern, or None."""
    d, k = x.shape[1], basis.shape[1]
    off = ~pattern
    # Unknowns: w (d), then the combination z (k) of the basis.
    equal = np.block([[np.zeros((off.sum(), d)), basis[off]], [x[pattern], -basis[pattern]],
                      [x[pattern].sum(axis=0), np.zeros(k)]])
    values = np.zeros(len(equal))
    values[-1] = 1.0
    # Nearly all patterns have no solution of the equations: that is cheaper to see than a linear program.
    solved = np.linalg.lstsq(equal, values, rcond=None)[0]
    if np.abs(equal @ solved - values).max() > SAME:
        return None
    least = np.vstack([np.hstack([x[off], np.zeros((off.sum(), k))]), np.hstack([-x[pattern], np.zeros((pattern.sum(), k))])])
    done = linprog(np.zeros(d + k), least, np.zeros(len(least)), equal, values, bounds=(None, None), method="highs")
    return done.x[:d] if done.status == 0 else None


def run(problem, budget):
    x, k = problem.x, problem.hidden
    basis, sizes, _ = np.linalg.svd(problem.y, full_matrices=False)
    basis = basis[:, : int(np.sum(sizes > RANK * sizes[0]))]
    found = []
    for pattern in splits(x):
        if budget.left() <= 0:
            break
        w = unit_on(pattern, x, basis)
        if w is None:
            continue
        w = w / np.linalg.norm(w)
        if all(np.linalg.norm(w - v) > SAME for v in found):
            found.append(w)
        if len(found) == k:
            break
    if len(found) < k:
        raise Failure(f"{len(found)} of {k} units found")
    W, b = np.array(found), np.zeros(k)
    return Answer(one_layer(W, b, *ReluModel(x, problem.y, k).solve_outputs(W, b)))
