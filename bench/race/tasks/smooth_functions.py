"""Smooth functions, which no small network of ReLUs is."""

import numpy as np

from ..planted import TEST_ROWS
from ..problem import Instance

TITLE = "Smooth functions"
ABOUT = ("sin(2 x1) + x2 x3 + exp(-x4^2), six Gaussian inputs, n = 4000, noise of 5%. Every network has 16 hidden units. Success: within 5% (rms) of the "
         "function.")
VARIANTS = {"noise 5%": {}}
CONTESTANTS = ["exhume", "sklearn-adam", "sklearn-lbfgs", "lightgbm", "scipy-lm"]
SUCCESS = "close"
QUICK = {}
WHY = ("Exhume looks for kinks, and smooth functions have none: it says so. Boosting or a network with smooth "
       "units, early stopping and a penalty approximates better.")


def make(random):
    x = random.standard_normal((4000 + TEST_ROWS, 6))
    y = (np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + np.exp(-(x[:, 3] ** 2)))[:, None]
    noise = 0.05 * y.std() * random.standard_normal((4000, 1))
    return Instance(x[:4000], y[:4000] + noise, x[4000:], y[4000:], None, {"hidden": 16})
