"""What a recovery or an extraction returns: a certificate, and a network or the reason why there is none."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from . import _core
from ._arrays import Floats, frozen
from ._network import Network
from ._options import shape_of
from ._pages import in_notebook
from ._rectified import RectifiedNetwork
from ._tables import Names
from ._weights import Coefficient, Effect, Weight, coefficients, effects_of, frame, tests_of, weights_of
from ._words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

Status = Literal["certified", "estimated", "uncertified", "refused"]
_LOGS = ("queries.log", "questions.log")  # the second is what the version before wrote

# When, where, in which files and under which names: what two equal results may differ by.
_CIRCUMSTANCES = (
    *("timings", "date", "host", "command", "files", "written", "digest", "version", "target"),
    *("input_names", "output_names", "input_shape", "options", "truth"),
)
_VIEWS = ("images", "truth")  # pictures that only a reader asks for


class RecoveryWarning(UserWarning):
    """The network returned is the best fit found, but is not certified to be the one behind the data."""


class Result:
    """What `recover` or `extract` found, and what is known about it.

    Shown as the full report in a notebook. Can be pickled, and compared with `==`: the same network and the
    same statements.
    """

    def __init__(
        self,
        certificate_json: str,
        network: Network | RectifiedNetwork | None,
        standard_errors: Network | None = None,
        singular_values: Floats | None = None,
        predicted: Floats | None = None,
        observed: Floats | None = None,
        descent: list[tuple[str, float]] | None = None,
        files: list[tuple[str, bytes]] | None = None,
        input_names: Names = None,
        output_names: Names = None,
    ) -> None:
        self._json = certificate_json
        self._certificate: dict[str, Any] = json.loads(certificate_json)
        self._network = network
        self._files = files or []
        self._standard_errors = standard_errors
        self.singular_values = np.zeros(0) if singular_values is None else singular_values
        """Singular values of the moment whose rank is the number of units, decreasing."""
        self.predicted = np.zeros((0, 0)) if predicted is None else predicted
        """Outputs of the network on held-out rows, or on fresh queries, at most 500 of them."""
        self.observed = np.zeros((0, 0)) if observed is None else observed
        """The outputs given for those."""
        self.descent = descent or []
        """(stage, relative mean squared error) of every step of the polish."""
        self.input_names = input_names
        """The names of the inputs, where the data had some."""
        self.output_names = output_names
        """The names of the outputs, where the data had some."""

    @property
    def status(self) -> Status:
        """What the network is worth.

        "certified": all rows or queries are reproduced to their stored precision and the weights are
        determined. "estimated": there is noise, and no test contradicts the network; intervals and
        bounds hold if it is independent noise. "uncertified": a check failed. "refused": there is no network.
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
    def activation(self) -> str:
        """Of the units: "relu" and others; of an extraction also "leaky relu" or "absolute value"."""
        return str(self._certificate["activation"])

    @property
    def certificate(self) -> dict[str, Any]:
        """The certificate as a dictionary: all that certificate.json holds, with the same keys."""
        return dict(self._certificate)

    @property
    def network(self) -> Any:
        """The network, in canonical form.

        A `Network`, or a `RectifiedNetwork` where its units are not ReLUs. A refusal has none: then a
        RuntimeError says why.
        """
        if self._network is None:
            raise RuntimeError(self.verdict)
        return self._network

    def predict(self, x: Any) -> Any:
        """The outputs of the network for inputs `x`: the same as `result.network(x)`."""
        return self.network(x)

    @property
    def queries(self) -> int | None:
        """How many queries an extraction made; None of a recovery."""
        made = self._certificate.get("queries")
        return None if made is None else int(made)

    @property
    def log(self) -> bytes | None:
        """All queries of an extraction with their answers, as queries.log holds them; None of a recovery."""
        return next((content for name, content in self._files if name in _LOGS), None)

    @property
    def noise_sd(self) -> float:
        """Estimated standard deviation of the noise on the outputs, 0 where none is visible."""
        return float(self._certificate.get("noise_sd") or 0.0)

    @property
    def standard_errors(self) -> Network | None:
        """Standard errors in the shapes of the network, or None: without noise there are none."""
        return self._standard_errors

    def to_dict(self) -> dict[str, Any]:
        """The certificate, and the network with its weights as lists under "network": all of it can go
        through json.
        """
        more: dict[str, Any] = {"input_names": self.input_names, "output_names": self.output_names}
        for name, network in (("network", self._network), ("standard_errors", self._standard_errors)):
            more[name] = None if network is None else _plain(network.to_dict())
        return {**self._certificate, **{name: value for name, value in more.items() if value}}

    def to_html(self, *, shape: Any = None, truth: Any = None) -> str:
        """The report: one page without scripts or requests.

        With `shape` (8, 8) or "8x8" units are shown as images of so many rows and columns; with `truth`, a
        network or its file, the page shows true against recovered parameters.
        """
        return _core.report_html(viewed(self._json, self._network, shape_of(shape), truth))

    def save(self, folder: str | os.PathLike[str], *, sign: str | os.PathLike[str] | None = None) -> None:
        """Writes what the command line writes with --out: network, certificate.json, report.html and more.

        All or none. `exhume.load(folder)` brings the result back, `exhume.verify(folder)` checks it again.
        `sign` is a private key (see `exhume.keys`): certificate.json.sig then says who wrote it.
        """
        _core.save_result(os.fspath(folder), self._files, self._json, "" if sign is None else os.fspath(sign))

    def _weights(self) -> Iterator[Weight]:
        unknown = math.nan if self.noise_sd > 0 else 0.0
        tests = tests_of(self._certificate.get("effects") or [])
        names = self.input_names, self.output_names
        return weights_of(self.network, self._standard_errors, *names, unknown, tests)

    @property
    def _freedom(self) -> float:
        """Degrees of freedom of t references."""
        stated = (self._certificate.get("intervals") or {}).get("degrees_of_freedom")
        return float(stated) if stated else math.inf

    def effects(self) -> list[Effect]:
        """Slopes and hinges of noisy data in the data's own units, with 95% intervals.

        "hinge": the value of an input at which a unit switches, the other inputs at their means; "before" and
        "after": slopes of an output along an input where the unit is off, and on; "bend": their difference;
        "size": change of the output over a standard deviation of w.x; "offset": A[o,i] b[i]; "slope" and
        "constant": of a linear term, or of the linear regression where no unit was found. t and p do not
        change when a column is measured in another unit.
        Empty without noise, and where the certificate says why no intervals are stated (`intervals`,
        "withheld").
        """
        rows = self._certificate.get("effects") or []
        return effects_of(rows, self._freedom, self.input_names, self.output_names)

    def weights(self, confidence: float = 0.95) -> Any:
        """Every parameter as a row of a pandas data frame.

        Columns: name ("W[0,age]"), part, unit, input, output, value; where there is noise also
        standard_error, the ends lower and upper of an interval of this confidence, z, and p, how likely a
        |z| as large is for a parameter that is 0 (Student's t). Rows of W have norm 1 in the units of the
        columns; z is that of the slopes they stand for (see `effects`), and the same in all units. Needs
        pandas.
        """
        return frame(self._weights(), confidence, self.noise_sd > 0, self._freedom)

    def coefficients(self, confidence: float = 0.95) -> list[Coefficient]:
        """Every parameter with its standard error and interval.

        Without noise the intervals are points. Where errors are not known they are NaN.
        """
        return coefficients(self._weights(), confidence, self._freedom)

    def summary(self, confidence: float = 0.95) -> str:
        """A table of all parameters with standard errors and intervals, under the verdict."""
        tail = (1 - confidence) / 2
        rows = self.coefficients(confidence)
        width = max([10, *(len(row.name) + 2 for row in rows)])
        head = f"{'':<{width}}{'coef':>12}{'std err':>12}{f'[{tail:.3g}':>12}{f'{1 - tail:.3g}]':>12}"
        lines = [self.verdict, "", head, "-" * len(head)]
        for row in rows:
            lines.append(
                f"{row.name:<{width}}{row.value:>12.5g}{row.standard_error:>12.3g}"
                f"{row.lower:>12.5g}{row.upper:>12.5g}"
            )
        withheld = (self._certificate.get("intervals") or {}).get("withheld")
        return "\n".join([*lines, *self._effect_lines(), *(["", withheld] if withheld else [])])

    def _effect_lines(self) -> list[str]:
        """Slopes and hinges under the parameters: in the data's own units."""
        rows = [row for row in self.effects() if row.kind not in ("size", "offset")]
        if not rows:
            return []
        names = [
            f"{row.kind} {' '.join(str(part) for part in (row.unit, row.input, row.output) if part is not None)}"
            for row in rows
        ]
        width = max([10, *(len(name) + 2 for name in names)])
        head = f"{'unit, input, output':<{width}}{'value':>12}{'std err':>12}{'[0.025':>12}{'0.975]':>12}"
        lines = ["", head + f"{'t':>9}{'p':>10}", "-" * (len(head) + 19)]
        for name, row in zip(names, rows):
            lines.append(
                f"{name:<{width}}{row.value:>12.5g}{row.standard_error:>12.3g}"
                f"{row.lower:>12.5g}{row.upper:>12.5g}{row.t:>9.2f}{row.p:>10.2g}"
            )
        return lines

    def plot(self, kind: str = "heldout", ax: Axes | None = None) -> Axes:
        """Draws one picture of the report with matplotlib and returns its axes.

        Parameters
        ----------
        kind : str
            "heldout": predicted against observed outputs on held-out rows; "singular_values": the spectrum
            whose gap is the number of units; "descent": the error of every step of the polish.
        ax : matplotlib axes, optional
            Where to draw; a new figure without it.
        """
        if kind not in ("heldout", "singular_values", "descent"):
            raise ValueError(f"kind is {kind!r}, expected 'heldout', 'singular_values' or 'descent'")
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                hint = "pip install 'exhume[plot]' brings it. Without it, to_html() has the same pictures"
                raise ImportError(f"plot() draws with matplotlib; {hint}") from None
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
        what = "rows held out" if self.queries is None else "fresh queries"
        ax.set(xlabel="observed", ylabel="predicted", title=f"{len(self.observed)} {what}")
        if 1 < self.observed.shape[1] <= 10:
            ax.legend()

    def _plot_singular_values(self, ax: Axes) -> None:
        ax.semilogy(np.arange(1, len(self.singular_values) + 1), self.singular_values, "o")
        floor = self._certificate["pictures"].get("noise_floor")
        if floor:
            ax.axhline(floor, color="grey", linestyle="--", label="sampling noise")
            ax.legend()
        ax.set(xlabel="number", ylabel="singular value", title="Spectrum of the moments")

    def _plot_descent(self, ax: Axes) -> None:
        errors = [max(error, np.finfo(float).tiny) for _, error in self.descent]
        ax.semilogy(range(len(errors)), errors, ".-")
        ax.set(xlabel="step", ylabel="relative mean squared error", title="Polish")

    def _statements(self) -> dict[str, Any]:
        says = {key: value for key, value in self._certificate.items() if key not in _CIRCUMSTANCES}
        if "pictures" in says:
            says["pictures"] = {key: value for key, value in says["pictures"].items() if key not in _VIEWS}
        return says

    def __eq__(self, other: object) -> bool:
        """The same network and the same statements; when, where and how fast does not matter."""
        if not isinstance(other, Result):
            return NotImplemented
        return bool(self._network == other._network) and self._statements() == other._statements()

    def __hash__(self) -> int:
        return hash((self.status, self._network))

    def _repr_html_(self) -> str:
        return in_notebook(self.to_html())

    def __repr__(self) -> str:
        says = self._certificate
        hidden = says["hidden_units"]
        several = isinstance(hidden, list)
        units = (
            f"hidden layers of {' and '.join(map(str, hidden))} units"
            if several
            else counted(hidden, "hidden unit")
        )
        shape = f"{counted(says['inputs'], 'input')}, {units}, {counted(says['outputs'], 'output')}"
        return f"<exhume.Result: {self.status}, {shape}, route {self.route}>"


