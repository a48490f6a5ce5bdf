"""The tasks by name. One file a task.

A file has TITLE, ABOUT, CONTESTANTS (names), VARIANTS (a dict of names to settings), `make(random, **setting)`, which gives
an Instance, and may have SUCCESS (scores.py; exact to 1e-6 unless it says otherwise), LIMITS (seconds by variant, full race),
QUICK ({"variants": [...], "contestants": [...], "limit": seconds}: what `make race` runs of it) and WHY, which explains rows that
Exhume loses.
"""

import importlib
import zlib

import numpy as np

NAMES = ["one_output", "many_outputs", "more_units", "few_samples", "other_inputs", "noise", "trained_networks",
         "symmetric_inputs", "heavy_tails", "sparse_noise", "orthonormal", "few_points", "polytopes", "memorize", "deep",
         "oracle", "deep_oracle", "real_tables", "smooth_functions", "small_noisy"]
LIMIT = 10  # seconds of a run in a full race
QUICK_LIMIT = 1.5


class Task:
    def __init__(self, name):
        self.name = name
        self.file = importlib.import_module(f".{name}", __package__)
        self.title, self.about = self.file.TITLE, self.file.ABOUT
        self.variants = self.file.VARIANTS
        self.success = getattr(self.file, "SUCCESS", "exact")

    def plan(self, quick):
        """(variants, contestants) of a quick or of a full race."""
        variants, contestants = list(self.variants), list(self.file.CONTESTANTS)
        if not quick:
            return variants, contestants
        short = getattr(self.file, "QUICK", {})
        return short.get("variants", variants[:1]), short.get("contestants", contestants)

    def limit(self, variant, quick):
        """Seconds of a run."""
        if quick:
            return getattr(self.file, "QUICK", {}).get("limit", QUICK_LIMIT)
        return getattr(self.file, "LIMITS", {}).get(variant, LIMIT)

    def make(self, variant, number):
        """Instance `number` of a variant: the same on every machine."""
        seed = zlib.crc32(f"{self.name}/{variant}/{number}".encode())
        instance = self.file.make(np.random.default_rng(seed), **self.variants[variant])
        instance.facts["seed"] = seed % 2**31
        return instance


def all_tasks(names=None):
    for name in names or []:
        if name not in NAMES:
            raise SystemExit(f"no task is called {name}; there are {', '.join(NAMES)}")
    return [Task(name) for name in NAMES if not names or name in names]
