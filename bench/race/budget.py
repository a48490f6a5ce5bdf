"""The time a contestant has: processor seconds, which on one thread are the seconds of an idle machine.

A busy machine thus takes nothing away from anyone. With several threads the processor seconds are divided by them.
"""

import resource
import time

LOOK = 0.1  # processor seconds of a look at how busy the machine is


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

    def wall_left(self):
        """Seconds on the wall for programs that count those: what is left, times the share of the processor that others have now."""
        wall, cpu = time.perf_counter(), time.process_time()
        while time.process_time() - cpu < LOOK:
            pass
        return self.left() * max(1.0, (time.perf_counter() - wall) / LOOK)
