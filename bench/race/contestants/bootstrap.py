"""Intervals by bootstrap: SciPy's fit, then refits on rows drawn with replacement, each from the fit. Percentiles of the weights."""

import numpy as np

from ..alignment import flat, matched, unit_rows
from ..answer import Answer
from .relu_model import ReluModel
from .scipy_lm import best_start, descend

PACKAGES = ["scipy", "numpy"]
SHARE = 0.6  # of the time, for the fit itself
DRAWS = 200
FEWEST = 20  # refits for an interval


class Part:
    """A share of a budget."""

    def __init__(self, budget, share):
        self.budget, self.seconds = budget, budget.seconds * share

    def left(self):
        return self.seconds - self.budget.used()


def run(problem, budget):
    model = ReluModel(problem.x, problem.y, problem.hidden)
    part = Part(budget, SHARE)
    best, starts = best_start(model, part, problem.seed)
    best = descend(model, best, budget)[0]
    network = unit_rows(model.network(best))
    random = np.random.default_rng(problem.seed)
    drawn = []
    while len(drawn) < DRAWS and budget.left() > 0:
        again = model.on_rows(random.integers(model.n, size=model.n))
        refit = matched(again.network(descend(again, best, budget, 15)[0]), network)
        drawn.append(flat(refit))
    intervals = None
    if len(drawn) >= FEWEST:
        intervals = tuple(np.percentile(np.array(drawn), [2.5, 97.5], axis=0))
    return Answer(network, intervals=intervals, facts={"starts": starts, "refits": len(drawn)})
