"""One output, as many units as inputs, plenty of Gaussian rows."""

from .. import planted

TITLE = "One output"
ABOUT = "d inputs, k = d units, one output, Gaussian inputs, no noise. Width known."
SIZES = {10: 10000, 20: 20000, 30: 40000}
VARIANTS = {f"d = k = {d}, n = {n}": {"d": d, "n": n} for d, n in SIZES.items()}
CONTESTANTS = ["exhume", "exhume-all-threads", "sklearn-lbfgs", "sklearn-lbfgs-all-threads", "sklearn-adam",
               "torch-adam-1x", "torch-adam-2x", "torch-adam-4x", "torch-lbfgs-1x", "torch-lbfgs-2x", "torch-lbfgs-4x",
               "expand-and-cluster", "scipy-lm", "tensorly-cp", "tensorly-cp-lm", "lightgbm"]
LIMITS = {"d = k = 30, n = 40000": 30}
QUICK = {"contestants": ["exhume", "exhume-all-threads", "sklearn-lbfgs", "sklearn-adam", "torch-adam-4x", "torch-lbfgs-1x",
                         "torch-lbfgs-4x", "expand-and-cluster", "scipy-lm", "tensorly-cp-lm", "lightgbm"]}


def make(random, d, n):
    return planted.sampled(random, planted.network(random, d, d, 1, bias=0.8, amplitudes="signs"), n)
