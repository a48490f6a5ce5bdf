"""More units than inputs."""

from .. import planted

TITLE = "More units than inputs"
ABOUT = "k > d, one output, Gaussian inputs, no noise. Width known."
VARIANTS = {"d = 5, k = 8, n = 10000": {"d": 5, "k": 8, "n": 10000}, "d = 10, k = 20, n = 40000": {"d": 10, "k": 20, "n": 40000}}
CONTESTANTS = ["exhume", "sklearn-lbfgs", "torch-lbfgs-1x", "torch-lbfgs-4x", "expand-and-cluster", "scipy-lm",
               "tensorly-cp-lm", "lightgbm"]
QUICK = {"contestants": ["exhume", "sklearn-lbfgs", "scipy-lm", "tensorly-cp-lm"]}


def make(random, d, k, n):
    return planted.sampled(random, planted.network(random, d, k, 1, bias=0.8, amplitudes="signs"), n)
