"""python -m exhume.serve MODEL: makes a model file an oracle for `exhume extract --command`.

    exhume extract --command "python -m exhume.serve model.onnx" --out result

MODEL is an .onnx file, or a network (.safetensors, .npz, .nnet). At first it writes one JSON line
{"inputs": d}. For every batch one JSON line {"rows": n, "inputs": d} and n x d little-endian doubles come in;
{"rows": n, "outputs": m} and n x m doubles go out.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from .oracles import Oracle, as_oracle


def serve(oracle: Oracle) -> None:
    """Answers until the input ends."""
    queries, answers = sys.stdin.buffer, sys.stdout.buffer
    answers.write(json.dumps({"inputs": oracle.inputs}).encode() + b"\n")
    answers.flush()
    while line := queries.readline():
        sizes = json.loads(line)
        rows, inputs = int(sizes["rows"]), int(sizes["inputs"])
        if inputs != oracle.inputs:
            raise SystemExit(f"{oracle.name} has {oracle.inputs} inputs, but the query has {inputs}")
        x = np.frombuffer(queries.read(8 * rows * inputs), dtype="<f8").reshape(rows, inputs)
        y = np.asarray(oracle.query(x), dtype="<f8").reshape(rows, -1)
        answers.write(json.dumps({"rows": rows, "outputs": y.shape[1]}).encode() + b"\n" + y.tobytes())
        answers.flush()


def main() -> None:
    if sys.argv[1:] in (["--help"], ["-h"]):
        print((__doc__ or "").rstrip())
        return
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print("exhume.serve: give one model file; --help says more", file=sys.stderr)
        raise SystemExit(2)
    try:
        oracle = as_oracle(sys.argv[1])
    except Exception as error:  # of whatever reads the file: one line, no traceback
        print(f"exhume.serve: {' '.join(str(error).split())}", file=sys.stderr)
        raise SystemExit(4) from None
    serve(oracle)


if __name__ == "__main__":
    main()
