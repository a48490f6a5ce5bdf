"""compare_memorize.py EXHUME [--seed S] [--json]

`exhume memorize` beside scikit-learn's MLPRegressor(solver="lbfgs") with as many parameters, on the paper's synthetic
example: 300 rows of 100 uniform entries, scaled to norm 1, labels uniform. Perturbed gradient descent from zero with
202 units (20,200 weights), the closed form, and scikit-learn's fit with 198 hidden units (20,197 weights and biases),
one after the other. Prints seconds and relative training errors.

Exhume's descent time is what it reports of the descent itself; the time of the whole program (start, reading,
kernel, certificates) is beside it. scikit-learn's is that of `fit` alone, with the arrays in memory.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

ROWS, INPUTS, UNITS = 300, 100, 202


def run(exhume, folder, *options):
    start = time.perf_counter()
    done = subprocess.run(
        [exhume, "memorize", folder / "x.npy", folder / "y.npy", "--json", *options],
        capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    return json.loads(done.stdout), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exhume")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    random = np.random.default_rng(arguments.seed)
    x = random.uniform(-1, 1, (ROWS, INPUTS))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = random.uniform(-1, 1, ROWS)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "x.npy", x)
        np.save(folder / "y.npy", y)
        closed, closed_seconds = run(arguments.exhume, folder)
        pgd, pgd_seconds = run(arguments.exhume, folder, "--method", "pgd", "--hidden", str(UNITS), "--tolerance", "1e-10")

    hidden = round((UNITS * INPUTS - 1) / (INPUTS + 2))
    model = MLPRegressor(hidden_layer_sizes=(hidden,), solver="lbfgs", random_state=arguments.seed)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    sklearn_seconds = time.perf_counter() - start
    sklearn_error = float(np.mean((model.predict(x) - y) ** 2) / np.var(y))

    descent = pgd["descent"][0]
    result = {
        "closed_form": {"relative_error": closed["relative_error"], "units": closed["hidden_units"],
                        "seconds": closed["timings"]["total"], "program_seconds": closed_seconds},
        "pgd": {"relative_error": pgd["relative_error"], "parameters": UNITS * INPUTS, "iterations": descent["iterations"],
                "seconds": descent["seconds"], "program_seconds": pgd_seconds},
        "sklearn_lbfgs": {"version": sklearn.__version__, "relative_error": sklearn_error,
                          "parameters": int(sum(w.size for w in model.coefs_) + sum(b.size for b in model.intercepts_)),
                          "iterations": int(model.n_iter_), "seconds": sklearn_seconds},
        "pgd_over_sklearn": descent["seconds"] / sklearn_seconds,
        "pgd_program_over_sklearn": pgd_seconds / sklearn_seconds,
    }
    if arguments.json:
        print(json.dumps(result, indent=2))
        return
    for who in ("closed_form", "pgd", "sklearn_lbfgs"):
        print(f"{who:14} " + ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                                       for key, value in result[who].items()))
    print(f"PGD / lbfgs: {result['pgd_over_sklearn']:.2f} (whole program {result['pgd_program_over_sklearn']:.2f}); at most 60 wanted")


if __name__ == "__main__":
    main()
