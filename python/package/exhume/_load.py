"""A result out of the folder that it was written to."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._memorize import Memorized, QuadraticNetwork
from ._network import Network
from ._rectified import RectifiedNetwork
from ._result import Result
from ._threshold import Assumption, Halfspaces, LowestLayer

Loaded = Result | LowestLayer | Halfspaces | Memorized


def load(folder: str | os.PathLike[str]) -> Loaded:
    """The result in a folder that `save` or a command wrote with --out.

    What it is depends on the command: a `Result`, a `LowestLayer`, `Halfspaces` or a `Memorized`. Nothing is
    checked again; that is what `exhume.verify(folder)` is for. The pictures' data are those of the report:
    rounded and thinned.

    >>> import exhume, tempfile
    >>> planted = exhume.generate(inputs=5, hidden=4, outputs=4, samples=2000)
    >>> result = exhume.recover(planted.x, planted.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(folder)
    ...     again = exhume.load(folder)
    >>> again == result
    True
    """
    path = pathlib.Path(folder)
    if path.is_file():
        raise ValueError(
            f"{path} is a file; load reads the folder of a result, exhume.Network.load a network"
        )
    try:
        text = (path / "certificate.json").read_text()
        certificate = json.loads(text)
        kind = certificate["kind"]
    except FileNotFoundError:
        raise _core.DataError(
            f"{path} holds no certificate.json; give a folder that save or a command wrote"
        ) from None
    except (ValueError, TypeError, KeyError) as error:
        raise _core.DataError(f"{path / 'certificate.json'} is no certificate: {error}") from None
    readers: dict[str, Callable[[pathlib.Path, str, dict[str, Any]], Loaded]] = {
        "network": _result,
        "deep network": _result,
        "extracted network": _result,
        "lowest layer": _lowest_layer,
        "halfspaces": _halfspaces,
        "memorized network": _memorized,
    }
    if kind not in readers:
        raise _core.DataError(
            f"{path / 'certificate.json'} is about a {kind}, of which this version knows nothing"
        )
    return readers[kind](path, text, certificate)


def _files(path: pathlib.Path, certificate: dict[str, Any]) -> list[tuple[str, bytes]]:
    """The files that the certificate names and that are there, to be saved again."""
    names = [entry["path"] for entry in certificate.get("written", [])]
    return [(name, (path / name).read_bytes()) for name in names if (path / name).is_file()]


def _tensors(path: pathlib.Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays of a .safetensors file, and its metadata."""
    return _core.read_tensors(os.fspath(path))


def _network(path: pathlib.Path, certificate: dict[str, Any]) -> Network | RectifiedNetwork | None:
    if certificate["status"] == "refused":
        return None
    if (path / "rectified.safetensors").exists():
        arrays, metadata = _tensors(path / "rectified.safetensors")
        activation = metadata["activation"].removeprefix("rectified ")
        return RectifiedNetwork(arrays["W"], arrays["b"], arrays["A"], arrays["c"], activation)
    return Network.load(path / "network.safetensors")


def _errors(path: pathlib.Path, certificate: dict[str, Any]) -> Network | None:
    """The standard errors of an estimated network."""
    named = any(entry["path"] == "errors.safetensors" for entry in certificate.get("written", []))
    return Network.load(path / "errors.safetensors") if named else None


def _result(path: pathlib.Path, text: str, certificate: dict[str, Any]) -> Result:
    pictures = certificate.get("pictures", {})
    points = pictures.get("heldout", {})
    predicted, observed = (
        np.array(points.get(name, []), dtype=np.float64).reshape(-1, 1) for name in ("predicted", "observed")
    )
    return Result(
        text,
        _network(path, certificate),
        _errors(path, certificate),
        np.array(pictures.get("singular_values", []), dtype=np.float64),
        predicted,
        observed,
        [(step["stage"], step["relative_mse"]) for step in pictures.get("descent", [])],
        _files(path, certificate),
        certificate.get("input_names"),
        certificate.get("output_names"),
    )


def _lowest_layer(path: pathlib.Path, _text: str, certificate: dict[str, Any]) -> LowestLayer:
    arrays, _ = _tensors(path / "units.safetensors")
    assumptions = [
        Assumption(*(row[key] for key in Assumption._fields)) for row in certificate["assumptions"]
    ]
    worst = float(certificate["max_standard_error"] or 0.0)
    says = certificate["activation"], certificate["status"], certificate["reason"], assumptions, certificate
    return LowestLayer(arrays["W"], arrays["t"], arrays["W_step1"], worst, *says)


def _halfspaces(path: pathlib.Path, text: str, certificate: dict[str, Any]) -> Halfspaces:
    rest, far = certificate["labels"]
    layer = _lowest_layer(path, text, certificate)
    return Halfspaces(
        layer,
        certificate["set"] == "intersection",
        (rest, far),
        certificate["flip_rate"],
        certificate["agreement"],
    )


def _memorized(path: pathlib.Path, _text: str, certificate: dict[str, Any]) -> Memorized:
    keys = (
        "memorized",
        "reason",
        "relative_error",
        "given_relative_error",
        "worst_error",
        "accuracy",
        "capacity",
    )
    return Memorized(
        network=QuadraticNetwork.load(path / "network.safetensors"),
        inputs=np.load(path / "inputs.npy"),
        targets=np.load(path / "labels.npy"),
        classes=[float(value) for value in certificate.get("classes", [])],
        certificate=certificate,
        **{key: certificate[key] for key in keys},
    )
