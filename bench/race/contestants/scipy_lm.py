"""SciPy's Levenberg–Marquardt (MINPACK) with the analytic Jacobian, from as many random starts as fit the time.

Starts run on a part of the rows, enough to tell a good one; the best is then polished on all rows. The best is
chosen by training error, and a start that reproduces its rows to rounding ends the search.
"""

import numpy as np
from scipy.optimize import least_squares

from ..answer import Answer
from .relu_model import ReluModel

PACKAGES = ["scipy", "numpy"]
ROWS = 6  # equations for every unknown in a start
EXACT = 1e-20  # of the variance
EVALUATIONS = 200  # a start
RATE = 1e9  # operations a second of MINPACK's factorisation, roughly


class OutOfTime(Exception):
    pass


def descend(model, start, budget, evaluations=EVALUATIONS):
    """The end of one descent, or the best point seen when the time ends."""
    seen = {"p": start, "cost": np.inf}

    def residuals(p):
        r = model.residuals(p)
        cost = r @ r
        if cost < seen["cost"]:
            seen["p"], seen["cost"] = p.copy(), cost
        if budget.left() <= 0:
            raise OutOfTime
        return r

    try:
        least_squares(residuals, start, jac=model.jacobian, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15,
                      max_nfev=evaluations)
    except OutOfTime:
        pass
    return seen["p"], seen["cost"]


def some_rows(model, random):
    unknowns = model.k * (model.d + 1 + model.m) + model.m
    rows = -(-ROWS * unknowns // model.m)
    return model.on_rows(random.permutation(model.n)[:rows]) if rows < model.n else model


def polish(model, p, budget):
    """A descent on all rows, or on as many as let a step take a tenth of the time that is left."""
    steps = 2.0 * model.m * len(p) ** 2  # operations a row
    rows = int(max(budget.left(), 0) / 10 * RATE / steps)
    if rows < model.n:
        fewest = -(-ROWS * len(p) // model.m)
        model = model.on_rows(np.arange(min(model.n, max(rows, fewest))))
    return descend(model, p, budget)[0]


def best_start(model, budget, seed):
    """(parameters, starts tried) on all rows."""
    random = np.random.default_rng(seed)
    part = some_rows(model, random)
    variance = part.n * np.sum(part.y.var(axis=0))
    best, least, tried = None, np.inf, 0
    while best is None or (budget.left() > 0.15 * budget.seconds and least > EXACT * variance):
        p, cost = descend(part, part.random_start(random), budget)
        tried += 1
        if cost < least:
            best, least = p, cost
    return best, tried


def fit(problem, budget):
    model = ReluModel(problem.x, problem.y, problem.hidden)
    best, tried = best_start(model, budget, problem.seed)
    if budget.left() > 0:
        best = polish(model, best, budget)
    return model, best, tried


def run(problem, budget):
    model, best, tried = fit(problem, budget)
    return Answer(model.network(best), facts={"starts": tried})
