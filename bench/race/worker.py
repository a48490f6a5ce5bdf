"""Runs one contestant on instances, in the contestant's environment.

python -m race.worker CONTESTANT LIMIT THREADS FOLDER...: packages are imported once, outside the time; every instance then gets
a process of its own, so that its memory is its own and that it can be ended. Prints one JSON line an instance; predictions,
network and intervals are left in FOLDER/CONTESTANT.
"""

import json
import os
import pathlib
import resource
import signal
import sys
import traceback
import warnings

import numpy as np

from . import contestants
from .answer import Failure
from .budget import Budget, processor_seconds
from .problem import load

GRACE = 1.5  # a contestant is asked to stop at the limit and is ended at this multiple of it,
START = 5  # plus these seconds
PATIENCE = 60  # and at this multiple of it on the wall: others may have the processor


def answer_one(contestant, folder, limit, threads):
    """Runs in a process of its own; leaves everything in the folder."""
    problem = load(folder)
    place = pathlib.Path(folder) / contestant.name
    place.mkdir()
    cpu = int(processor_seconds() + (GRACE * limit + START) * threads) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    outcome = {}
    budget = Budget(limit, threads)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = contestant.run(problem, budget)
        outcome = {"outcome": "done", "cpu_seconds": budget.used() * threads, "seconds": budget.wall_used()}
        outcome["memory_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
        predicted = np.asarray(answer.predict(problem.test_x) if answer.predict else answer.network(problem.test_x))
        np.save(place / "predictions.npy", predicted.reshape(len(problem.test_x), -1))
        if answer.network is not None:
            np.savez(place / "network.npz", **answer.network.arrays())
        if answer.intervals is not None:
            np.save(place / "intervals.npy", np.array(answer.intervals))
        if answer.queries is not None:
            outcome["queries"] = int(answer.queries)
        outcome |= answer.facts  # a contestant that runs a program measured it
    except Failure as failure:
        outcome = {"outcome": failure.outcome, "reason": str(failure)}
    except Exception as error:  # a contestant's own exception is its failure
        outcome = {"outcome": "failed", "reason": f"{type(error).__name__}: {str(error)[:200]}"}
        (place / "traceback.txt").write_text(traceback.format_exc())
    outcome.setdefault("cpu_seconds", budget.used() * threads)
    outcome.setdefault("seconds", budget.wall_used())
    (place / "outcome.json").write_text(json.dumps(outcome))


def run_one(contestant, folder, limit, threads):
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            answer_one(contestant, folder, limit, threads)
        finally:
            sys.stdout.flush()
            os._exit(0)

    def end(*_):
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, end)
    signal.alarm(int(PATIENCE * limit + 10 * START))
    _, status, usage = os.wait4(child, 0)
    signal.alarm(0)
    path = pathlib.Path(folder) / contestant.name / "outcome.json"
    if path.exists():
        return json.loads(path.read_text())
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    late = ended in (signal.SIGXCPU, signal.SIGKILL)
    return {"outcome": "timeout" if late else "failed", "reason": "ended at the limit" if late else f"signal {ended}",
            "cpu_seconds": usage.ru_utime + usage.ru_stime, "memory_mb": round(usage.ru_maxrss / 1024, 1)}


def main():
    name, limit, threads, *folders = sys.argv[1:]
    contestant = contestants.get(name)
    contestant.module()  # packages are imported here
    versions = contestant.versions()
    for folder in folders:
        line = run_one(contestant, folder, float(limit), int(threads))
        print(json.dumps({"folder": folder, "versions": versions} | line), flush=True)


if __name__ == "__main__":
    main()
