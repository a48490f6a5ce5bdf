"""python -m exhume.serve MODEL: makes a model file an oracle for `exhume extract --command`.

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
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    serve(as_oracle(sys.argv[1]))


if __name__ == "__main__":
    main()
