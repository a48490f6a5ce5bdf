#!/usr/bin/env python3
"""terminal_capture.py EXHUME [--columns 80,100] [--seconds 120]

Runs `exhume recover` on a noisy problem in a tmux pane of so many columns and looks at the pane five times a second, as a
reader would: how long the line of progress ever stood still, whether it ever wrapped, and whether anything of it is left when
the summary stands there. Ends with 1 where it stood for more than 1.5 s, wrapped, or left something. Needs tmux
(scripts/setup.sh test). Standard library only.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

LONGEST_STALL = 1.5  # seconds
EVERY = 0.2
ROWS = 50


class Pane:
    """A tmux server of its own with one window of so many columns."""

    def __init__(self, columns, command, folder):
        self.tmux = ["tmux", "-L", f"exhume-{time.time_ns()}", "-f", "/dev/null"]
        self.run("new-session", "-d", "-x", str(columns), "-y", str(ROWS), "-c", str(folder), command)

    def run(self, *arguments):
        return subprocess.run([*self.tmux, *arguments], check=True, capture_output=True, text=True).stdout

    def lines(self):
        return [line.rstrip() for line in self.run("capture-pane", "-p").splitlines()]

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], capture_output=True)


def watch(exhume, folder, columns, seconds):
    """(longest stall, lines of progress that wrapped, characters left over, seconds it ran)."""
    command = f"{shlex.quote(exhume)} recover x.npy y.npy --budget {seconds} --threads 1; touch done; sleep 5"
    done = folder / "done"
    done.unlink(missing_ok=True)
    pane = Pane(columns, command, folder)
    try:
        began = changed = time.monotonic()
        stall, wrapped, before = 0.0, set(), None
        while not done.exists() and time.monotonic() - began < 3 * seconds + 60:
            shown = [line for line in pane.lines() if line]
            if len(shown) > 1 and not re.match(r"(Certified|Estimated|Not certified|Refused)\.", shown[0]):
                wrapped.add(tuple(shown))
            now = time.monotonic()
            stall = max(stall, now - changed)
            if shown != before:
                changed, before = now, shown
            time.sleep(EVERY)
        ran = time.monotonic() - began
        time.sleep(2 * EVERY)
        text = "\n".join(pane.lines())
    finally:
        pane.close()
    left = re.findall(r"[█▉▊▋▌▍▎▏░]", text)
    begins = re.match(r"(Certified|Estimated|Not certified|Refused)\. ", text) is not None
    return stall, len(wrapped), len(left) + (0 if begins else 1), ran


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("exhume")
    parser.add_argument("--columns", default="80,100")
    parser.add_argument("--seconds", type=int, default=120)
    given = parser.parse_args()
    exhume = str(pathlib.Path(given.exhume).resolve())
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = ["-d", "16", "-k", "120", "-m", "1", "-n", "120000", "--noise-relative", "0.2", "--seed", "4", "-o", name, "-q"]
        subprocess.run([exhume, "generate", *made], check=True)
        for columns in map(int, given.columns.split(",")):
            stall, wrapped, left, ran = watch(exhume, folder, columns, given.seconds)
            print(f"{columns} columns: {ran:.0f} s, longest stall {stall:.2f} s, {wrapped} wrapped, {left} characters left over")
            good = good and stall <= LONGEST_STALL and wrapped == 0 and left == 0
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
