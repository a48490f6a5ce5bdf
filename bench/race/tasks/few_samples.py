"""Few rows for every unknown."""

from .. import planted

TITLE = "Few samples"
ABOUT = "d = k = 10, one output, 121 unknowns with biases and outputs; 3, 4, 6 or 10 rows for each. Width known."
VARIANTS = {f"{r} rows a parameter": {"ratio": r} for r in (3, 4, 6, 10)}
CONTESTANTS = ["exhume", "sklearn-lbfgs", "torch-lbfgs-1x", "torch-lbfgs-4x", "expand-and-cluster", "scipy-lm", "lightgbm"]
QUICK = {"variants": ["4 rows a parameter", "10 rows a parameter"], "contestants": ["exhume", "sklearn-lbfgs", "scipy-lm"]}
UNKNOWNS = 10 * 11 + 10 + 1


def make(random, ratio):
    return planted.sampled(random, planted.network(random, 10, 10, 1, bias=0.8, amplitudes="signs"), ratio * UNKNOWNS)
