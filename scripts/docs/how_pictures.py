"""how_pictures.py FOLDER

Draws the pictures of docs/how.md into FOLDER (docs/figures): a network of one input and its kinks, the spectrum of the
moments, the descent of the polish, intervals under noise.
"""

from __future__ import annotations

import pathlib
import sys

import matplotlib
import numpy as np

import exhume

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Colours that are told apart with any kind of sight (Okabe and Ito); the file is the same on every run.
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#777777"
pyplot.rcParams.update({"svg.hashsalt": "exhume", "svg.fonttype": "path", "font.size": 10, "axes.spines.top": False})
pyplot.rcParams.update({"axes.spines.right": False, "savefig.facecolor": "white", "lines.linewidth": 1.6})


def save(folder: pathlib.Path, name: str, size: tuple[float, float] = (6.4, 3.2)) -> None:
    figure = pyplot.gcf()
    figure.set_size_inches(*size)
    figure.tight_layout()
    figure.savefig(folder / f"how_{name}.svg", metadata={"Date": None})
    pyplot.close(figure)


def kinks(folder: pathlib.Path) -> None:
    """A function of one input, the rows that are given, and where its units switch."""
    planted = exhume.generate(inputs=1, hidden=5, outputs=1, samples=400, bias=1.5, amplitudes="signs", seed=47)
    found = exhume.recover(planted.x, planted.y).network
    axis = np.linspace(-3, 3, 601).reshape(-1, 1)
    pyplot.plot(planted.x, planted.y, ".", color=GREY, markersize=3, label="samples")
    pyplot.plot(axis, found(axis), color=BLUE, label="recovered network")
    places = -found.b / found.W[:, 0]
    pyplot.plot(places, found(places.reshape(-1, 1)), "o", color=ORANGE, label="kinks of its units")
    pyplot.gca().set(xlabel="x", ylabel="f(x)", xlim=(-3, 3))
    pyplot.legend(frameon=False)
    save(folder, "kinks")


def digits() -> exhume.Result:
    """The recovery that the README shows: a network that was trained on digits, asked 50,000 queries."""
    network = exhume.Network.load(ROOT / "examples/data/digits_64_16_1.npz")
    asked = exhume.generate(network=network, samples=50000, seed=1)
    return exhume.recover(asked.x, asked.y)


def spectrum(folder: pathlib.Path) -> None:
    """Singular values of the moments: as many above the noise as there are units."""
    result = digits()
    values = result.singular_values[result.singular_values > 0]
    units = result.network.hidden
    pyplot.semilogy(np.arange(1, units + 1), values[:units], "o", color=BLUE, markersize=4, label="units")
    pyplot.semilogy(np.arange(units + 1, len(values) + 1), values[units:], "o", color=ORANGE, markersize=4, label="sampling noise")
    pyplot.axvline(units + 0.5, color=GREY, linestyle="--", linewidth=0.8)
    pyplot.gca().set(xlabel="number of the singular value", ylabel="singular value")
    pyplot.legend(frameon=False)
    save(folder, "spectrum")


def polish(folder: pathlib.Path) -> None:
    """The error of every step: a plateau while a unit is missing, then down to the last bit."""
    planted = exhume.generate(inputs=10, hidden=10, outputs=1, samples=5000, amplitudes="signs", seed=2)
    errors = [error for _, error in exhume.recover(planted.x, planted.y).descent]
    pyplot.semilogy(range(len(errors)), errors, "o-", color=BLUE, markersize=4)
    pyplot.axhline(1e-31, color=GREY, linestyle="--", linewidth=0.8)
    pyplot.text(0, 3e-31, "the last bit of a double", color=GREY)
    pyplot.gca().set(xlabel="step", ylabel="squared error / variance")
    save(folder, "polish")


def intervals(folder: pathlib.Path) -> None:
    """Weights with their intervals, and the truth."""
    planted = exhume.generate(inputs=4, hidden=3, outputs=2, samples=2000, noise_relative=0.5, seed=1)
    result = exhume.recover(planted.x, planted.y)
    truth = planted.network.canonical()
    match = result.network.align(truth).match
    rows = [row for row in result.coefficients(0.95) if row.name.startswith("W")]
    true = truth.W[match].ravel()
    places = np.arange(len(rows))[::-1]
    pyplot.hlines(places, [row.lower for row in rows], [row.upper for row in rows], color=BLUE)
    pyplot.plot([row.value for row in rows], places, "o", color=BLUE, markersize=4, label="estimate, 95% interval")
    pyplot.plot(true, places, "|", color=ORANGE, markersize=10, markeredgewidth=2, label="truth")
    pyplot.yticks(places, [row.name for row in rows])
    pyplot.gca().set(xlabel="weight")
    pyplot.legend(frameon=False)
    save(folder, "intervals", (6.4, 3.6))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for draw in (kinks, spectrum, polish, intervals):
        draw(pathlib.Path(sys.argv[1]))
