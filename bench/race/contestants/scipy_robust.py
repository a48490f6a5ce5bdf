"""SciPy's least_squares with the soft L1 loss, which large errors hardly move, from as many random starts as fit the time."""

import numpy as np
from scipy.optimize import least_squares

from ..answer import Answer
from .relu_model import ReluModel
from .scipy_lm import OutOfTime

PACKAGES = ["scipy", "numpy"]
EVALUATIONS = 60


def soft_l1(r, scale):
    return float(np.sum(np.sqrt(1 + (r / scale) ** 2) - 1))


def run(problem, budget):
    model = ReluModel(problem.x, problem.y, problem.hidden)
    random = np.random.default_rng(problem.seed)
    middle = np.median(problem.y, axis=0)
    scale = 0.5 * float(np.median(np.abs(problem.y - middle)))
    rows = min(model.n, max(2000 // model.m, -(-6 * (model.k * (model.d + 1 + model.m) + model.m) // model.m)))
    part = model.on_rows(random.permutation(model.n)[:rows])
    best, least, starts = None, np.inf, 0

    def descend(on, start, limit):
        seen = {"p": start, "cost": np.inf}

        def residuals(p):
            r = on.residuals(p)
            cost = soft_l1(r, scale)
            if cost < seen["cost"]:
                seen["p"], seen["cost"] = p.copy(), cost
            if budget.used() > limit:
                raise OutOfTime
            return r

        try:
            least_squares(residuals, start, jac=on.jacobian, loss="soft_l1", f_scale=scale, max_nfev=EVALUATIONS)
        except OutOfTime:
            pass
        return seen["p"], seen["cost"]

    while best is None or budget.used() < 0.6 * budget.seconds:
        p, cost = descend(part, part.random_start(random), 0.6 * budget.seconds)
        starts += 1
        if cost < least:
            best, least = p, cost
    best = descend(model, best, budget.seconds)[0]
    return Answer(model.network(best), facts={"starts": starts})
