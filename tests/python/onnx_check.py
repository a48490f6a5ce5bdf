"""Checks an ONNX model against inputs and outputs that are known.

    python onnx_check.py network.onnx x.npy y.npy [relative tolerance, default 1e-12]

Runs onnx's full checker, evaluates the model with onnxruntime on every row of x.npy, and exits with 1 unless
max |f(x) - y| <= tolerance * max |y|. Needs onnx, onnxruntime and numpy.
"""

import sys

import numpy as np
import onnx
import onnxruntime


def main(arguments):
    if len(arguments) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    tolerance = float(arguments[3]) if len(arguments) == 4 else 1e-12
    onnx.checker.check_model(onnx.load(arguments[0]), full_check=True)
    session = onnxruntime.InferenceSession(arguments[0], providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    dtype = {"tensor(double)": np.float64, "tensor(float)": np.float32}[given.type]
    x, y = np.load(arguments[1]), np.load(arguments[2])
    (found,) = session.run(None, {given.name: x.astype(dtype)})
    if found.shape != y.shape:
        print(f"the model gives shape {found.shape}, {y.shape} was expected", file=sys.stderr)
        return 1
    error = np.max(np.abs(found - y)) / max(np.max(np.abs(y)), np.finfo(float).tiny)
    print(f"{len(x)} rows, relative error {error:.3g}, tolerance {tolerance:.3g}")
    return 0 if error <= tolerance else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
