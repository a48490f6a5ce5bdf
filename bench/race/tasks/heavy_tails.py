"""Noise of heavy tails, independent of the inputs: paper rectified, arbitrary noise."""

import numpy as np

from .. import planted

TITLE = "Heavy-tailed noise"
ABOUT = ("d = 5, k = m = 2, n = 20000, no biases; Student noise of two degrees of freedom, as large as the signal. Exhume takes its route "
         "rectified-arbitrary-noise. Success: within 5% (rms) of the true function.")
VARIANTS = {"Student t2": {}}
CONTESTANTS = ["exhume", "sklearn-lbfgs", "scipy-lm", "scipy-lm-robust", "lightgbm"]
SUCCESS = "close"
QUICK = {"limit": 2}
WHY = ("Least squares with a robust loss uses more of what such noise leaves than halfspaces of candidate left "
       "inverses do, whose theorem asks for no distribution at all. Use a robust fit.")


def make(random):
    truth = planted.network(random, 5, 2, 2, bias=0)
    instance = planted.sampled(random, truth, 20000, facts={"options": ["--route", "rectified-arbitrary-noise"]})
    noise = random.standard_t(2, instance.y.shape)
    instance.y = instance.y + noise * instance.y.std(axis=0) / np.median(np.abs(noise)) * 0.6745
    return instance
