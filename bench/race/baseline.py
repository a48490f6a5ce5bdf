"""The stored success counts of Exhume: how many instances of every variant succeeded. Counts, never times.

Kept for the quick and for the full race apart, since their limits differ.
"""

import json
import pathlib
from collections import defaultdict

from .running import read

PATH = pathlib.Path(__file__).parent / "baseline.json"


def counts(path):
    """{size: {"task, variant": [successes, instances]}} of Exhume in JSON lines."""
    found = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for line in read(path):
        if line["contestant"] == "exhume" and "success" in line:
            entry = found[line["size"]][f"{line['task']}, {line['variant']}"]
            entry[0] += bool(line["success"])
            entry[1] += 1
    return found


def store(path):
    stored = json.loads(PATH.read_text()) if PATH.exists() else {}
    for size, rows in counts(path).items():
        stored[size] = stored.get(size, {}) | rows
    PATH.write_text(json.dumps(stored, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    return 0


def lost(found, stored):
    """Sentences for variants with fewer successes than stored, of as many instances."""
    problems = []
    for size, rows in found.items():
        for name, (successes, instances) in rows.items():
            before = stored.get(size, {}).get(name)
            if before and before[1] == instances and successes < before[0]:
                problems.append(f"{name} ({size}): {successes} of {instances} successes, {before[0]} before")
    return problems


def check(path):
    found = counts(path)
    problems = lost(found, json.loads(PATH.read_text()))
    print("\n".join(problems) or f"No success lost in {sum(map(len, found.values()))} variants.")
    return 1 if problems else 0
