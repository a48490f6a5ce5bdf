"""`exhume extract` beside adversarial-robustness-toolbox on the same networks, one after the other.

    python -m venv art && art/bin/pip install -r bench/race/requirements/race-art.txt
    art/bin/python bench/extract_beside_art.py build/release/apps/exhume [INPUTS-HIDDEN-OUTPUTS ...]

Random networks with one hidden layer, in double precision. FunctionallyEquivalentExtraction (Jagielski et al., 2019) is
told the number of hidden units, Exhume is not. Where it gives up, or has not ended after `SECONDS`, it is started again
from another seed, at most `STARTS` times; the questions and the time of all its starts count, as they would have to be
asked. Exhume has one run. The error is the largest difference of any weight once rows have unit norm. Prints one row of a
table for every network.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import art.config
import numpy as np

art.config.ART_NUMPY_DTYPE = np.float64  # before the estimators read it

from art.attacks.extraction import FunctionallyEquivalentExtraction  # noqa: E402
from art.estimators.classification.blackbox import BlackBoxClassifierNeuralNetwork  # noqa: E402
from planted_network import answers, planted  # noqa: E402
from scipy.optimize import linear_sum_assignment  # noqa: E402

NETWORKS = ["10-5-3", "20-10-3", "40-20-5", "784-16-10"]
SEEDS = [0, 1, 2]
STARTS, SECONDS = 10, 60
LAST_LAYER_ROWS = 500
# Its own steps, and shorter ones: with many kinks about, long steps meet a second one.
STEPS = [{}, {"delta_init_value": 1e-3, "d_step": 1e-3, "delta_sign": 1e-3}]


class OutOfTime(Exception):
    pass


def worst_error(found, truth):
    """Infinite where widths differ."""
    if found is None or found[0].shape != truth[0].shape:
        return np.inf
    rows = []
    for W, b, A, c in (found, truth):
        norms = np.linalg.norm(W, axis=1)
        rows.append(np.column_stack([W / norms[:, None], b / norms, (A * norms).T]))
    mine, theirs = rows
    order = linear_sum_assignment(((theirs[:, None, :] - mine[None, :, :]) ** 2).sum(axis=2))[1]
    return max(np.abs(mine[order] - theirs).max(), np.abs(found[3] - truth[3]).max())


def by_art(network, seed):
    """Questions, seconds, starts and error."""
    outputs, hidden = network[2].shape
    inputs, asked, until = network[0].shape[1], 0, 0.0
    check = np.random.default_rng(seed + 1).standard_normal((100, inputs))

    def ask(x):
        nonlocal asked
        if time.monotonic() > until:
            raise OutOfTime
        asked += len(x)
        return answers(network, x)

    begin, error = time.monotonic(), np.inf
    for start in range(STARTS):
        np.random.seed(1000 * seed + start)
        until = time.monotonic() + SECONDS
        target = BlackBoxClassifierNeuralNetwork(ask, (inputs,), outputs, preprocessing=None)
        attack = FunctionallyEquivalentExtraction(target, num_neurons=hidden)
        try:
            attack.extract(np.random.standard_normal((LAST_LAYER_ROWS, inputs)), **STEPS[start % 2])
        except (OutOfTime, AssertionError):
            continue
        found = attack.w_0.T, attack.b_0.ravel(), attack.w_1.T, attack.b_1.ravel()
        error = min(error, worst_error(found, network))
        if np.abs(answers(found, check) - answers(network, check)).max() < 1e-6:
            break
    return asked, time.monotonic() - begin, start + 1, error


def tensors(path):
    """Of a .safetensors file, by name."""
    data = pathlib.Path(path).read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    return {
        name: np.frombuffer(data[begin + at["data_offsets"][0] : begin + at["data_offsets"][1]]).reshape(at["shape"])
        for name, at in json.loads(data[8:begin]).items()
        if name != "__metadata__"
    }


def by_exhume(exhume, network, seed):
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/secret.npz", **dict(zip("WbAc", network)))
        begin = time.monotonic()
        subprocess.run(
            [exhume, "extract", "--network", f"{folder}/secret.npz", "--seed", str(seed), "--out", f"{folder}/found", "--quiet"],
            stdout=subprocess.DEVNULL,
        )
        seconds = time.monotonic() - begin
        certificate = json.loads(pathlib.Path(f"{folder}/found/certificate.json").read_text())
        path = pathlib.Path(f"{folder}/found/network.safetensors")
        found = [tensors(path)[name] for name in "WbAc"] if path.exists() else None
        return certificate["queries"], seconds, worst_error(found, network)


def main(exhume, *networks):
    print("| network | seed | Exhume: questions | seconds | error | ART: questions | seconds | starts | error |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for words in networks or NETWORKS:
        inputs, hidden, outputs = map(int, words.split("-"))
        for seed in SEEDS:
            network = planted(inputs, hidden, outputs, seed)
            queries, seconds, error = by_exhume(exhume, network, seed)
            asked, its_seconds, starts, its_error = by_art(network, seed)
            its = f"{its_error:.1e}" if np.isfinite(its_error) else "none found"
            print(
                f"| {words} | {seed} | {queries:,} | {seconds:.2f} | {error:.1e} | {asked:,} | {its_seconds:.1f} | {starts} | {its} |",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
