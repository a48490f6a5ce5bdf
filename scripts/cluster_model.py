#!/usr/bin/env python3
"""cluster_model.py [--rows N] [--delay SECONDS ...]: what a recovery sends, and what that would cost on a cluster.

Leads a job in this process with workers in it, as exhume.dask does on a cluster, and counts: passes over the rows, bytes of
the sums that come back, bytes that go out again, rows that are fetched. Then every pass is delayed, as a network would delay
it, to see whether the time grows by passes x delay: the latency term of the model in docs/distributed.md.
"""

import argparse
import time

import numpy as np

import exhume
from exhume import _distributed
from exhume._recovery import options_of


class Cluster:
    """Partitions of rows, each served by the worker of this process, with a delay a pass."""

    def __init__(self, x, y, parts, delay):
        self.x, self.y, self.delay = x, y, delay
        self.starts = [len(x) * i // parts for i in range(parts)]
        self.known = []
        self.passes = self.came = self.fetched = self.fetches = 0

    def shares(self, job):
        def shares(number):
            time.sleep(self.delay)
            self.passes += 1
            ends = [*self.starts[1:], len(self.x)]
            sums = [
                _distributed.share(job, number, self.known.__getitem__, a, self.x[a:b], self.y[a:b])
                for a, b in zip(self.starts, ends)
            ]
            self.came += sum(map(len, sums))
            return sums

        return shares

    def fetch(self, runs):
        time.sleep(self.delay)
        rows = np.concatenate([np.arange(first, first + count) for first, count in runs])
        self.fetches += 1
        self.fetched += len(rows)
        return self.x[rows], self.y[rows]

    def publish(self, number, entry):
        self.known.append(entry)

    def recover(self):
        options = options_of("auto", 1, None, "auto", None, "relu", 0.0, 0, 600.0)
        job = _distributed.job_of(len(self.x), self.x.shape[1], self.y.shape[1], 0, options)
        began = time.perf_counter()
        result = _distributed.lead(job, self.shares(job), self.fetch, self.publish, None)
        seconds = time.perf_counter() - began
        _distributed.forget(job)
        assert result.status == "certified", result.reason
        return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--delay", type=float, nargs="*", default=[0.0, 0.02, 0.05])
    options = parser.parse_args()
    print("| d = k | m | passes | sums in, MB | out, MB | rows fetched | delay, ms | time, s | time less passes x delay, s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for d, m in ((4, 1), (20, 3)):
        planted = exhume.generate(inputs=d, hidden=d, outputs=m, samples=options.rows, seed=1)
        for delay in options.delay:
            cluster = Cluster(planted.x, planted.y, options.parts, delay)
            seconds = cluster.recover()
            rest = seconds - delay * (cluster.passes + cluster.fetches)
            out = sum(map(len, cluster.known))
            print(
                f"| {d} | {m} | {cluster.passes} + {cluster.fetches} | {cluster.came / 1e6:.2f} | {out / 1e6:.2f} | "
                f"{cluster.fetched:,} | {1000 * delay:.0f} | {seconds:.2f} | {rest:.2f} |"
            )


if __name__ == "__main__":
    main()
