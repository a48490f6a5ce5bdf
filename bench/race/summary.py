"""Rows of tables from JSON lines: medians and shares over the instances, never a best of."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

ROUGH = 1e-3  # found, if not to the last digits


@dataclass
class Row:
    task: str
    variant: str
    contestant: str
    lines: list = field(default_factory=list)

    def median(self, name):
        """Over the instances that have the number; None where fewer than half do."""
        values = [line[name] for line in self.lines if line.get(name) is not None]
        return float(np.median(values)) if 2 * len(values) > len(self.lines) else None

    @property
    def ran(self):
        return any(line["outcome"] != "skipped" for line in self.lines)

    @property
    def solved(self):
        return sum(bool(line.get("success")) for line in self.lines)

    @property
    def rough(self):
        return sum(line.get("heldout_error") is not None and line["heldout_error"] <= ROUGH for line in self.lines)

    @property
    def remark(self):
        """Timeouts, failures and skips, with the first reason."""
        parts = []
        counts = Counter(line["outcome"] for line in self.lines)
        for outcome in ("timeout", "failed", "skipped"):
            if counts[outcome]:
                reason = next(line.get("reason", "") for line in self.lines if line["outcome"] == outcome)
                said = f": {reason}" if reason and outcome != "timeout" else ""
                parts.append(f"{counts[outcome]} {outcome}{said[:110].rstrip()}")
        return "; ".join(parts).replace("|", "/")


def latest(lines):
    """One line an instance and contestant: those of a full race before those of a quick one, later ones before earlier ones."""
    kept = {}
    for line in sorted(lines, key=lambda line: line["size"] == "full"):
        kept[line["task"], line["variant"], line["contestant"], line["instance"]] = line
    # A variant is shown at one limit: that of the full race where it was run.
    full = {(key[0], key[1]) for key, line in kept.items() if line["size"] == "full"}
    return [line for key, line in kept.items() if line["size"] == "full" or (key[0], key[1]) not in full]


def rows_of(lines):
    """{(task, variant): [Row]} in the order of the lines."""
    found = {}
    for line in lines:
        place = found.setdefault((line["task"], line["variant"]), {})
        place.setdefault(line["contestant"], Row(line["task"], line["variant"], line["contestant"])).lines.append(line)
    return {key: list(rows.values()) for key, rows in found.items()}
