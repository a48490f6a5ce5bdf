"""`exhume generate --network model.onnx` gives the outputs that onnxruntime gives, on models as exporters write them."""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

SIZES = [6, 9, 7, 2]
ROWS = 1000


def gemm(nodes, weights, x, W, b, place):
    """torch.onnx.export of nn.Linear: Gemm with transB."""
    weights |= {f"{place}.weight": W, f"{place}.bias": b}
    nodes.append(helper.make_node("Gemm", [x, f"{place}.weight", f"{place}.bias"], [f"z{place}"], transB=1, alpha=1.0, beta=1.0))


def matmul(nodes, weights, x, W, b, place):
    """Keras, and PyTorch on inputs of more dimensions: MatMul with turned weights, Add."""
    weights |= {f"W{place}": np.ascontiguousarray(W.T), f"b{place}": b}
    nodes.append(helper.make_node("MatMul", [x, f"W{place}"], [f"p{place}"]))
    nodes.append(helper.make_node("Add", [f"p{place}", f"b{place}"], [f"z{place}"]))


def turned(nodes, weights, x, W, b, place):
    """PyTorch's newer exporter without folding: Transpose of the weight, MatMul, Add with the bias first."""
    weights |= {f"w{place}": W, f"b{place}": b}
    nodes.append(helper.make_node("Transpose", [f"w{place}"], [f"t{place}"], perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", [x, f"t{place}"], [f"p{place}"]))
    nodes.append(helper.make_node("Add", [f"b{place}", f"p{place}"], [f"z{place}"]))


def model(layer, kind, path):
    random = np.random.default_rng(1)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    nodes, weights, value = [helper.make_node("Flatten", ["x"], ["flat"], axis=1)], {}, "flat"
    for place, (d, k) in enumerate(zip(SIZES, SIZES[1:])):
        layer(nodes, weights, value, random.standard_normal((k, d)).astype(kind), random.standard_normal(k).astype(kind), place)
        if place + 2 < len(SIZES):
            nodes.append(helper.make_node("Relu", [f"z{place}"], [f"h{place}"]))
            value = f"h{place}"
    graph = helper.make_graph(
        nodes, "main_graph",
        [helper.make_tensor_value_info("x", element, ["batch", SIZES[0]])],
        [helper.make_tensor_value_info(f"z{len(SIZES) - 2}", element, ["batch", SIZES[-1]])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def main(exhume):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for layer in (gemm, matmul, turned):
            for kind, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
                model(layer, kind, folder / "model.onnx")
                subprocess.run([exhume, "generate", "--network", folder / "model.onnx", "--samples", str(ROWS), "--out",
                                folder / "asked", "--quiet"], check=True)
                x, y = np.load(folder / "asked/x.npy"), np.load(folder / "asked/y.npy")
                session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
                (found,) = session.run(None, {"x": x.astype(kind)})
                error = np.abs(found - y).max() / np.abs(y).max()
                print(f"  {layer.__name__}, {np.dtype(kind).name}: {ROWS} rows, relative error {error:.3g}, tolerance {tolerance:.3g}")
                if error > tolerance:
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
