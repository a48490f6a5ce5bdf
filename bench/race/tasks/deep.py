"""Two hidden layers from samples."""

from .. import planted

TITLE = "Two hidden layers"
ABOUT = "d-k-k-1 networks, Gaussian inputs, n = 20000, no noise. Exhume finds the widths itself; the others are told them."
VARIANTS = {"3-3-3-1": {"d": 3, "k": 3}, "5-5-5-1": {"d": 5, "k": 5}}
CONTESTANTS = ["exhume", "sklearn-lbfgs", "torch-lbfgs-1x", "torch-lbfgs-4x", "torch-adam-4x", "lightgbm"]
LIMITS = {"3-3-3-1": 30, "5-5-5-1": 60}
QUICK = {"contestants": ["exhume", "sklearn-lbfgs", "torch-lbfgs-4x"], "limit": 5}
WHY = ("Students of the true or four times the width fit the function to a few digits within the limit, while "
       "Exhume's own search for a network without superfluous units was still under way; it needs minutes rather "
       "than seconds.")


def make(random, d, k):
    truth = planted.deep_network(random, d, [k, k], 1)
    return planted.sampled(random, truth, 20000, facts={"widths": [k, k], "tell_width": False, "options": ["--layers", "2"]})
