"""A certificate with what only its reader knows: the network that was planted, and the shape of the inputs."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from . import _core

_NETWORKS = ("network.safetensors", "rectified.safetensors")


def viewed(certificate: str, files: list[tuple[str, bytes]], shape: list[int], truth: Any) -> str:
    """The certificate with images of `shape` and compared with `truth`, a network or its file. `files` hold the network found."""
    if not shape and truth is None:
        return certificate
    networks = [(name, content) for name, content in files if name in _NETWORKS]
    if not networks:
        raise ValueError("there is no network to draw or to compare")
    with tempfile.TemporaryDirectory(prefix="exhume-") as folder:
        name, content = networks[0]
        found = os.path.join(folder, name)
        with open(found, "wb") as file:
            file.write(content)
        if shape:
            certificate = _core.with_shape(certificate, found, shape)
        if truth is None:
            return certificate
        if isinstance(truth, (str, os.PathLike)):
            return _core.with_truth(certificate, found, os.fspath(truth), os.fspath(truth))
        true = os.path.join(folder, "truth.safetensors")
        truth.save(true)
        return _core.with_truth(certificate, found, true, "a network in memory")
