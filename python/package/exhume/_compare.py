"""Are two networks the same function?"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from . import _core
from ._network import Network
from ._options import seed_of
from ._pages import in_notebook
from ._progress import Progress, progress_callback
from .oracles import Oracle, as_oracle


class Comparison:
    """What `compare` found.

    Attributes
    ----------
    verdict : str
        "same_network", "same_function", "rounding", "different" or "undecided".
    same : bool
        Whether it is one of the first three.
    reason : str
        The verdict in one sentence.
    worst_difference : float
        The largest difference of an output that was found, at `worst_input`.
    worst_input : array
        An input of the domain, d numbers.
    bound : tuple of float
        lower <= max |f - g| <= upper over the domain; upper is None where nothing is proved.
    units : dict
        "matched" (how many), "changed", "missing" and "extra" (lists; layers and rows count from 1).
    queries : int
        Of black boxes.
    """

    def __init__(self, document: dict[str, Any], certificate: str, files: list[tuple[str, bytes]]) -> None:
        self._document, self._json, self._files = document, certificate, files
        self.verdict: str = document["verdict"]
        self.same: bool = document["same"]
        self.reason: str = document["reason"]
        worst = document["worst_difference"]
        self.worst_difference: float = float("inf") if worst is None else worst
        self.worst_input = np.array(document["worst_input"], dtype=np.float64)
        self.bound: tuple[float, float | None] = (document["bound"]["lower"], document["bound"]["upper"])
        self.units: dict[str, Any] = document["units"]
        self.queries: int = document["queries"]

    def __repr__(self) -> str:
        return f"<exhume.Comparison: {self.verdict}>"

    def to_dict(self) -> dict[str, Any]:
        """What `exhume compare --json` prints."""
        return json.loads(json.dumps(self._document))  # type: ignore[no-any-return]

    def to_html(self) -> str:
        """The report."""
        return str(_core.report_html(self._json))

    def _repr_html_(self) -> str:
        return in_notebook(self.to_html())

    def save(self, folder: str | os.PathLike[str], *, sign: str | os.PathLike[str] | None = None) -> None:
        """Writes certificate.json, report.html and the boxes of the proof, which `exhume.verify` checks."""
        _core.save_result(os.fspath(folder), self._files, self._json, "" if sign is None else os.fspath(sign))


def _subject(model: Any, inputs: int | None) -> tuple[str, Network | None, Oracle | None, str | None]:
    """Name, network or oracle, and path of one of the two."""
    if isinstance(model, Network):
        return "a network", model, None, None
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        if path.endswith(".tflite"):
            return path, None, _tflite(path), None
        try:
            return path, Network.load(path), None, path
        except _core.DataError:
            if not path.endswith(".onnx") or not os.path.isfile(path):
                raise
        return path, None, as_oracle(path, inputs), None
    oracle = as_oracle(model, inputs)
    return oracle.name, None, oracle, None


def _tflite(path: str) -> Oracle:
    """A TFLite model with one input and one output, by whichever interpreter is installed; int8 is scaled."""
    try:
        from ai_edge_litert.interpreter import Interpreter  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        try:
            from tflite_runtime.interpreter import Interpreter  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            from tensorflow.lite import Interpreter  # type: ignore[import-untyped, import-not-found, unused-ignore]
    engine = Interpreter(model_path=path)
    given, answer = engine.get_input_details()[0], engine.get_output_details()[0]
    width = int(np.prod(given["shape"][1:]))

    def query(x: Any) -> Any:
        rows = []
        for row in x:
            value = row.reshape(given["shape"])
            scale, zero = given["quantization"]
            if scale:
                limits = np.iinfo(given["dtype"])
                value = np.clip(np.round(value / scale) + zero, limits.min, limits.max)
            engine.set_tensor(given["index"], value.astype(given["dtype"]))
            engine.invoke()
            found = engine.get_tensor(answer["index"]).astype(np.float64).reshape(-1)
            scale, zero = answer["quantization"]
            rows.append((found - zero) * scale if scale else found)
        return np.array(rows)

    engine.resize_tensor_input(given["index"], [1, *given["shape"][1:]])
    engine.allocate_tensors()
    return Oracle(query, width, path)


def _answers(oracle: Oracle) -> Any:
    def answer(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        y = np.asarray(oracle.query(x), dtype=np.float64)
        if y.ndim == 0 or len(y) != len(x):
            raise _core.DataError(f"{oracle.name} answered {len(x)} queries with an array of shape {y.shape}")
        return np.ascontiguousarray(y.reshape(len(x), -1))

    return answer


def _numbers(value: float | Sequence[float] | None) -> list[float]:
    return [] if value is None else [float(v) for v in np.atleast_1d(np.asarray(value, dtype=np.float64))]


def compare(
    a: Any,
    b: Any,
    *,
    domain: Any = None,
    low: float | Sequence[float] | None = None,
    high: float | Sequence[float] | None = None,
    tolerance: float | None = None,
    inputs: int | None = None,
    budget: int | None = None,
    ratio: float = 1.1,
    queries: int = 10_000,
    inside: bool = False,
    confidence: float = 0.95,
    free_signs: bool = False,
    seed: int = 0,
    threads: int = 0,
    progress: Progress = None,
) -> Comparison:
    """Says whether two networks compute the same function, and if not, where and by which units they differ.

    Parameters
    ----------
    a, b : Network, path, callable, torch module, or an object with predict
        Files (.safetensors, .npz, .onnx) are read as networks where they can be; other models are queried.
    domain : array
        Inputs, rows x d: the ranges of their columns are the domain unless `low` and `high` are given.
    low, high : float or sequence of float
        The domain: one number for all inputs, or one per input. Without a domain it is [-1, 1]^d.
    tolerance : float
        Largest difference of an output to accept; None: what rounding explains.
    inputs : int
        Number of inputs, where neither of the two says it.
    budget : int
        Boxes that the proof may look at, of two networks; None: ten seconds' worth, with a tolerance some minutes.
    ratio : float
        The proof ends when the upper bound is at most this many times the lower one.
    queries : int
        Upper limit on the number of queries of a black box.
    inside : bool
        No query outside the domain.
    confidence : float
        Confidence of statements about a black box.
    free_signs : bool
        When matching, replace units by their negatives, which adds a linear term.
    seed : int
        Of every random choice.

    >>> import exhume
    >>> network = exhume.generate(inputs=4, hidden=6, outputs=2, samples=10).network
    >>> exhume.compare(network, network.canonical())
    <exhume.Comparison: same_network>
    """
    first, second = _subject(a, _known_inputs(b, inputs)), _subject(b, _known_inputs(a, inputs))
    width = next((n.inputs for _, n, _, _ in (first, second) if n is not None), None)
    if width is None:
        width = next(o.inputs for _, _, o, _ in (first, second) if o is not None)
    rows = None if domain is None else np.ascontiguousarray(np.asarray(domain, dtype=np.float64))
    paths = [(role, path) for role, (_, _, _, path) in (("first", first), ("second", second)) if path is not None]
    with progress_callback(progress) as callback:
        found = _core.compare(
            first[0],
            None if first[1] is None else first[1]._core,
            None if first[2] is None else _answers(first[2]),
            second[0],
            None if second[1] is None else second[1]._core,
            None if second[2] is None else _answers(second[2]),
            int(width),
            rows,
            _numbers(low),
            _numbers(high),
            tolerance,
            0 if budget is None else int(budget),
            float(ratio),
            int(queries),
            bool(inside),
            float(confidence),
            bool(free_signs),
            seed_of(seed),
            paths,
            threads,
            callback,
        )
    return Comparison(cast("dict[str, Any]", found.document), found.certificate, found.files)


def _known_inputs(other: Any, inputs: int | None) -> int | None:
    """The number of inputs, as far as the other of the two says it."""
    if inputs is not None:
        return inputs
    if isinstance(other, Network):
        return other.inputs
    if isinstance(other, (str, os.PathLike)):
        name, network, oracle, _ = _subject(other, None)
        return network.inputs if network is not None else None if oracle is None else oracle.inputs
    known = getattr(other, "n_features_in_", None)
    return None if known is None else int(known)
