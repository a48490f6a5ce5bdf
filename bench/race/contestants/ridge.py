"""Linear regression with a penalty chosen by cross-validation: the simplest thing that could work."""

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..answer import Answer

PACKAGES = ["scikit-learn", "numpy"]


def run(problem, budget):
    model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-4, 4, 25)))
    model.fit(problem.x, problem.y)
    return Answer(predict=model.predict)
