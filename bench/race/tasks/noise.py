"""Noise on the outputs: error against the Cramér–Rao bound, and how often 95% intervals hold."""

from .. import planted

TITLE = "Noise"
ABOUT = "d = k = 6, three outputs, n = 5000, noise of 1%, 10% or 50% of the outputs' standard deviation. Width known."
VARIANTS = {f"noise {percent}%": {"noise": percent / 100} for percent in (1, 10, 50)}
CONTESTANTS = ["exhume", "sklearn-lbfgs", "torch-lbfgs-1x", "scipy-lm", "bootstrap", "lightgbm"]
SUCCESS = "efficient"
QUICK = {"variants": ["noise 10%"], "contestants": ["exhume", "sklearn-lbfgs", "scipy-lm", "bootstrap", "lightgbm"], "limit": 4}


def make(random, noise):
    truth = planted.network(random, 6, 6, 3, bias=0.8, amplitudes="signs")
    return planted.sampled(random, truth, 5000, noise=noise, facts={"intervals": True})
