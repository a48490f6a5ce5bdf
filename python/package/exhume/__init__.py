"""Exhume recovers a neural network from its inputs and outputs.

>>> import exhume
>>> planted = exhume.generate(inputs=5, hidden=4, outputs=4, samples=2000)
>>> result = exhume.recover(planted.x, planted.y)
>>> result.status
'certified'
>>> result.network
<exhume.Network: 5 inputs, 4 hidden units, 4 outputs>

Results are the same bits for any number of threads, and the same as the command line's for the same data and
seed.
"""

from typing import Any

import numpy as _numpy  # before the extension: see _blas.py

from ._blas import fast_kernels as _fast_kernels

with _fast_kernels():
    from . import _core

from . import oracles, routes, structure
from ._compare import Comparison, compare
from ._core import DataError, ResourceError
from ._documents import diagnose, inspect, keys, moments, reproduce, step, sums
from ._extract import estimated_queries, extract
from ._generate import Planted, Thresholds, generate
from ._load import load
from ._memorize import Memorized, QuadraticNetwork, memorize
from ._network import Alignment, Layer, Network
from ._recover import NotCertified, Verification, recover, verify
from ._rectified import RectifiedNetwork
from ._result import RecoveryWarning, Result
from ._threshold import Assumption, Halfspaces, LowestLayer, halfspaces, lowest_layer
from ._weights import Coefficient, Effect

__version__ = _core.version()


def blas_kernels() -> str:
    """The kernels that OpenBLAS chose for this processor.

    Gives a RuntimeWarning where better ones exist: another package loaded the system's OpenBLAS first, and
    its choice is final. Import exhume earlier, or start Python with OPENBLAS_CORETYPE set as the warning
    says.
    """
    better = _core.better_blas_kernels()
    if better:
        import warnings

        warnings.warn(
            f"OpenBLAS chose {_core.blas_kernels()}; set OPENBLAS_CORETYPE={better} for full speed",
            RuntimeWarning,
            stacklevel=2,
        )
    return _core.blas_kernels()


def __getattr__(name: str) -> Any:
    """Names of the version before, which go with the next: DeepNetwork, Extraction and others."""
    renamed: dict[str, Any] = {"DeepNetwork": Network, "DeepAlignment": Alignment, "Extraction": Result}
    renamed["estimated_questions"] = estimated_queries
    if name not in renamed:
        raise AttributeError(f"module 'exhume' has no attribute {name!r}")
    import warnings

    warnings.warn(f"exhume.{name} is now exhume.{renamed[name].__name__}", DeprecationWarning, stacklevel=2)
    return renamed[name]


__all__ = [
    "Alignment",
    "Assumption",
    "Coefficient",
    "Comparison",
    "DataError",
    "Effect",
    "Halfspaces",
    "Layer",
    "LowestLayer",
    "Memorized",
    "Network",
    "NotCertified",
    "Planted",
    "QuadraticNetwork",
    "RecoveryWarning",
    "RectifiedNetwork",
    "ResourceError",
    "Result",
    "Thresholds",
    "Verification",
    "blas_kernels",
    "compare",
    "diagnose",
    "estimated_queries",
    "extract",
    "generate",
    "halfspaces",
    "inspect",
    "keys",
    "load",
    "lowest_layer",
    "memorize",
    "moments",
    "oracles",
    "recover",
    "reproduce",
    "routes",
    "step",
    "structure",
    "sums",
    "verify",
]
