"""Inputs that are not standard normal."""

from .. import planted

TITLE = "Inputs that are not Gaussian"
ABOUT = "d = k = 8, one output, n = 10000, inputs of several distributions, no noise. Width known."
VARIANTS = {name: {"distribution": name} for name in ("laplace", "uniform", "exponential", "correlated")}
CONTESTANTS = ["exhume", "sklearn-lbfgs", "torch-lbfgs-1x", "torch-lbfgs-4x", "expand-and-cluster", "scipy-lm",
               "tensorly-cp-lm", "lightgbm"]
QUICK = {"contestants": ["exhume", "sklearn-lbfgs", "scipy-lm", "tensorly-cp-lm"]}


def make(random, distribution):
    truth = planted.network(random, 8, 8, 1, bias=0.8, amplitudes="signs")
    return planted.sampled(random, truth, 10000, distribution)
