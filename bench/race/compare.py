"""The regression guard: two programs in turn on the same instances.

Every instance is given to both, one right after the other, in alternating order, several times, so that what else the
machine does meets both. An instance's time is the least of its runs, in processor seconds; a variant's ratio new / old is the
geometric mean over the instances that both solved, with a 95% interval by bootstrap over them. The guard fails where the
whole interval of a variant, or that of all variants together, lies above 1.10, and where an instance that the old program
solved is lost.
"""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import numpy as np

from . import problem, scores
from .contestants import exhume as caller
from .budget import Budget
from .answer import Failure
from .tasks import all_tasks

SLOWER = 1.10
DRAWS = 2000
# Tasks whose command the older program may not have are left out where it does not.
TASKS = ["one_output", "many_outputs", "more_units", "few_samples", "other_inputs", "noise", "trained_networks",
         "symmetric_inputs", "heavy_tails", "sparse_noise", "orthonormal", "few_points", "polytopes", "memorize", "oracle",
         "deep_oracle"]


def knows(program, command):
    """Whether a program has a subcommand."""
    return re.search(rf"^\s*{command}\b", subprocess.run([program, "--help"], capture_output=True, text=True).stdout, re.M)


def command_of(task, variant):
    facts = task.make(variant, 0).facts
    return "extract" if facts.get("oracle") else facts.get("command", "recover")


def run_once(program, instance, task, limit):
    """(processor seconds, success) of one run."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="guard-"))
    try:
        problem.save(instance, folder / "data")
        seen = problem.load(folder / "data")
        caller.program = lambda: str(program)
        try:
            answer = caller.run(seen, Budget(limit))
        except Failure:
            return np.inf, False
        seconds = answer.facts["cpu_seconds"]
        predicted = answer.predict(seen.test_x) if answer.predict else answer.network(seen.test_x)
        predicted = np.asarray(predicted).reshape(len(seen.test_x), -1)
        return seconds, scores.score(instance, predicted, None, None, task.success).get("success", True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pair(old, new, task, variant, number, rounds, limit):
    """Both programs on one instance: the least times, and success in every run."""
    instance = task.make(variant, number)
    least, good = {}, {"old": True, "new": True}
    for turn in range(rounds):
        order = (("old", old), ("new", new)) if turn % 2 == 0 else (("new", new), ("old", old))
        for name, program in order:
            seconds, success = run_once(program, instance, task, limit)
            least[name] = min(least.get(name, np.inf), seconds)
            good[name] &= bool(success)
    return {"task": task.name, "variant": variant, "instance": number, "old_seconds": least["old"], "new_seconds": least["new"],
            "old_success": good["old"], "new_success": good["new"]}


def interval(ratios, seed=0):
    """(geometric mean, low, high): 95% by bootstrap over the instances."""
    logs = np.log(ratios)
    drawn = np.random.default_rng(seed).choice(logs, (DRAWS, len(logs))).mean(axis=1)
    return tuple(float(value) for value in np.exp([logs.mean(), *np.percentile(drawn, [2.5, 97.5])]))


def judge(rows):
    """(table lines, sentences about what got worse) of pairs."""
    lines, problems, groups = [], [], {}
    for row in rows:
        groups.setdefault(f"{row['task']}, {row['variant']}", []).append(row)
    everything = []
    for name, group in groups.items():
        both = [row for row in group if row["old_success"] and row["new_success"]]
        ratios = [row["new_seconds"] / row["old_seconds"] for row in both]
        everything += ratios
        old, new = (sum(row[f"{which}_success"] for row in group) for which in ("old", "new"))
        gone = [row["instance"] for row in group if row["old_success"] and not row["new_success"]]
        times = " | | | "
        if both:
            mean, low, high = interval(ratios)
            seconds = [np.median([row[f"{which}_seconds"] for row in both]) for which in ("old", "new")]
            times = f"{seconds[0]:.3f} | {seconds[1]:.3f} | {mean:.2f} | {low:.2f} to {high:.2f}"
            if low > SLOWER:
                problems.append(f"{name}: {mean:.2f} times as slow ({low:.2f} to {high:.2f})")
        lines.append(f"| {name} | {times} | {old} of {len(group)} | {new} of {len(group)} |")
        if gone:
            problems.append(f"{name}: instances {gone} were solved before and are not any more")
    if not everything:
        return lines, problems
    mean, low, high = interval(everything)
    lines.append(f"| all | | | {mean:.2f} | {low:.2f} to {high:.2f} | {sum(r['old_success'] for r in rows)} of {len(rows)} | "
                 f"{sum(r['new_success'] for r in rows)} of {len(rows)} |")
    if low > SLOWER:
        problems.append(f"all together: {mean:.2f} times as slow ({low:.2f} to {high:.2f})")
    return lines, problems


def compare(old, new, rounds=5, instances=5, names=None, out=None):
    old, new = (pathlib.Path(path).resolve() for path in (old, new))
    for path in (old, new):
        if not path.is_file():
            raise SystemExit(f"{path} is no program")
    rows = []
    for task in all_tasks(names or TASKS):
        variants, _ = task.plan(quick=True)
        for variant in variants:
            command = command_of(task, variant)
            if not knows(old, command):
                print(f"left out: {task.name}: the old program has no command {command}", flush=True)
                continue
            for number in range(instances):
                rows.append(pair(old, new, task, variant, number, rounds, task.limit(variant, quick=True)))
    if out is not None:
        out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines, problems = judge(rows)
    print("| task | old seconds | new seconds | new / old | 95% | old solved | new solved |\n"
          "| --- | ---: | ---: | ---: | --- | --- | --- |")
    print("\n".join(lines))
    print("\n" + ("\n".join(problems) or "No slowdown above 10%, no success lost."))
    return 1 if problems else 0
