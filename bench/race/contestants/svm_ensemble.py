"""Linear support vector machines, one a face: rows outside are clustered by direction, each cluster is set against all rows
inside, and a row is inside where every machine says so."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.svm import LinearSVC

from ..answer import Answer

PACKAGES = ["scikit-learn", "numpy"]
ROUNDS = 10
ROWS = 20000  # of either side


def run(problem, budget):
    x, inside = problem.x, problem.y[:, 0] > 0.5
    if problem.facts["kind"] == "union":
        inside = ~inside
    random = np.random.default_rng(problem.seed)
    positive = x[random.permutation(np.flatnonzero(inside))[:ROWS]]
    negative = x[random.permutation(np.flatnonzero(~inside))[:ROWS]]
    group = KMeans(problem.hidden, n_init=4, random_state=problem.seed).fit_predict(
        negative / np.linalg.norm(negative, axis=1, keepdims=True))
    machines = []
    for _ in range(ROUNDS):
        machines = []
        for g in range(problem.hidden):
            rows = negative[group == g]
            if not len(rows):
                continue
            both = np.vstack([rows, positive])
            machines.append(LinearSVC(C=10, max_iter=300, random_state=problem.seed).fit(both, [1] * len(rows) + [0] * len(positive)))
        # Every outside row goes to the machine that is surest of it.
        again = np.argmax([machine.decision_function(negative) for machine in machines], axis=0)
        if (again == group).all() or budget.left() < 0.2 * budget.seconds:
            break
        group = again

    def predict(rows):
        outside = np.max([machine.decision_function(rows) for machine in machines], axis=0) > 0
        return (outside if problem.facts["kind"] == "union" else ~outside).astype(float)

    return Answer(predict=predict)
