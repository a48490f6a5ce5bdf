"""How often scikit-learn (lbfgs, adam) finds the planted networks of `exhume reproduce depth2`, as the table that it draws.

Found: relative mean squared error below 1e-10 on fresh rows, with the true width. The instances are those of `--seed S` there; called
FOLDER/sklearn_success.csv the table is drawn by `exhume reproduce depth2 --data FOLDER`.
"""

import subprocess
import tempfile
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from .networks import from_arrays, read_safetensors
from .scores import relative_error

SIZES = [(10, 10), (5, 8)]
EXACT = 1e-10
FRESH_ROWS = 2000


def found(solver, x, y, truth, k, seed):
    model = MLPRegressor(hidden_layer_sizes=(k,), activation="relu", solver=solver, alpha=0.0, max_iter=3000,
                         tol=1e-12, n_iter_no_change=50, random_state=seed % 2**31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    fresh = np.random.default_rng(seed).standard_normal((FRESH_ROWS, x.shape[1]))
    error = relative_error(model.predict(fresh)[:, None], truth(fresh))
    return error is not None and error**2 < EXACT


def write(exhume, out, instances, first_seed, samples):
    lines = ["d,k,n,instances,lbfgs,adam"]
    for d, k in SIZES:
        for n in samples:
            count = {"lbfgs": 0, "adam": 0}
            for i in range(instances):
                seed = 1000 * (first_seed + 1) + i
                with tempfile.TemporaryDirectory() as folder:
                    subprocess.run([exhume, "generate", "-d", str(d), "-k", str(k), "-m", "1", "-n", str(n), "--bias", "0.8", "--amplitudes",
                                    "signs", "--seed", str(seed), "--out", folder + "/planted", "--quiet"], check=True)
                    x = np.load(folder + "/planted/x.npy")
                    y = np.load(folder + "/planted/y.npy").reshape(len(x))
                    truth = from_arrays(read_safetensors(folder + "/planted/network.safetensors"))
                for solver in count:
                    count[solver] += found(solver, x, y, truth, k, seed)
            lines.append(f"{d},{k},{n},{instances},{count['lbfgs']},{count['adam']}")
            print(lines[-1], flush=True)
    out.write_text("\n".join(lines) + "\n")
