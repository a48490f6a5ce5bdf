"""compare_sklearn.py EXHUME [--seed S] [--case NAME] [--json]

`exhume recover` beside scikit-learn's MLPRegressor(solver="lbfgs", max_iter=3000) of the same width, on the same
data, in the same run, one after the other. Prints for both the seconds and the relative mean squared error on
fresh data, and for Exhume the worst parameter error after alignment with the planted network.

Exhume's time is that of the whole program: start, reading the files, recovery, writing. scikit-learn's is that
of `fit` alone, with the arrays in memory.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

CASES = {
    "many outputs": dict(inputs=20, hidden=20, outputs=20, samples=3000),
    "one output": dict(inputs=10, hidden=10, outputs=1, samples=20000),
}
BIAS = 0.5
FRESH_ROWS = 10000


def read_safetensors(path):
    """The F64 tensors of a safetensors file, by name."""
    raw = pathlib.Path(path).read_bytes()
    header = int.from_bytes(raw[:8], "little")
    data = raw[8 + header :]
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + header]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], dtype="<f8").reshape(entry["shape"])
    return tensors


def evaluate(network, x):
    y = np.maximum(x @ network["W"].T + network["b"], 0) @ network["A"].T + network["c"]
    return y + x @ network["L"].T if "L" in network else y


def relative_mse(predicted, y):
    return float(np.mean((predicted - y) ** 2) / np.mean((y - y.mean(axis=0)) ** 2))


def run(command, allowed=(0,)):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def measure(exhume, case, seed, folder):
    sizes = ["--inputs", case["inputs"], "--hidden", case["hidden"], "--outputs", case["outputs"]]
    planted, recovered = folder / "planted", folder / "recovered"
    run([exhume, "generate", *sizes, "--samples", case["samples"], "--bias", BIAS, "--seed", seed, "--out", planted])
    x = np.load(planted / "x.npy")
    y = np.load(planted / "y.npy").reshape(len(x), -1)
    truth = read_safetensors(planted / "network.safetensors")
    fresh_x = np.random.default_rng(seed + 1).standard_normal((FRESH_ROWS, case["inputs"]))
    fresh_y = evaluate(truth, fresh_x)

    start = time.perf_counter()
    # 3: finished, not certified. Its error is reported like any other.
    done = run([exhume, "recover", planted / "x.npy", planted / "y.npy", "--hidden", case["hidden"], "--out",
                recovered, "--quiet"], allowed=(0, 3))
    exhume_seconds = time.perf_counter() - start
    network = read_safetensors(recovered / "network.safetensors")
    comparison = json.loads(run([exhume, "compare", planted / "network.safetensors",
                                 recovered / "network.safetensors", "--json"], allowed=(0, 3)).stdout)

    model = MLPRegressor(hidden_layer_sizes=(case["hidden"],), activation="relu", solver="lbfgs", alpha=0.0,
                         max_iter=3000, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model.fit(x, y if y.shape[1] > 1 else y[:, 0])
        sklearn_seconds = time.perf_counter() - start
    return {
        **case,
        "seed": seed,
        "exhume_seconds": exhume_seconds,
        "exhume_exit_code": done.returncode,
        "exhume_relative_mse": relative_mse(evaluate(network, fresh_x), fresh_y),
        "exhume_parameter_error": comparison.get("worst_error"),
        "sklearn_seconds": sklearn_seconds,
        "sklearn_iterations": int(model.n_iter_),
        "sklearn_relative_mse": relative_mse(model.predict(fresh_x).reshape(fresh_y.shape), fresh_y),
        "ratio": sklearn_seconds / exhume_seconds,
    }


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exhume", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"),
                        help="of the planted network, the data and scikit-learn; drawn anew if not given")
    parser.add_argument("--case", choices=CASES, action="append", help="only this one")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.exhume.is_file():
        parser.error(f"{options.exhume} does not exist; `make bench` builds it")
    exhume = options.exhume.resolve()

    results = []
    for name in options.case or CASES:
        with tempfile.TemporaryDirectory() as folder:
            results.append({"case": name, **measure(exhume, CASES[name], options.seed, pathlib.Path(folder))})
    if options.json:
        json.dump({"cpu": cpu_model(), "cores": os.cpu_count(), "scikit_learn": sklearn.__version__,
                   "results": results}, sys.stdout, indent=2)
        print()
        return
    print(f"{cpu_model()}, {os.cpu_count()} cores; scikit-learn {sklearn.__version__}, numpy {np.__version__}")
    for r in results:
        error = r["exhume_parameter_error"]
        print(f"\n{r['case']}: d={r['inputs']} k={r['hidden']} m={r['outputs']} n={r['samples']} seed={r['seed']}")
        print(f"  {'':24}{'seconds':>10}  {'relative MSE, fresh data':>26}  worst parameter error")
        print(f"  {'exhume recover':24}{r['exhume_seconds']:10.3f}  {r['exhume_relative_mse']:26.2e}  "
              f"{'not comparable' if error is None else format(error, '.2e')}"
              f"{'' if r['exhume_exit_code'] == 0 else '  (not certified)'}")
        print(f"  {'scikit-learn lbfgs':24}{r['sklearn_seconds']:10.3f}  {r['sklearn_relative_mse']:26.2e}  "
              f"({r['sklearn_iterations']} iterations)")
        print(f"  scikit-learn took {r['ratio']:.1f} times as long")


if __name__ == "__main__":
    main()
