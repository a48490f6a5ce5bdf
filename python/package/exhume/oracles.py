"""Whatever answers queries, as a function from an n x d array to n x m numbers.

`as_oracle` knows callables, torch modules, .onnx files and models with predict; `http` sends them to a
service.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
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


def as_oracle(f: Any, inputs: int | None = None) -> Oracle:
    """`f` as an oracle: a callable, a torch module, a path of an .onnx file, or an object with predict."""
    if isinstance(f, Oracle):
        return f
    if isinstance(f, (str, os.PathLike)):
        return onnx(f)
    known = getattr(f, "n_features_in_", None)
    if inputs is None:
        inputs = known if known is not None else getattr(f, "inputs", None)
    if inputs is None:
        raise ValueError("inputs is missing: say how many numbers a query has")
    if hasattr(f, "named_parameters") and hasattr(f, "eval"):
        return _torch(f, int(inputs))
    if not callable(f) and hasattr(f, "predict"):
        return Oracle(f.predict, int(inputs), f"{type(f).__name__}.predict")
    if not callable(f):
        raise TypeError(
            f"{type(f).__name__} answers no queries: give a function, a torch module, an .onnx file "
            "or a model with predict"
        )
    return Oracle(f, int(inputs), getattr(f, "__qualname__", type(f).__name__))


def onnx(path: str | os.PathLike[str]) -> Oracle:
    """An .onnx file with one input (n x d) and one output, evaluated by onnxruntime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    kind = np.float64 if given.type == "tensor(double)" else np.float32
    width = given.shape[-1]
    if len(given.shape) != 2 or not isinstance(width, int):
        raise _core.DataError(
            f"{os.fspath(path)}: its input has shape {given.shape}, expected rows of known length"
        )
    output = session.get_outputs()[0].name
    return Oracle(lambda x: session.run([output], {given.name: x.astype(kind)})[0], width, os.fspath(path))


def _torch(module: Any, inputs: int) -> Oracle:
    import torch

    module.eval()
    first = next(module.parameters(), None)
    kind = torch.float64 if first is None else first.dtype
    device = "cpu" if first is None else first.device

    def query(x: Any) -> Any:
        with torch.no_grad():
            return module(torch.as_tensor(x, dtype=kind, device=device)).double().cpu().numpy()

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
