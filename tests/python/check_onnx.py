"""The recovered network.onnx gives the same outputs in onnxruntime as the network, on 1,000 rows."""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import onnx_check


def evaluate(weights, x):
    return np.maximum(x @ weights["W"].T + weights["b"], 0) @ weights["A"].T + weights["c"]


def read_safetensors(path):
    import json

    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    return {
        name: np.frombuffer(data[8 + size + e["data_offsets"][0] : 8 + size + e["data_offsets"][1]]).reshape(e["shape"])
        for name, e in header.items()
    }


def main(exhume):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed, shape in enumerate([("7", "9", "2"), ("5", "4", "1")], start=11):
            planted, out = folder / f"planted{seed}", folder / f"out{seed}"
            subprocess.run([exhume, "generate", "--inputs", shape[0], "--hidden", shape[1], "--outputs", shape[2],
                            "--samples", "4000", "--seed", str(seed), "--out", planted, "--quiet"], check=True)
            subprocess.run([exhume, "recover", planted / "x.npy", planted / "y.npy", "--out", out, "--quiet"], check=True)
            x = np.random.default_rng(seed).standard_normal((1000, int(shape[0])))
            np.save(folder / "x.npy", x)
            np.save(folder / "y.npy", evaluate(read_safetensors(out / "network.safetensors"), x))
            status = onnx_check.main([str(out / "network.onnx"), str(folder / "x.npy"), str(folder / "y.npy")])
            if status != 0:
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
