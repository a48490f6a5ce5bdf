"""Whatever answers queries, as a function from an n x d array to n x m numbers.

`as_oracle` knows callables, torch modules, model files and models with predict; `http` sends them to a
service.
"""

from __future__ import annotations

import json
import math
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

import numpy as np

from . import _core

__all__ = ["Oracle", "as_oracle", "http", "onnx"]


class Oracle(NamedTuple):
    """A function that answers queries."""

    query: Callable[[Any], Any]
    """From an n x d array to n x m numbers."""
    inputs: int
    """Number of inputs d."""
    name: str
    """What it is called in certificates and messages."""


def as_oracle(f: Any, inputs: int | Sequence[int] | None = None) -> Oracle:
    """`f` as an oracle: a callable, a torch module, a path of a model file, or an object with predict.

    `inputs` is the number of inputs, or the shape of one: then `f` gets arrays of that shape.
    """
    if isinstance(f, Oracle):
        return f
    if isinstance(f, (str, os.PathLike)):
        return _file(f)
    shape = None if inputs is None or isinstance(inputs, int) else tuple(int(n) for n in inputs)
    count = inputs if isinstance(inputs, int) else None if shape is None else int(np.prod(shape))
    torch_module = hasattr(f, "named_parameters") and hasattr(f, "eval")
    if count is None:
        count = getattr(f, "n_features_in_", None)
    if count is None and not torch_module:
        count = getattr(f, "inputs", None)
    if count is None and torch_module:
        count, shape = _torch_inputs(f)
    if count is None:
        raise ValueError("inputs is missing: say how many numbers per query, or their shape")
    if torch_module:
        return _torch(f, int(count), shape)
    if not callable(f) and hasattr(f, "predict_proba"):
        return Oracle(f.predict_proba, int(count), f"{type(f).__name__}.predict_proba")
    if not callable(f) and hasattr(f, "predict"):
        return Oracle(f.predict, int(count), f"{type(f).__name__}.predict")
    if not callable(f):
        raise TypeError(
            f"{type(f).__name__} answers no queries: give a function, a torch module, a model file "
            "or a model with predict"
        )
    name = getattr(f, "__qualname__", type(f).__name__)
    if shape is None:
        return Oracle(f, int(count), name)
    return Oracle(lambda x: f(x.reshape(len(x), *shape)), int(count), name)


def _file(path: str | os.PathLike[str]) -> Oracle:
    if os.fspath(path).endswith(".onnx"):
        return onnx(path)
    from ._network import Network

    network = Network.load(path)
    return Oracle(network, network.inputs, os.fspath(path))


