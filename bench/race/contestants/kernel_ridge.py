"""scikit-learn's kernel ridge with the quadratic kernel and next to no penalty: one n x n system, no network."""

from sklearn.kernel_ridge import KernelRidge

from ..answer import Answer

PACKAGES = ["scikit-learn", "numpy"]


def run(problem, budget):
    model = KernelRidge(alpha=1e-13, kernel="poly", degree=2, gamma=1, coef0=1).fit(problem.x, problem.y)
    return Answer(predict=model.predict)
