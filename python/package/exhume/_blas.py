"""Which OpenBLAS kernels the extension should be loaded with.

OpenBLAS picks its kernels while it is loaded. Versions older than the processor do not recognise it and fall
back to kernels without AVX2, five times slower; then the environment variable OPENBLAS_CORETYPE, set before
loading, names better ones. The command line restarts itself with it; a Python process cannot be restarted,
and cannot ask OpenBLAS before it is loaded, so the processor's own flags decide. The same kernels as the
command line's also mean the same last bits.

The variable is set only while the extension is loaded. NumPy is imported before, so its own OpenBLAS has
chosen already, and child processes do not inherit the variable. A value set by the user is respected.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Iterator

_AVX512 = {"avx512f", "avx512vl", "avx512dq", "avx512bw"}
_AVX2 = {"avx2", "fma"}
# AMD families up to Zen 4 (0x19), which OpenBLAS has known for long and serves at its own discretion.
_LAST_KNOWN_AMD_FAMILY = 0x19


def kernels_for(cpuinfo: str) -> str:
    """The value of OPENBLAS_CORETYPE for the first processor of /proc/cpuinfo, or "" to leave the choice
    alone.
    """
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, colon, value = line.partition(":")
        if not colon:
            break  # an empty line ends the first processor
        fields[name.strip()] = value.strip()
    if fields.get("vendor_id") == "AuthenticAMD":
        family = fields.get("cpu family", "0")
        if family.isdigit() and int(family) <= _LAST_KNOWN_AMD_FAMILY:
            return ""
    flags = set(fields.get("flags", "").split())
    if flags >= _AVX512:
        return "SkylakeX"
    if flags >= _AVX2:
        return "Haswell"
    return ""


@contextlib.contextmanager
def fast_kernels() -> Iterator[None]:
    """OPENBLAS_CORETYPE as it should be while the extension is loaded; afterwards as it was."""
    kernels = ""
    if "OPENBLAS_CORETYPE" not in os.environ and platform.machine() == "x86_64":
        try:
            with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
                kernels = kernels_for(file.read())
        except OSError:
            pass
    if not kernels:
        yield
        return
    os.environ["OPENBLAS_CORETYPE"] = kernels
    try:
        yield
    finally:
        os.environ.pop("OPENBLAS_CORETYPE", None)
