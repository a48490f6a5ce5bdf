"""sklearn_success.py EXHUME OUT.csv [--instances N] [--seed S] [--samples N ...]

How often scikit-learn's MLPRegressor (lbfgs and adam) finds the planted network: relative mean squared error below
1e-10 on fresh rows, with the true width. Writes the table that `exhume reproduce depth2 --data FOLDER` draws beside its
own methods when it is called FOLDER/sklearn_success.csv; the instances are those of `--seed S` there.
"""

import argparse
import pathlib
import subprocess
import tempfile
import warnings

import numpy as np
from compare_sklearn import evaluate, read_safetensors, relative_mse
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

SIZES = [(10, 10), (5, 8)]
EXACT = 1e-10
FRESH_ROWS = 2000


def exact(solver, x, y, truth, k, seed):
    model = MLPRegressor(hidden_layer_sizes=(k,), activation="relu", solver=solver, alpha=0.0, max_iter=3000,
                         tol=1e-12, n_iter_no_change=50, random_state=seed % 2**31)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    fresh = np.random.default_rng(seed).standard_normal((FRESH_ROWS, x.shape[1]))
    return relative_mse(model.predict(fresh)[:, None], evaluate(truth, fresh)) < EXACT


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exhume", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="as in exhume reproduce depth2")
    parser.add_argument("--samples", type=int, nargs="+", default=[2000, 20000])
    options = parser.parse_args()
    lines = ["d,k,n,instances,lbfgs,adam"]
    for d, k in SIZES:
        for n in options.samples:
            found = {"lbfgs": 0, "adam": 0}
            for i in range(options.instances):
                seed = 1000 * (options.seed + 1) + i
                with tempfile.TemporaryDirectory() as folder:
                    subprocess.run([options.exhume.resolve(), "generate", "-d", str(d), "-k", str(k), "-m", "1", "-n",
                                    str(n), "--bias", "0.8", "--amplitudes", "signs", "--seed", str(seed), "--out",
                                    folder + "/planted", "--quiet"], check=True)
                    x = np.load(folder + "/planted/x.npy")
                    y = np.load(folder + "/planted/y.npy").reshape(len(x))
                    truth = read_safetensors(folder + "/planted/network.safetensors")
                for solver in found:
                    found[solver] += exact(solver, x, y, truth, k, seed)
            lines.append(f"{d},{k},{n},{options.instances},{found['lbfgs']},{found['adam']}")
            print(lines[-1], flush=True)
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
