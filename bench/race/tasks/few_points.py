"""Two units and 24 points of any kind: paper rectified, Algorithm 1, by sign patterns and linear programs."""

import numpy as np

from .. import planted
from ..networks import one_layer
from ..problem import Instance

TITLE = "Two units, 24 points"
ABOUT = ("24 points with whole-number coordinates in three dimensions, two units without biases, two outputs. Exhume takes its route "
         "rectified-any. Success is exact outputs on fresh inputs, and the samples may not determine the network: not everything is "
         "possible here.")
VARIANTS = {"24 points": {}}
CONTESTANTS = ["exhume", "scipy-lp", "scipy-lm", "sklearn-lbfgs"]
QUICK = {}
WHY = ("So small a problem is solved by anything; the program spends its time on starting, checks and files.")


def make(random):
    W = random.integers(-4, 5, (2, 3)).astype(float)
    while np.linalg.matrix_rank(W) < 2:
        W = random.integers(-4, 5, (2, 3)).astype(float)
    truth = one_layer(W, np.zeros(2), random.standard_normal((2, 2)), np.zeros(2))
    x = random.integers(-6, 7, (24, 3)).astype(float)
    test = random.integers(-6, 7, (planted.TEST_ROWS, 3)).astype(float)
    return Instance(x, truth(x), test, truth(test), truth, {"hidden": 2, "options": ["--route", "rectified-any"]})