def viewed(certificate: str, network: Any, shape: list[int], truth: Any) -> str:
    """The certificate with what its reader knows: images of `shape`, and `truth`, a network or its file."""
    if not shape and truth is None:
        return certificate
    if network is None:
        raise ValueError("there is no network to draw or to compare")
    beside: Any = truth
    if isinstance(truth, (Network, RectifiedNetwork)):
        beside = _units(truth)
    elif truth is not None:
        beside = os.fspath(truth)
    return _core.view(certificate, _units(network), shape, beside)


def _units(network: Network | RectifiedNetwork) -> tuple[_core.Network, str]:
    """A network as the library has it, and what its units are."""
    if isinstance(network, RectifiedNetwork):
        return network._network._core, network.activation
    return network._core, "relu"


def _plain(arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays as lists that json can write."""
    return {name: part.tolist() if isinstance(part, np.ndarray) else part for name, part in arrays.items()}


def from_core(
    found: _core.Recovered, certificate: str, input_names: Names = None, output_names: Names = None
) -> Result:
    """A Result of what `recover` of the library returned."""
    network = None if found.network is None else Network._wrap(found.network)
    errors = found.standard_errors
    return Result(
        certificate,
        network
        if network is None or found.activation == "relu" or network.activation != "relu"
        else RectifiedNetwork._of(network, found.activation),
        None if errors is None else Network._wrap(errors),
        frozen(found.singular_values),
        frozen(found.predicted),
        frozen(found.observed),
        found.descent,
        found.files,
        input_names,
        output_names,
    )
