"""compare_exports.py [--models 20] [--seed 1]: are ONNX exports of PyTorch modules told to be the modules?

Modules of one to three hidden layers with batch normalisation (of running means that training left), leaky ReLUs, dropout and
flattening, each exported by PyTorch and compared with the module itself: the module is a black box in single precision, the
export a file. Then one weight of the export is changed by one percent, which must be seen. Prints a line per module.
Needs torch, onnx and the Python package.
"""

import argparse
import pathlib
import tempfile
import time
import warnings

import numpy as np
import onnx
import onnx.numpy_helper
import torch

import exhume


def module(rng):
    """A module and the shape of one input."""
    from torch import nn

    picture = rng.random() < 0.4
    shape = (1, int(rng.integers(3, 9)), int(rng.integers(3, 9))) if picture else (int(rng.integers(4, 41)),)
    width, parts = int(np.prod(shape)), [nn.Flatten()] if picture else []
    for _ in range(int(rng.integers(1, 4))):
        units = int(rng.integers(8, 65))
        parts.append(nn.Linear(width, units))
        if rng.random() < 0.6:
            parts.append(nn.BatchNorm1d(units))
        parts.append(nn.LeakyReLU(float(rng.choice([0.01, 0.1]))) if rng.random() < 0.4 else nn.ReLU())
        if rng.random() < 0.5:
            parts.append(nn.Dropout(0.3))
        width = units
    parts.append(nn.Linear(width, int(rng.integers(1, 6))))
    net = nn.Sequential(*parts)
    net.train()
    with torch.no_grad():
        for _ in range(20):  # running means and variances
            net(torch.tensor(rng.standard_normal((64, *shape)), dtype=torch.float32))
    return net.eval(), shape


def export(net, shape, path, fixed):
    example = torch.zeros((1, *shape))
    more = {} if fixed else {"dynamic_axes": {"x": {0: "n"}, "y": {0: "n"}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, (example,), path, input_names=["x"], output_names=["y"], dynamo=False, **more)


def changed(path, to, rng):
    model = onnx.load(path)
    weights = [each for each in model.graph.initializer if len(each.dims) == 2]
    one = weights[int(rng.integers(len(weights)))]
    values = onnx.numpy_helper.to_array(one).copy()
    at = np.unravel_index(np.abs(values).argmax(), values.shape)
    values[at] *= 1.01
    one.CopyFrom(onnx.numpy_helper.from_array(values, one.name))
    onnx.save(model, to)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    same = seen = 0
    slowest = 0.0
    for number in range(arguments.models):
        rng = np.random.default_rng([arguments.seed, number])
        torch.manual_seed(1000 * arguments.seed + number)
        net, shape = module(rng)

        def answer(x, net=net, shape=shape):
            with torch.no_grad():
                return net(torch.tensor(x, dtype=torch.float32).reshape(-1, *shape)).numpy()

        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            export(net, shape, str(folder / "m.onnx"), fixed=number % 2 == 0)
            start = time.time()
            found = exhume.compare(str(folder / "m.onnx"), answer, low=-2, high=2, inputs=int(np.prod(shape)))
            seconds = time.time() - start
            changed(folder / "m.onnx", folder / "other.onnx", rng)
            other = exhume.compare(str(folder / "other.onnx"), answer, low=-2, high=2, inputs=int(np.prod(shape)))
        kinds = " ".join(type(part).__name__ for part in net if type(part).__name__ != "Linear")
        print(f"{number:3d} {shape} {kinds}: {found.verdict}, {seconds:.2f} s; one weight changed by 1%: {other.verdict}", flush=True)
        same += found.verdict in ("same_network", "rounding")
        seen += other.verdict == "different"
        slowest = max(slowest, seconds)
    print(f"{same} of {arguments.models} the same network or only rounding, {slowest:.2f} s at most; "
          f"{seen} of {arguments.models} changed ones told to be different")


if __name__ == "__main__":
    main()
