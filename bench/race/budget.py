"""The time a contestant has: processor seconds, which on one thread are the seconds of an idle machine.

A busy machine thus takes nothing away from anyone. With several threads the processor seconds are divided by them.
"""

import resource
import time


def processor_seconds():
    """Of this process and of the programs it ran."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


class Budget:
    def __init__(self, seconds, threads=1):
        self.seconds, self.threads = seconds, threads
        self.start, self.wall = processor_seconds(), time.perf_counter()

    def used(self):
        return (processor_seconds() - self.start) / self.threads

    def left(self):
        return self.seconds - self.used()

    def wall_used(self):
        return time.perf_counter() - self.wall
