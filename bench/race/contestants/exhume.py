"""Exhume's command line. The whole program counts: start, reading, recovery, checks, files written.

EXHUME names the program. The task says which command and which options.
"""

import json
import os
import re
import signal
import subprocess
import sys

from .. import launch
from ..answer import Answer, Ended, Failure
from ..networks import from_arrays, read_safetensors, write_safetensors
from .intervals import normal_intervals

PACKAGES = []
DESCENT = ["--method", "pgd", "--hidden", "202", "--tolerance", "1e-10"]  # of memorize, on the paper's example


def program():
    return os.environ.get("EXHUME", "build/release/apps/exhume")


def own_version():
    text = subprocess.run([program(), "--version"], capture_output=True, text=True).stdout
    return {"exhume": re.sub(r"^exhume ", "", text.strip())}


def arguments(problem, budget, questions, descent):
    """The command line of a problem."""
    facts, folder = problem.facts, problem.folder
    command = facts.get("command", "recover")
    options = ["--seed", problem.seed, "--threads", budget.threads, *facts.get("options", [])]
    if problem.oracle is not None and questions == "chosen":
        write_safetensors(folder / "oracle.safetensors", problem.oracle.network.arrays())
        return ["extract", "--network", folder / "oracle.safetensors", *options]
    if command == "recover":
        options += ["--budget", max(1, round(budget.wall_left()))]
    if command == "halfspaces" or (command == "recover" and facts.get("tell_width", True)):
        options += ["--hidden", facts["hidden"]]
    if descent:
        options += DESCENT
    return [command, folder / "x.npy", folder / "y.npy", *options]


def call(command, place):
    """(the program's JSON, what it took)."""
    took = place.with_suffix(".took")
    done = subprocess.run([sys.executable, "-I", "-S", launch.__file__, str(took), program(), *map(str, command), "--json", "--out",
                           str(place)], capture_output=True, text=True)
    if done.returncode == 128 + signal.SIGXCPU:
        raise Ended("ended at the limit")
    if done.returncode not in (0, 3):
        raise Failure(done.stderr.strip()[:300] or f"exit code {done.returncode}")
    return json.loads(done.stdout), json.loads(took.read_text())


def labels_of(units, kind, x):
    above = (x @ units["W"].T > units["t"]).any(axis=1)
    return (above if kind == "union" else ~above).astype(float)


def quadratic(tensors, x):
    """Networks of memorize in two layers: A (W x)^2."""
    return (x @ tensors["W"].T) ** 2 @ tensors["A"].T


def run(problem, budget, questions="chosen", descent=False):
    facts, place = problem.facts, problem.folder / "exhume_out"
    command = arguments(problem, budget, questions, descent)
    report, took = call(command, place)
    found = took | {"status": report["status"], "reason": report.get("reason", "")[:200]}
    written = place / ("units.safetensors" if command[0] == "halfspaces" else "network.safetensors")
    if not written.exists():
        raise Failure(f"{report['status']}: {report.get('reason', '')}")
    tensors = read_safetensors(written)
    if command[0] == "halfspaces":
        return Answer(predict=lambda x: labels_of(tensors, facts["kind"], x), facts=found)
    if command[0] == "memorize":
        return Answer(predict=lambda x: quadratic(tensors, x), facts=found)
    network = from_arrays(tensors)
    intervals = normal_intervals(network, problem.x, problem.y) if facts.get("intervals") else None
    return Answer(network, queries=report.get("queries"), intervals=intervals, facts=found)
