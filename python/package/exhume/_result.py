"""What a recovery returns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arrays import Floats, frozen
from ._certified import Certified
from ._network import Network
from ._rectified import RectifiedNetwork
from ._tables import Names
from ._weights import Coefficient, Weight, coefficients, frame, weights_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes


class RecoveryWarning(UserWarning):
    """The network returned is the best fit found, but is not certified to be the one behind the data."""


class Result(Certified):
    """What `recover` found, and what is known about it.

    Shown as the full report in a notebook. Can be pickled, and compared with `==`: the same network and the same statements.
    """

    def __init__(
        self,
        certificate_json: str,
        network: Network | RectifiedNetwork | None,
        standard_errors: Network | None,
        singular_values: Floats,
        predicted: Floats,
        observed: Floats,
        descent: list[tuple[str, float]],
        files: list[tuple[str, bytes]] | None = None,
        input_names: Names = None,
        output_names: Names = None,
    ) -> None:
        super().__init__(certificate_json, network, files or [])
        self._standard_errors = standard_errors
        self.singular_values = singular_values
        """Singular values of the moment whose rank is the number of units, decreasing."""
        self.predicted = predicted
        """Outputs of the network on held-out rows, at most 500 of them."""
        self.observed = observed
        """The outputs given for those rows."""
        self.descent = descent
        """(stage, relative mean squared error) of every step of the polish."""
        self.input_names = input_names
        """The names of the inputs, where the data had some."""
        self.output_names = output_names
        """The names of the outputs, where the data had some."""

    @property
    def noise_sd(self) -> float:
        """Estimated standard deviation of the noise on the outputs, 0 where none is visible."""
        return float(self._certificate.get("noise_sd") or 0.0)

    @property
    def standard_errors(self) -> Network | None:
        """Standard errors in the shapes of the network, or None: without noise there are none."""
        return self._standard_errors

    def _arrays(self) -> dict[str, Any]:
        errors = {} if self._standard_errors is None else {"standard_errors": self._standard_errors.to_dict()}
        names = {"input_names": self.input_names, "output_names": self.output_names}
        return {**super()._arrays(), **errors, **{name: value for name, value in names.items() if value}}

    def _weights(self) -> Iterator[Weight]:
        unknown = math.nan if self.noise_sd > 0 else 0.0
        return weights_of(self.network, self._standard_errors, self.input_names, self.output_names, unknown)

    def weights(self, confidence: float = 0.95) -> Any:
        """Every parameter as a row of a pandas data frame.

        Columns: name ("W[0,age]"), part, unit, input, output, value; where there is noise also standard_error, the ends lower and
        upper of an interval of this confidence, z = value / standard_error, and p, how likely a |z| as large is for a
        parameter that is 0. Needs pandas.
        """
        return frame(self._weights(), confidence, self.noise_sd > 0)

    def coefficients(self, confidence: float = 0.95) -> list[Coefficient]:
        """Every parameter with its standard error and interval.

        Without noise the intervals are points. Where errors are not known they are NaN.
        """
        return coefficients(self._weights(), confidence)

    def summary(self, confidence: float = 0.95) -> str:
        """A table of all parameters with standard errors and intervals, under the verdict."""
        tail = (1 - confidence) / 2
        rows = self.coefficients(confidence)
        width = max([10, *(len(row.name) + 2 for row in rows)])
        head = f"{'':<{width}}{'coef':>12}{'std err':>12}{f'[{tail:.3g}':>12}{f'{1 - tail:.3g}]':>12}"
        lines = [self.verdict, "", head, "-" * len(head)]
        for row in rows:
            lines.append(
                f"{row.name:<{width}}{row.value:>12.5g}{row.standard_error:>12.3g}{row.lower:>12.5g}{row.upper:>12.5g}"
            )
        return "\n".join(lines)

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
            try:
                from matplotlib import pyplot
            except ImportError:
                raise ImportError(
                    "plot() draws with matplotlib; pip install 'exhume[plot]' brings it. Without it, to_html() has the same pictures"
                ) from None
            ax = pyplot.subplots()[1]
        getattr(self, f"_plot_{kind}")(ax)
        return ax

    def _plot_heldout(self, ax: Axes) -> None:
        for output in range(self.observed.shape[1]):
            label = f"output {output}" if self.output_names is None else self.output_names[output]
            ax.plot(self.observed[:, output], self.predicted[:, output], ".", label=label)
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


def from_core(
    found: _core.Result,
    certificate: str,
    files: list[tuple[str, bytes]],
    input_names: Names = None,
    output_names: Names = None,
) -> Result:
    """A Result of what the library returned."""
    errors = found.standard_errors
    return Result(
        certificate,
        _network(found),
        None if errors is None else Network._wrap(errors),
        frozen(found.singular_values),
        frozen(found.predicted),
        frozen(found.observed),
        found.descent,
        files,
        input_names,
        output_names,
    )


def _network(found: _core.Result) -> Network | RectifiedNetwork | None:
    if found.network is None:
        return None
    network = Network._wrap(found.network)
    return network if found.activation == "relu" else RectifiedNetwork._of(network, found.activation)
