"""adversarial-robustness-toolbox: FunctionallyEquivalentExtraction, after Jagielski et al. (2019), in double precision.

It is told the number of hidden units. It raises where the line of its search shows more or fewer kinks than units, and may
halve its step for ever; it is then started again from another seed, and the
best start is handed in. All questions of all starts count.
"""

import art.config
import numpy as np

art.config.ART_NUMPY_DTYPE = np.float64  # before the estimators read it

from art.attacks.extraction import FunctionallyEquivalentExtraction  # noqa: E402
from art.estimators.classification.blackbox import BlackBoxClassifierNeuralNetwork  # noqa: E402

from ..answer import Answer, Failure  # noqa: E402
from ..networks import one_layer  # noqa: E402

PACKAGES = ["adversarial-robustness-toolbox", "numpy"]
LAST_LAYER_ROWS = 500
CHECK_ROWS = 100  # by which the best start is chosen
START_SHARE = 0.1  # of the time, for one start


# Its own steps, and shorter ones: with many kinks about, long steps meet a second one.
STEPS = [{}, {"delta_init_value": 1e-3, "d_step": 1e-3, "delta_sign": 1e-3}]
EXACT = 1e-6


class OutOfTime(Exception):
    pass


def run(problem, budget):
    inputs, outputs = problem.x.shape[1], problem.y.shape[1]
    until = 0.0

    def ask(x):
        if budget.used() > until:
            raise OutOfTime
        return problem.oracle(x)

    check = np.random.default_rng(problem.seed).standard_normal((CHECK_ROWS, inputs))
    answers = problem.oracle(check)
    best, least, starts, reason = None, np.inf, 0, ""
    while budget.left() > 0 and least > EXACT * answers.std():
        until = min(budget.used() + budget.seconds * START_SHARE, budget.seconds)
        np.random.seed((problem.seed * 1000 + starts) % 2**32)
        target = BlackBoxClassifierNeuralNetwork(ask, (inputs,), outputs, preprocessing=None)
        attack = FunctionallyEquivalentExtraction(target, num_neurons=problem.hidden)
        starts += 1
        try:
            attack.extract(np.random.standard_normal((LAST_LAYER_ROWS, inputs)), **STEPS[starts % 2])
        except OutOfTime:
            continue
        except AssertionError as error:
            reason = str(error)
            continue
        network = one_layer(attack.w_0.T, attack.b_0.ravel(), attack.w_1.T, attack.b_1.ravel())
        error = np.sqrt(np.mean((network(check) - answers) ** 2))
        if error < least:
            best, least = network, error
    if best is None:
        raise Failure(f"no network after {starts} starts and {problem.oracle.queries} questions. {reason}")
    return Answer(best, queries=problem.oracle.queries, facts={"starts": starts})
