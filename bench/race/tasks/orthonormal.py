"""Orthonormal rows of W: the units' outputs are independent components. Paper rectified, Algorithm 3."""

import numpy as np

from .. import planted
from ..networks import one_layer

TITLE = "Orthonormal units"
ABOUT = "d = 12, k = 8, m = 10, n = 20000, no biases, rows of W orthonormal. Exhume takes its route rectified-ica."
VARIANTS = {"d = 12, k = 8, m = 10": {}}
CONTESTANTS = ["exhume", "fastica", "sklearn-lbfgs", "scipy-lm", "tensorly-cp-lm"]
QUICK = {"contestants": ["exhume", "fastica", "sklearn-lbfgs", "tensorly-cp-lm"]}


def make(random):
    W = np.linalg.qr(random.standard_normal((12, 8)))[0].T
    truth = one_layer(W, np.zeros(8), random.standard_normal((10, 8)), np.zeros(10))
    return planted.sampled(random, truth, 20000, facts={"options": ["--route", "rectified-ica"]})
