"""A few entries of the outputs hit by noise of any size: paper rectified, sparse noise."""

from .. import planted

TITLE = "Sparse noise"
ABOUT = ("d = 8, k = 4, m = 40, n = 4000, no biases; 5% of all entries of Y are hit by noise a hundred times as large as the signal. "
         "Exhume takes its route rectified-sparse-noise.")
VARIANTS = {"5% of the entries": {"share": 0.05}}
CONTESTANTS = ["exhume", "sklearn-lbfgs", "scipy-lm", "scipy-lm-robust", "lightgbm"]
QUICK = {"contestants": ["exhume", "sklearn-lbfgs", "scipy-lm-robust"], "limit": 3}


def make(random, share):
    truth = planted.network(random, 8, 4, 40, bias=0)
    instance = planted.sampled(random, truth, 4000, facts={"options": ["--route", "rectified-sparse-noise"]})
    hit = random.random(instance.y.shape) < share
    instance.y = instance.y + hit * 100 * instance.y.std() * random.standard_normal(instance.y.shape)
    return instance
