"""The command line: `exhume` and `python -m exhume` run the program that lies in the package."""

import os
import sys
from typing import NoReturn

from ._program import PROGRAM


def main() -> NoReturn:
    if not PROGRAM.exists():
        sys.exit("exhume: this installation has no command line; install the package with pip, or build it with make program.")
    os.execv(PROGRAM, ["exhume", *sys.argv[1:]])


if __name__ == "__main__":
    main()
