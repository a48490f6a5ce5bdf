"""As many outputs as units."""

from .. import planted

TITLE = "Many outputs"
ABOUT = "d = k = m, Gaussian inputs, no noise. Width known."
VARIANTS = {"d = k = m = 20, n = 3000": {"d": 20, "n": 3000}}
CONTESTANTS = ["exhume", "exhume-all-threads", "sklearn-lbfgs", "sklearn-lbfgs-all-threads", "sklearn-adam",
               "torch-adam-1x", "torch-lbfgs-1x", "torch-lbfgs-4x", "expand-and-cluster", "scipy-lm", "tensorly-cp",
               "tensorly-cp-lm", "lightgbm"]
QUICK = {"contestants": ["exhume", "sklearn-lbfgs", "torch-lbfgs-4x", "scipy-lm", "tensorly-cp-lm", "lightgbm"],
         "limit": 2}


def make(random, d, n):
    return planted.sampled(random, planted.network(random, d, d, d), n)
