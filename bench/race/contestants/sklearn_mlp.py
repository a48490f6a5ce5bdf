"""scikit-learn's MLPRegressor of the true width, without regularisation; random starts while there is time.

The fit with the least training error counts, and one that reproduces the rows to rounding ends the search. lbfgs has up to
3,000 iterations a start and ends by itself where a step gains less than 2e-9 (SciPy's ftol, which scikit-learn does not let
one set), so outputs of size one are met to about 1e-4 at best. adam has one start, epoch by epoch, while there is time.
"""

import numpy as np
from sklearn.neural_network import MLPRegressor

from ..answer import Answer
from ..networks import Network

PACKAGES = ["scikit-learn", "numpy"]
EXACT = 1e-20  # of the variance
ITERATIONS = 3000


class OutOfTime(Exception):
    pass


class Timed(MLPRegressor):
    """lbfgs that can be stopped: the loss, which knows the weights of the moment, looks at the clock."""

    budget = None

    def _loss_grad_lbfgs(self, *arguments):
        if self.budget.left() <= 0:
            raise OutOfTime
        return super()._loss_grad_lbfgs(*arguments)


def network_of(model):
    layers = [(W.T, b) for W, b in zip(model.coefs_[:-1], model.intercepts_[:-1])]
    return Network(layers, model.coefs_[-1].T, model.intercepts_[-1])


def settings(problem, seed):
    return {"hidden_layer_sizes": tuple(problem.facts.get("widths", [problem.hidden])), "alpha": 0.0, "tol": 1e-12,
            "max_iter": ITERATIONS, "random_state": seed % 2**32}


def lbfgs(problem, y, seed, budget):
    model = Timed(solver="lbfgs", max_fun=10**9, **settings(problem, seed))
    model.budget = budget
    try:
        model.fit(problem.x, y)
    except OutOfTime:
        pass
    return model


def adam(problem, y, seed, budget):
    model = MLPRegressor(solver="adam", **settings(problem, seed))
    while True:
        before = budget.used()
        model.partial_fit(problem.x, y)
        if budget.left() < 1.5 * (budget.used() - before):
            return model


def run(problem, budget, solver):
    y = problem.y[:, 0] if problem.y.shape[1] == 1 else problem.y
    variance = np.mean((problem.y - problem.y.mean(axis=0)) ** 2)
    best, least, starts = None, np.inf, 0
    while starts == 0 or (budget.left() > 0.1 * budget.seconds and least > EXACT * variance):
        model = (lbfgs if solver == "lbfgs" else adam)(problem, y, problem.seed * 1000 + starts, budget)
        starts += 1
        network = network_of(model)
        error = np.mean((network(problem.x) - problem.y) ** 2)
        if error < least:
            best, least = network, error
    return Answer(best, facts={"starts": starts})
