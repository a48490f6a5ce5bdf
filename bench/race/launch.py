"""python -I -S launch.py REPORT PROGRAM ARGUMENTS...: runs a program and writes what it took to REPORT as JSON.

Linux counts the memory of the process that starts a program as the program's own until the program has more. This one is small.
"""

import json
import os
import sys
import time


def main():
    report, *command = sys.argv[1:]
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            os.execv(command[0], command)
        finally:
            os._exit(127)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    with open(report, "w") as file:
        json.dump({"seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime, "memory_mb": round(usage.ru_maxrss / 1024, 1)}, file)
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)  # as shells tell of a signal


if __name__ == "__main__":
    main()
