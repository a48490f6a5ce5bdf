"""Networks that others trained on real tables, sampled at Gaussian inputs."""

import pathlib
import warnings

import numpy as np
from sklearn.neural_network import MLPRegressor

from .. import planted
from ..networks import from_arrays, one_layer
from .tables import table

TITLE = "Trained networks"
ABOUT = ("Networks with 8 hidden units that scikit-learn (adam, on the spot) and PyTorch (stored, trained by bench/race/train_with_torch.py) fitted to real "
         "tables, at 20000 Gaussian inputs. Width known.")
VARIANTS = {f"{name}, {by}": {"name": name, "by": by} for by in ("scikit-learn", "PyTorch") for name in ("diabetes", "wine", "breast cancer")}
CONTESTANTS = ["exhume", "sklearn-lbfgs", "torch-lbfgs-1x", "torch-lbfgs-4x", "scipy-lm", "lightgbm"]
QUICK = {"variants": ["diabetes, scikit-learn", "diabetes, PyTorch"], "contestants": ["exhume", "sklearn-lbfgs", "scipy-lm"]}
STORED = pathlib.Path(__file__).parent / "trained_with_torch.npz"
COUNT = 5  # stored networks a table
WHY = ("Small trained networks are within reach of restarts.")


def make(random, name, by):
    if by == "PyTorch":
        with np.load(STORED) as stored:
            number = int(random.integers(COUNT))
            truth = from_arrays({key: stored[f"{name}/{number}/{key}"].astype(float) for key in ("W", "b", "A", "c")})
    else:
        x, y = table(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it was trained as long as it was trained
            model = MLPRegressor(hidden_layer_sizes=(8,), max_iter=400, random_state=int(random.integers(2**31))).fit(x, y)
        truth = one_layer(model.coefs_[0].T, model.intercepts_[0], model.coefs_[1].T, model.intercepts_[1])
    return planted.sampled(random, truth, 20000)
