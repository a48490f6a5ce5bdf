"""Labels that mean nothing, to be fitted all the same: paper memorize."""

import numpy as np

from ..problem import Instance

TITLE = "Memorising"
ABOUT = ("n rows of norm 1 with random labels; the error is that of the training rows, relative to the labels' variance. The "
         "networks of scikit-learn have about as many parameters as the paper's example. Kernel ridge is no network: it keeps all rows.")
VARIANTS = {"n = 300, d = 100": {"n": 300, "d": 100}, "n = 2000, d = 80": {"n": 2000, "d": 80}}
CONTESTANTS = ["exhume", "exhume-descent", "sklearn-lbfgs", "sklearn-adam", "torch-adam-1x", "kernel-ridge"]
QUICK = {"contestants": ["exhume", "exhume-descent", "sklearn-lbfgs", "sklearn-adam", "kernel-ridge"]}
PARAMETERS = 20200
WHY = ("Kernel ridge solves the same n x n system without making a network of it, checking it and writing files. "
       "Where the answers are wanted and no network, it is enough.")


def make(random, n, d):
    x = random.uniform(-1, 1, (n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = random.uniform(-1, 1, (n, 1))
    return Instance(x, y, x, y, None, {"hidden": round(PARAMETERS / (d + 2)), "command": "memorize"})