def onnx(path: str | os.PathLike[str]) -> Oracle:
    """An .onnx file with one input and one output, evaluated by onnxruntime.

    The input may have any shape whose first extent counts the rows: n x d, n x 1 x 8 x 8. Where that extent is
    fixed, rows are asked so many at a time.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
    if len(session.get_inputs()) != 1:
        names = ", ".join(each.name for each in session.get_inputs())
        raise _core.DataError(f"{os.fspath(path)} has several inputs ({names}); give a function that makes them of one")
    (given,) = session.get_inputs()
    kind = {"tensor(double)": np.float64, "tensor(float16)": np.float16}.get(given.type, np.float32)
    shape: list[Any] = list(given.shape) if given.shape else [None]
    rows, row = shape[0], shape[1:]
    if not row or not all(isinstance(extent, int) and extent > 0 for extent in row):
        raise _core.DataError(
            f"{os.fspath(path)}: its input has shape {given.shape}, expected rows of known size"
        )
    outputs = [each for each in session.get_outputs() if each.type.startswith("tensor(") and "int" not in each.type]
    if not outputs:
        raise _core.DataError(f"{os.fspath(path)} has no output of real numbers: labels alone tell nothing")
    # Of labels and scores, as scikit-learn's converters write them, the scores.
    output = outputs[0].name

    def run(x: Any) -> Any:
        answer = session.run([output], {given.name: x.astype(kind).reshape(len(x), *row)})[0]
        return np.asarray(answer).reshape(len(x), -1)

    def query(x: Any) -> Any:
        if not isinstance(rows, int) or rows < 1:
            return run(x)
        parts = []
        for first in range(0, len(x), rows):
            part = x[first : first + rows]
            full = np.concatenate([part, np.repeat(part[-1:], rows - len(part), axis=0)])
            parts.append(run(full)[: len(part)])
        return np.concatenate(parts)

    return Oracle(query, math.prod(row), os.fspath(path))


def _torch_inputs(module: Any) -> tuple[int | None, tuple[int, ...] | None]:
    """The number of inputs of a module, as its first layer that says it."""
    for part in module.modules():
        if list(part.children()):
            continue
        for name in ("in_features", "num_features"):
            count = getattr(part, name, None)
            if isinstance(count, int) and not type(part).__name__.startswith(("BatchNorm2", "BatchNorm3", "Instance")):
                return count, None
        if type(part).__name__ not in ("Flatten", "Identity", "Dropout"):
            return None, None
    return None, None


def _torch(module: Any, inputs: int, shape: tuple[int, ...] | None = None) -> Oracle:
    import torch

    first = next(module.parameters(), None)
    kind = torch.float64 if first is None else first.dtype
    device = "cpu" if first is None else first.device

    def query(x: Any) -> Any:
        # As it answers after training: dropout off, batches normalised by the running means.
        training = module.training
        module.eval()
        try:
            with torch.no_grad():
                rows = torch.as_tensor(x, dtype=kind, device=device)
                y = module(rows if shape is None else rows.reshape(len(rows), *shape))
        finally:
            module.train(training)
        y = y.cpu()
        return (y if y.is_complex() else y.double()).numpy().reshape(len(x), -1)

    return Oracle(query, inputs, type(module).__name__)


def http(
    url: str,
    inputs: int,
    *,
    encode: Callable[[Any], bytes] | None = None,
    decode: Callable[[bytes], Any] | None = None,
    headers: dict[str, str] | None = None,
    batch: int = 256,
    rate: float | None = None,
    retries: int = 4,
    timeout: float = 30.0,
) -> Oracle:
    """A service that answers POST requests.

    Parameters
    ----------
    encode : callable
        From an n x d array to the body of a request [JSON: {"inputs": [[...], ...]}].
    decode : callable
        From the body of a response to n x m numbers [JSON: {"outputs": [[...], ...]}].
    batch : int
        Most rows per request.
    rate : float
        Most requests per second.
    retries : int
        Tries after a failure (no connection, time-out, status 429 or 5xx), each after twice the wait.
    timeout : float
        Seconds to wait for a response.
    """
    encode = encode or (lambda x: json.dumps({"inputs": x.tolist()}).encode())
    decode = decode or (lambda body: json.loads(body)["outputs"])
    every = 0.0 if rate is None else 1.0 / rate
    last = -every

    def send(rows: Any) -> Any:
        nonlocal last
        wait, failure = 0.2, ""
        for attempt in range(retries + 1):
            time.sleep(max(0.0, last + every - time.monotonic()))
            last = time.monotonic()
            request = urllib.request.Request(
                url, data=encode(rows), headers={"Content-Type": "application/json", **(headers or {})}
            )
            try:
                with urllib.request.urlopen(request, timeout=timeout) as response:
                    body = response.read()
            except urllib.error.HTTPError as error:
                if error.code != 429 and error.code < 500:
                    raise _core.DataError(
                        f"{url} answered with status {error.code} ({error.reason})"
                    ) from None
                failure = f"status {error.code}"
            except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
                failure = str(getattr(error, "reason", error)) or type(error).__name__
            else:
                try:
                    answers = np.asarray(decode(body), dtype=np.float64)
                except (ValueError, KeyError, TypeError) as error:
                    raise _core.DataError(f"{url} gave an answer that cannot be read: {error}") from None
                if len(answers) != len(rows):
                    raise _core.DataError(f"{url} gave {len(answers)} answers to {len(rows)} queries")
                return answers.reshape(len(rows), -1)
            if attempt < retries:
                time.sleep(wait)
                wait *= 2
        raise _core.DataError(f"{url} failed {retries + 1} times in a row: {failure}")

    def query(x: Any) -> Any:
        return np.concatenate([send(x[i : i + batch]) for i in range(0, len(x), batch)])

    return Oracle(query, int(inputs), url)
