"""What all results have in common: a certificate, and a network or the reason why there is none."""

from __future__ import annotations

import html
import json
import os
import re
from typing import Any, Literal, cast

import numpy as np

from . import _core
from ._options import shape_of
from ._view import viewed
from ._words import counted

Status = Literal["certified", "estimated", "uncertified", "refused"]

# When, where, in which files and under which names: what two equal results may differ by.
_CIRCUMSTANCES = (
    *("timings", "date", "host", "command", "files", "written", "digest", "version", "target"),
    *("input_names", "output_names", "input_shape", "options", "truth"),
)
_VIEWS = ("images", "truth")  # pictures that only a reader asks for


def plain(value: Any) -> Any:
    """Arrays, and whatever holds them, as lists that json can write."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


class Certified:
    """A result with its certificate. Shown as the full report in a notebook; can be pickled and compared with `==`."""

    def __init__(self, certificate_json: str, network: Any, files: list[tuple[str, bytes]]) -> None:
        self._json = certificate_json
        self._network = network
        self._files = files
        self._certificate: dict[str, Any] = json.loads(certificate_json)

    @property
    def status(self) -> Status:
        """What the network is worth.

        "certified": all rows are reproduced to their stored precision and the weights are determined.
        "estimated": there is noise, and nothing in it speaks against the network; intervals and bounds hold if
        it is independent noise. "uncertified": a check failed. "refused": there is no network.
        """
        return cast(Status, self._certificate["status"])

    @property
    def reason(self) -> str:
        """One sentence: why this status."""
        return str(self._certificate["reason"])

    @property
    def verdict(self) -> str:
        """The verdict as the report opens with it."""
        return str(self._certificate["verdict"])

    @property
    def route(self) -> str:
        """The route that won."""
        return str(self._certificate["route"])

    @property
    def certificate(self) -> dict[str, Any]:
        """The certificate as a dictionary: all that certificate.json holds, with the same keys."""
        return dict(self._certificate)

    @property
    def network(self) -> Any:
        """The network, in canonical form.

        A `Network`, or a `RectifiedNetwork` where its units are not ReLUs. A refusal has none: then a RuntimeError says
        why.
        """
        if self._network is None:
            raise RuntimeError(self.verdict)
        return self._network

    def _arrays(self) -> dict[str, Any]:
        """What `to_dict` adds to the certificate."""
        return {} if self._network is None else {"network": self._network.to_dict()}

    def to_dict(self) -> dict[str, Any]:
        """The certificate, and the network with its weights as lists under "network": all of it can go through json."""
        return {**self._certificate, **cast(dict[str, Any], plain(self._arrays()))}

    def to_html(self, *, shape: Any = None, truth: Any = None) -> str:
        """The report: one page without scripts or requests.

        With `shape` (8, 8) or "8x8" units are shown as images of so many rows and columns; with `truth`, a network or its
        file, the page shows true against recovered parameters.
        """
        return _core.report_html(viewed(self._json, self._files, shape_of(shape), truth))

    def save(self, folder: str | os.PathLike[str], *, sign: str | os.PathLike[str] | None = None) -> None:
        """Writes what the command line writes with --out: the network, certificate.json, report.html and more.

        All or none. `exhume.load(folder)` brings the result back, `exhume.verify(folder)` checks it again. `sign` is a
        private key (see `exhume.keys`): certificate.json.sig then says who wrote it.
        """
        files = [*self._files, ("certificate.json", self._json.encode()), ("report.html", self.to_html().encode())]
        if sign is not None:
            files.append(("certificate.json.sig", _core.sign(os.fspath(sign), self._json)))
        _core.write_files(os.fspath(folder), files)

    def _says(self) -> dict[str, Any]:
        says = {key: value for key, value in self._certificate.items() if key not in _CIRCUMSTANCES}
        if "pictures" in says:
            says["pictures"] = {key: value for key, value in says["pictures"].items() if key not in _VIEWS}
        return says

    def __eq__(self, other: object) -> bool:
        """The same network and the same statements; when, where and how fast does not matter."""
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Certified)
        return bool(self._network == other._network) and self._says() == other._says()

    def __hash__(self) -> int:
        return hash((self.status, self._network))

    def _repr_html_(self) -> str:
        # The page has styles of its own, which must not reach the notebook, beside which none of its files lie.
        page = html.escape(re.sub(r'<a href="\./[^"]*"[^>]*>(.*?)</a>', r"\1", self.to_html()), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:42em;border:0" title="Exhume report"></iframe>'

    def __repr__(self) -> str:
        says = self._certificate
        hidden = says["hidden_units"]
        several = isinstance(hidden, list)
        units = f"hidden layers of {' and '.join(map(str, hidden))} units" if several else counted(hidden, "hidden unit")
        shape = f"{counted(says['inputs'], 'input')}, {units}, {counted(says['outputs'], 'output')}"
        return f"<exhume.{type(self).__name__}: {self.status}, {shape}, route {self.route}>"
