"""The referee of bench/race: alignment, scores, tables, the guard, and one short race of Exhume against scikit-learn."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main(exhume):
    variables = os.environ | {"EXHUME": exhume, "PYTHONPATH": str(ROOT / "bench")}
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "bench/race/tests"], cwd=ROOT, env=variables).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
