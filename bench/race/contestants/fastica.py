"""scikit-learn's FastICA for orthonormal rows of W: the units' outputs are independent, the network's outputs mix them.

The sources come up to sign, scale and a constant: a rectified source is skewed to the right and has its least value
where the unit is off. The weights follow by regression on the rows where it is on.
"""

import numpy as np
from sklearn.decomposition import FastICA

from ..answer import Answer
from ..networks import one_layer
from .relu_model import ReluModel

PACKAGES = ["scikit-learn", "numpy"]


def run(problem, budget):
    x, k = problem.x, problem.hidden
    sources = FastICA(k, whiten="unit-variance", fun="cube", max_iter=2000, tol=1e-10,
                      random_state=problem.seed).fit_transform(problem.y)
    W = np.zeros((k, x.shape[1]))
    for i in range(k):
        s = sources[:, i]
        s = s * np.sign(np.mean((s - s.mean()) ** 3))
        floor = np.median(s[s < np.median(s)])  # half of the rows are off
        on = s - floor > 0.3 * s.std()
        W[i] = np.linalg.lstsq(x[on], s[on] - floor, rcond=None)[0]
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    b = np.zeros(k)
    return Answer(one_layer(W, b, *ReluModel(x, problem.y, k).solve_outputs(W, b)))
