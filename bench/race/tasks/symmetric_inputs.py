"""Inputs as likely as their negatives and otherwise of any shape: paper symmetric."""

from .. import planted

TITLE = "Symmetric inputs"
ABOUT = ("d = k = m = 10, no biases, n = 5000; x and -x are equally likely, drawn from a skewed mixture. Exhume takes its route "
         "symmetric. Width known.")
VARIANTS = {"d = k = m = 10": {}}
CONTESTANTS = ["exhume", "sklearn-lbfgs", "torch-lbfgs-1x", "torch-lbfgs-4x", "scipy-lm", "tensorly-cp-lm"]
QUICK = {"contestants": ["exhume", "sklearn-lbfgs", "scipy-lm", "tensorly-cp-lm"]}


def make(random):
    truth = planted.network(random, 10, 10, 10, bias=0)
    return planted.sampled(random, truth, 5000, "symmetric mixture", facts={"options": ["--route", "symmetric"]})
