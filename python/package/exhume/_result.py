"""What a recovery returns."""

from __future__ import annotations

import html
import json
import os
import statistics
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from . import _core
from ._arrays import Floats, frozen
from ._deep_network import DeepNetwork
from ._network import Network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Status = Literal["certified", "estimated", "uncertified", "refused"]


class RecoveryWarning(UserWarning):
    """The network returned is the best fit found, but is not certified to be the one behind the data."""


class Coefficient(NamedTuple):
    """One parameter with its interval (see `Result.coefficients`)."""

    name: str
    """"W[i,j]", "b[i]", "A[o,i]" or "c[o]", counted from 0."""
    value: float
    standard_error: float
    lower: float
    upper: float


class Result:
    """What `recover` found, and what is known about it.

    Shown as the full report in a notebook. Can be pickled.
    """

    def __init__(
        self,
        certificate_json: str,
        network: Network | DeepNetwork | None,
        standard_errors: Network | None,
        singular_values: Floats,
        predicted: Floats,
        observed: Floats,
        descent: list[tuple[str, float]],
    ) -> None:
        self._json = certificate_json
        self._network = network
        self._standard_errors = standard_errors
        self._certificate: dict[str, Any] = json.loads(certificate_json)
        self.singular_values = singular_values
        """Singular values of the moment whose rank is the number of units, decreasing."""
        self.predicted = predicted
        """Outputs of the network on held-out rows, at most 500 of them."""
        self.observed = observed
        """The outputs given for those rows."""
        self.descent = descent
        """(stage, relative mean squared error) of every step of the polish."""

    @property
    def network(self) -> Any:
        """The network, in canonical form: a `Network`, or a `DeepNetwork` where there are several hidden layers.

        A refusal has none: then a RuntimeError says why.
        """
        if self._network is None:
            raise RuntimeError(self.verdict)
        return self._network

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
    def noise_sd(self) -> float:
        """Estimated standard deviation of the noise on the outputs, 0 where none is visible."""
        return float(self._certificate["noise_sd"] or 0.0)

    @property
    def standard_errors(self) -> Network | None:
        """Standard errors in the shapes of the network, or None: without noise there are none."""
        return self._standard_errors

    def coefficients(self, confidence: float = 0.95) -> list[Coefficient]:
        """Every parameter with its standard error and interval. Without noise the intervals are points."""
        if not 0 < confidence < 1:
            raise ValueError(f"confidence is {confidence}, expected between 0 and 1")
        deviations = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
        network, errors = self.network, self._standard_errors
        rows = []
        for name in ("W", "b", "A", "c"):
            values: Floats = getattr(network, name)
            spread: Floats = np.zeros_like(values) if errors is None else getattr(errors, name)
            for place in np.ndindex(values.shape):
                value, error = float(values[place]), float(spread[place])
                label = f"{name}[{','.join(map(str, place))}]"
                rows.append(Coefficient(label, value, error, value - deviations * error, value + deviations * error))
        return rows

    def summary(self, confidence: float = 0.95) -> str:
        """A table of all parameters with standard errors and intervals, under the verdict."""
        tail = (1 - confidence) / 2
        head = f"{'':<10}{'coef':>12}{'std err':>12}{f'[{tail:.3g}':>12}{f'{1 - tail:.3g}]':>12}"
        lines = [self.verdict, "", head, "-" * len(head)]
        for row in self.coefficients(confidence):
            lines.append(
                f"{row.name:<10}{row.value:>12.5g}{row.standard_error:>12.3g}{row.lower:>12.5g}{row.upper:>12.5g}"
            )
        return "\n".join(lines)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes what the command line writes: network.safetensors, network.onnx, certificate.json, report.html."""
        files = [("certificate.json", self._json.encode()), ("report.html", self.to_html().encode())]
        if self._network is not None:
            core = self._network._core
            files += [("network.safetensors", core.safetensors()), ("network.onnx", core.onnx(False))]
        _core.write_files(os.fspath(folder), files)

    def to_html(self) -> str:
        """The report: one page without scripts or requests."""
        return _core.report_html(self._json)

    def _repr_html_(self) -> str:
        # The page has styles of its own, which must not reach the notebook.
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:42em;border:0" title="Exhume report"></iframe>'

    def __repr__(self) -> str:
        return f"<exhume.Result: {self.status}. {self.verdict}>"

    def plot(self, kind: str = "heldout", ax: Axes | None = None) -> Axes:
        """Draws one picture of the report with matplotlib and returns its axes.

        Parameters
        ----------
        kind : str
            "heldout": predicted against observed outputs on held-out rows; "singular_values": the spectrum whose
            gap is the number of units; "descent": the error of every step of the polish.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        """
        if kind not in ("heldout", "singular_values", "descent"):
            raise ValueError(f"kind is {kind!r}, expected 'heldout', 'singular_values' or 'descent'")
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots()[1]
        getattr(self, f"_plot_{kind}")(ax)
        return ax

    def _plot_heldout(self, ax: Axes) -> None:
        for output in range(self.observed.shape[1]):
            ax.plot(self.observed[:, output], self.predicted[:, output], ".", label=f"output {output}")
        if self.observed.size:
            ends = [float(self.observed.min()), float(self.observed.max())]
            ax.plot(ends, ends, color="grey", linewidth=0.8, zorder=0)
        ax.set(xlabel="observed", ylabel="predicted", title=f"{len(self.observed)} rows held out")
        if 1 < self.observed.shape[1] <= 10:
            ax.legend()

    def _plot_singular_values(self, ax: Axes) -> None:
        ax.semilogy(np.arange(1, len(self.singular_values) + 1), self.singular_values, "o")
        floor = self._certificate["pictures"]["noise_floor"]
        if floor:
            ax.axhline(floor, color="grey", linestyle="--", label="sampling noise")
            ax.legend()
        ax.set(xlabel="number", ylabel="singular value", title="Spectrum of the moments")

    def _plot_descent(self, ax: Axes) -> None:
        errors = [max(error, np.finfo(float).tiny) for _, error in self.descent]
        ax.semilogy(range(len(errors)), errors, ".-")
        ax.set(xlabel="step", ylabel="relative mean squared error", title="Polish")


def from_core(found: _core.RecoverResult | _core.DeepResult, certificate: str) -> Result:
    """A Result of what the library returned."""
    if isinstance(found, _core.DeepResult):
        layers = DeepNetwork._wrap(found.network)
        return Result(certificate, layers, None, np.zeros(0), frozen(found.predicted), frozen(found.observed), [])
    network, errors = found.network, found.standard_errors
    return Result(
        certificate,
        None if network is None else Network._wrap(network),
        None if errors is None else Network._wrap(errors),
        frozen(found.singular_values),
        frozen(found.predicted),
        frozen(found.observed),
        found.descent,
    )
