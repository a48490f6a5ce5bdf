"""Runs races: every contestant of a task on the same instances, one JSON line for every instance and contestant."""

import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from . import contestants, environment, problem, scores
from .networks import from_arrays

INSTANCES = 5


class Results:
    """A file of JSON lines; where a run is resumed, what is in it is not run again."""

    def __init__(self, path, resume=False):
        self.path, self.lock = pathlib.Path(path), threading.Lock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not resume:
            self.path.write_text("")
        self.done = {key(line) for line in read(self.path)} if self.path.exists() else set()

    def add(self, line):
        with self.lock, self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def read(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line.strip()]


def key(line):
    return line["task"], line["variant"], line["contestant"], line["instance"]


def command(line, quick):
    rule = "race" if quick else "race-full"
    return f"make {rule} OUT=row.jsonl ARGS='--task {line['task']} --variant \"{line['variant']}\" --contestant {line['contestant']}'"


def judge(task, instance, folder, name, line):
    """Adds the referee's numbers to a worker's line."""
    place = pathlib.Path(folder) / name
    if line["outcome"] != "done":
        return line if task.success == "none" else line | {"success": False}
    network = place / "network.npz"
    intervals = place / "intervals.npy"
    line |= scores.score(instance, np.load(place / "predictions.npy"),
                         from_arrays(dict(np.load(network))) if network.exists() else None,
                         np.load(intervals) if intervals.exists() else None, task.success)
    if "asked" in instance.facts:
        line.setdefault("queries", instance.facts["asked"])
    return line


class Race:
    def __init__(self, exhume, results, quick=False, instances=INSTANCES, limit=None, only=None, report=print):
        self.exhume, self.results, self.quick = pathlib.Path(exhume).resolve(), results, quick
        self.instances, self.limit, self.only, self.report = instances, limit, only, report
        self.common = {"machine": environment.machine(), "commit": environment.commit(),
                       "date": datetime.date.today().isoformat(), "size": "quick" if quick else "full"}

    def variant(self, task, variant, names, limit):
        """All contestants on the instances of one variant."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="race-"))
        try:
            wanted = {name: [i for i in range(self.instances) if (task.name, variant, name, i) not in self.results.done]
                      for name in names}
            made = {i: task.make(variant, i) for i in sorted(set().union(*wanted.values()))}
            for name, numbers in wanted.items():
                if numbers:
                    self.contestant(task, variant, contestants.get(name), made, numbers, limit, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def contestant(self, task, variant, contestant, made, numbers, limit, folder):
        threads = os.cpu_count() if contestant.all_threads else 1
        folders = {}
        for i in numbers:
            folders[str(folder / contestant.name / str(i))] = i
            problem.save(made[i], folder / contestant.name / str(i))
        lines = self.work(contestant, limit, threads, list(folders))
        for place, number in folders.items():
            line = {"task": task.name, "variant": variant, "contestant": contestant.name, "instance": number,
                    "seed": made[number].facts["seed"], "limit": limit, "threads": threads}
            line |= judge(task, made[number], place, contestant.name, lines[place])
            line |= self.common | {"command": command(line, self.quick)}
            self.results.add(line)
            self.report(short(line))
        shutil.rmtree(folder / contestant.name)

    def work(self, contestant, limit, threads, folders):
        """The worker's lines by folder; a worker that cannot start is a contestant that is skipped."""
        python = environment.python_of(contestant.environment)
        if python is None:
            return {place: {"outcome": "skipped", "reason": f"no environment .venv-{contestant.environment}"} for place in folders}
        done = subprocess.run([str(python), "-m", "race.worker", contestant.name, str(limit), str(threads), *folders],
                              env=environment.variables(self.exhume, threads), cwd=environment.ROOT, capture_output=True, text=True)
        lines = {}
        for text in done.stdout.splitlines():
            if text.startswith('{"folder"'):
                line = json.loads(text)
                lines[line.pop("folder")] = line
        missing = "ModuleNotFoundError" in done.stderr or "PackageNotFoundError" in done.stderr
        last = (done.stderr.strip().splitlines() or ["no output"])[-1][:200]
        absent = {"outcome": "skipped" if missing else "failed", "reason": last}
        return {place: lines.get(place, dict(absent)) for place in folders}


def short(line):
    numbers = " ".join(f"{name} {line[name]:.2g}" for name in ("cpu_seconds", "heldout_error", "weight_error") if name in line)
    return f"{line['task']}, {line['variant']}: {line['contestant']} {line['instance']}: {line['outcome']} {numbers} {line.get('reason', '')[:80]}"


def run(race, tasks, jobs, variants=None):
    """Tasks by `jobs` at a time."""
    work = []
    for task in tasks:
        names, who = task.plan(race.quick)
        names = [name for name in (variants or names) if name in task.variants]
        if race.only:  # asked for by name: also where the quick race leaves it out
            who = [name for name in task.file.CONTESTANTS if name in race.only]
        work += [(task, name, who, race.limit or task.limit(name, race.quick)) for name in names]
    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(race.variant, *part) for part in work]:
            future.result()
    sys.stdout.flush()
