"""So few and so noisy rows that the network cannot be told: a penalty is worth more than the truth's shape."""

from .. import planted

TITLE = "Few rows, much noise"
ABOUT = ("d = k = 10, one output, 300 rows for 121 parameters, noise as large as the signal. Nothing can be exact: the row with the least error is the "
         "better one.")
VARIANTS = {"noise 100%, 300 rows": {"n": 300, "noise": 1.0}}
CONTESTANTS = ["exhume", "ridge", "lightgbm", "sklearn-adam", "sklearn-lbfgs"]
SUCCESS = "none"
QUICK = {}
WHY = ("With 2.5 noisy rows for every parameter the maximum-likelihood network is worse than a straight line. "
       "Exhume says that the rows are too few; a penalty is worth more than the right shape.")


def make(random, n, noise):
    return planted.sampled(random, planted.network(random, 10, 10, 1, bias=0.8, amplitudes="signs"), n, noise=noise)
