#!/usr/bin/env python3
"""Extractions that are killed and go on: run_extract_kills.py PATH/TO/exhume [--kills N] [--seed S] [unittest arguments].

A program that is asked keeps a record of all it was asked. An extraction is killed (SIGKILL) at random moments and goes on
from its log. In the end it is the network of an extraction that was left alone, no query was asked twice but those that
were on their way at a kill and eight per start, by which the oracle of the log is known, and the limit was not passed.
Standard library only.
"""

import argparse
import hashlib
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EXHUME = None
KILLS = 4
SEED = 1

# Answers like a network and writes one line a batch into its record: digests of its rows.
ORACLE = '''
import array, hashlib, json, random, sys, time
record, inputs, wait = open(sys.argv[1], "a"), int(sys.argv[2]), float(sys.argv[4])
draw = random.Random(7)
layers, below = [], inputs
for hidden in map(int, sys.argv[3].split(",")):
    layers.append([[draw.gauss(0, 1) for _ in range(below + 1)] for _ in range(hidden)])
    below = hidden
outer = [draw.gauss(0, 1) for _ in range(below)]
def answer(h):
    for units in layers:
        h = [max(0.0, w[-1] + sum(p * q for p, q in zip(w, h))) for w in units]
    return sum(a * q for a, q in zip(outer, h))
while line := sys.stdin.buffer.readline():
    n = json.loads(line)["rows"]
    x = array.array("d", sys.stdin.buffer.read(8 * n * inputs))
    rows = [x[i * inputs:(i + 1) * inputs] for i in range(n)]
    record.write(" ".join(hashlib.sha256(row.tobytes()).hexdigest()[:24] for row in rows) + "\\n")
    record.flush()
    time.sleep(wait)
    y = array.array("d", map(answer, rows))
    sys.stdout.buffer.write(json.dumps({"rows": n, "outputs": 1}).encode() + b"\\n" + y.tobytes())
    sys.stdout.buffer.flush()
'''


class ExtractKills(unittest.TestCase):
    INPUTS, HIDDEN, WAIT, BATCH = 14, "5", 0.01, 32

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "oracle.py").write_text(ORACLE)

    def command(self, record, out, *more):
        oracle = f"{sys.executable} oracle.py {record} {self.INPUTS} {self.HIDDEN} {self.WAIT}"
        return [EXHUME, "extract", "--command", oracle, "--inputs", str(self.INPUTS), "--batch", str(self.BATCH), "--out", out,
                "--force", "--json", *more]

    def batches(self, record):
        path = self.folder / record
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def left_alone(self):
        start = time.monotonic()
        run = subprocess.run(self.command("alone", "whole"), cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)["queries"], time.monotonic() - start

    def killed(self, limit, seconds, draw):
        """Runs with kills, then one to the end: its result, and the queries that were on their way at a kill."""
        on_their_way = []
        more = ["--log", "run.log", "--resume", "--queries", str(limit)]
        for _ in range(KILLS):
            process = subprocess.Popen(self.command("record", "killed", *more), cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0.05, seconds / KILLS * 1.8))
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(0.2)  # until the program has seen that nobody reads any more
            on_their_way.append(len((self.batches("record") or [[]])[-1]))
        run = subprocess.run(self.command("record", "killed", *more), cwd=self.folder, capture_output=True, text=True)
        return run, on_their_way

    def test_same_network_and_nothing_asked_twice(self):
        queries, seconds = self.left_alone()
        limit = 3 * queries
        run, on_their_way = self.killed(limit, seconds, random.Random(SEED))
        self.assertEqual(run.returncode, 0, run.stderr)
        for name in ("network.safetensors", "network.onnx"):
            whole, killed = ((self.folder / where / name).read_bytes() for where in ("whole", "killed"))
            self.assertEqual(hashlib.sha256(whole).hexdigest(), hashlib.sha256(killed).hexdigest(), name)
        asked = self.batches("record")
        self.assertLessEqual(sum(map(len, asked)), limit)
        self.assertEqual(json.loads(run.stdout)["queries"], sum(map(len, asked)))
        # Left alone it asks some points more than once, to see whether it gets the same answer.
        twice = lambda batches: sum(map(len, batches)) - len({query for batch in batches for query in batch})
        alone = self.batches("alone")
        self.assertEqual({q for batch in asked for q in batch}, {q for batch in alone for q in batch})
        self.assertLessEqual(twice(asked) - twice(alone), sum(on_their_way) + 8 * KILLS)
        self.assertLessEqual(sum(on_their_way), KILLS * self.BATCH)

    def test_the_limit_holds_over_all_runs(self):
        queries, seconds = self.left_alone()
        limit = queries - 40
        run, _ = self.killed(limit, seconds, random.Random(SEED + 1))
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertLessEqual(sum(map(len, self.batches("record"))), limit)
        self.assertIn("limit", json.loads(run.stdout)["reason"])


class DeepExtractKills(ExtractKills):
    INPUTS, HIDDEN, WAIT, BATCH = 6, "6,4", 0.003, 32


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("exhume", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=SEED)
    options, rest = parser.parse_known_args()
    EXHUME, KILLS, SEED = str(options.exhume.resolve()), options.kills, options.seed
    print(f"seed {SEED}")
    unittest.main(argv=[sys.argv[0], *rest])
