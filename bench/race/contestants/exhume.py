"""Exhume's command line. The whole program counts: start, reading, recovery, checks, files written.

EXHUME names the program. The task says which command and which options.
"""

import json
import os
import re
import subprocess

from ..answer import Answer, Failure
from ..networks import from_arrays, read_safetensors, write_safetensors
from .intervals import normal_intervals

PACKAGES = []


def program():
    return os.environ.get("EXHUME", "build/release/apps/exhume")


def own_version():
    text = subprocess.run([program(), "--version"], capture_output=True, text=True).stdout
    return {"exhume": re.sub(r"^exhume ", "", text.strip())}


def call(command, place, budget):
    done = subprocess.run([program(), *map(str, command), "--json", "--out", str(place), "--threads", str(budget.threads)],
                          capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise Failure(done.stderr.strip()[:300] or f"exit code {done.returncode}")
    return json.loads(done.stdout)


def labels_of(units, kind, x):
    above = x @ units["W"].T > units["t"]
    return above.any(axis=1) if kind == "union" else ~above.any(axis=1)


def quadratic(tensors, x):
    """Networks of memorize: A (W x)^2, in three layers on (R x)^p."""
    z = (x @ tensors["R"].T) ** int(tensors["p"]) if "R" in tensors else x
    return (z @ tensors["W"].T) ** 2 @ tensors["A"].T


def run(problem, budget, questions="chosen"):
    facts, folder, place = problem.facts, problem.folder, problem.folder / "exhume_out"
    samples = [folder / "x.npy", folder / "y.npy"]
    command = facts.get("command", "recover")
    options = list(facts.get("options", []))
    queries = None
    if problem.oracle is not None and questions == "chosen":
        write_safetensors(folder / "oracle.safetensors", problem.oracle.network.arrays())
        report = call(["extract", "--network", folder / "oracle.safetensors", "--seed", problem.seed], place, budget)
        queries = report["queries"]
    elif command == "recover":
        if "hidden" in facts and facts.get("tell_width", True):
            options += ["--hidden", facts["hidden"]]
        report = call(["recover", *samples, "--budget", max(1, round(budget.left())), "--seed", problem.seed, *options],
                      place, budget)
    elif command == "halfspaces":
        report = call(["halfspaces", *samples, "--hidden", facts["hidden"], "--seed", problem.seed], place, budget)
    else:
        report = call([command, *samples, "--seed", problem.seed, *options], place, budget)
    found = {"status": report["status"], "reason": report.get("reason", "")[:200]}
    if command == "halfspaces":
        if not (place / "units.safetensors").exists():
            raise Failure(f"{report['status']}: {report.get('reason', '')}")
        units = read_safetensors(place / "units.safetensors")
        return Answer(predict=lambda x: labels_of(units, facts["kind"], x).astype(float), facts=found)
    if not (place / "network.safetensors").exists():
        raise Failure(f"{report['status']}: {report.get('reason', '')}")
    tensors = read_safetensors(place / "network.safetensors")
    if command == "memorize":
        return Answer(predict=lambda x: quadratic(tensors, x), facts=found)
    network = from_arrays(tensors)
    intervals = None
    if facts.get("intervals") and report.get("noise_sd"):
        intervals = normal_intervals(network, problem.x, report["noise_sd"])
    return Answer(network, queries=queries, intervals=intervals, facts=found)
