"""The command line: `exhume` and `python -m exhume` run the program that lies in the package."""

import os
import pathlib
import sys
from typing import NoReturn

PROGRAM = pathlib.Path(__file__).parent / "bin" / "exhume"


def main() -> NoReturn:
    if not PROGRAM.exists():
        sys.exit("exhume: this installation has no command line; install it with pip, or run make program.")
    os.execv(PROGRAM, ["exhume", *sys.argv[1:]])


if __name__ == "__main__":
    main()
