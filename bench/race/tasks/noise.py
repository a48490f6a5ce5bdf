"""Noise on the outputs: error against the Cramér–Rao bound, and how often 95% intervals hold."""

from .. import planted

TITLE = "Noise"
ABOUT = ("d = k = 6, three outputs, n = 5000, noise of 1%, 10% or 50% of the outputs' standard deviation. Width known. "
         "Exhume prints no interval for every weight on the command line; coverage is that of the usual normal intervals at its estimate. Success: a squared "
         "error of at most 1.5 times the Cramér–Rao bound.")
VARIANTS = {f"noise {percent}%": {"noise": percent / 100} for percent in (1, 10, 50)}
CONTESTANTS = ["exhume", "sklearn-lbfgs", "torch-lbfgs-1x", "scipy-lm", "bootstrap", "lightgbm"]
SUCCESS = "efficient"
QUICK = {"variants": ["noise 10%"], "contestants": ["exhume", "sklearn-lbfgs", "scipy-lm", "bootstrap", "lightgbm"], "limit": 3}
WHY = ("All of these end at the same least-squares fit. Exhume's time goes into tests of what the fit leaves and "
       "into standard errors.")


def make(random, noise):
    truth = planted.network(random, 6, 6, 3, bias=0.8, amplitudes="signs")
    return planted.sampled(random, truth, 5000, noise=noise, facts={"intervals": True})
