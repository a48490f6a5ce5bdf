"""Named arrays out of a .safetensors file: eight bytes with the length of a JSON header, the header, the numbers."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from . import _core


def read_tensors(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, str]]:
    """The arrays of doubles, read-only, and the metadata."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        metadata = header.pop("__metadata__", {})
        arrays = {}
        for name, about in header.items():
            start, end = about["data_offsets"]
            if about["dtype"] != "F64":
                raise ValueError(f"{name} holds {about['dtype']}")
            arrays[name] = np.frombuffer(content[8 + length + start : 8 + length + end], "<f8").reshape(about["shape"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _core.DataError(f"{os.fspath(path)} cannot be read as .safetensors: {error}") from None
    return arrays, metadata
