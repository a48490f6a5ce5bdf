"""Estimators for scikit-learn: they go into pipelines, grid searches and cross-validation, pickle and clone.

Where no network can be recovered, `fit` does not raise: it warns with `exhume.RecoveryWarning` and keeps the best
fit it has.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import (
    DataError,
    Network,
    QuadraticNetwork,
    RecoveryWarning,
    Result,
    memorize,
    recover,
)
from ._arrays import Floats

__all__ = ["MemorizingRegressor", "TwoLayerReLURegressor"]


class _Regressor(RegressorMixin, BaseEstimator):
    """What both estimators share: validation, the shape of y, warnings."""

    random_state: Any
    threads: int

    def _validated(self, X: Any, y: Any) -> tuple[Floats, Floats]:
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, order="C")
        self._one_output = y.ndim == 1
        return X, np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)

    def _seed(self) -> int:
        if self.random_state is None or isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state or 0)
        return int(check_random_state(self.random_state).randint(2**31))

    def _warn(self, why: str) -> None:
        warnings.warn(why, RecoveryWarning, stacklevel=3)

    def _inputs(self, X: Any) -> Floats:
        check_is_fitted(self)
        checked: Floats = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        return checked

    def _shaped(self, values: Floats) -> Floats:
        return values.reshape(-1) if self._one_output else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class TwoLayerReLURegressor(_Regressor):
    """Fits a ReLU network of one hidden layer, or of several, by `exhume.recover`.

    Constant columns of X, of which nothing can be learned, get weight 0.

    Parameters
    ----------
    hidden : int, sequence of ints or "auto"
        Number of hidden units, one number per layer where there are several.
    layers : int or "auto"
        Number of hidden layers. "auto" tries one first, then more while structure is left and time remains.
    route : str
        "auto", or a route by name (see `exhume.routes`).
    budget : float
        Seconds after which the search stops and the best network so far is taken. A fit that stops this way
        may differ from run to run; all others are deterministic.
    threads : int
        Worker threads, 0 for one per core.
    random_state : int, RandomState or None
        Seed of every random choice; None is 0.

    Attributes
    ----------
    network_ : Network
        The network.
    result_ : Result or None
        All that `exhume.recover` said; None where it refused the data (too few rows, for example) and
        `network_` is a linear least-squares fit.
    n_features_in_ : int
        Number of columns of X.
    """

    network_: Network
    result_: Result | None

    def __init__(
        self,
        hidden: int | Sequence[int] | str = "auto",
        *,
        layers: int | str | None = None,
        route: str = "auto",
        budget: float = 300.0,
        threads: int = 0,
        random_state: Any = None,
    ) -> None:
        self.hidden = hidden
        self.layers = layers
        self.route = route
        self.budget = budget
        self.threads = threads
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> TwoLayerReLURegressor:
        """Recovers the network behind (X, y)."""
        X, y = self._validated(X, y)
        varying = np.ptp(X, axis=0) > 0
        rows = X if varying.all() else np.ascontiguousarray(X[:, varying])
        self.result_ = None
        linear = _linear_fit(rows, y)
        try:
            result = recover(
                rows,
                y,
                self.hidden,
                layers=self.layers,
                route=self.route,
                seed=self._seed(),
                budget=self.budget,
                threads=self.threads,
            )
        except DataError as error:
            self._warn(f"a linear fit is used: {error}")
            self.network_ = _widened(linear, varying)
            return self
        names = getattr(self, "feature_names_in_", None)
        result.input_names = None if names is None else [str(name) for name in names[varying]]
        self.result_ = result
        network = linear if result.status == "refused" else result.network
        if result.status not in ("certified", "estimated"):
            self._warn(result.verdict)
            if network is not linear and _squares(linear, rows, y) < _squares(network, rows, y):
                network = linear
        self.network_ = _widened(network, varying)
        return self

    def predict(self, X: Any) -> Floats:
        """The outputs of the network."""
        inputs = self._inputs(X)
        return self._shaped(self.network_(inputs, threads=self.threads))


class MemorizingRegressor(_Regressor):
    """Fits any labels exactly with a small network of quadratic units: `exhume.memorize` as an estimator.

    The network sees `(x - mean) / scale` and a constant 1 beside it, so it can tell x from -x. Rows that are
    given several times with different labels get the mean of these.

    Parameters
    ----------
    method : str
        "closed", "pgd", "pgd-printed" or "adam" (see `exhume.memorize`).
    layers : 2, 3 or "auto"
        Number of layers.
    tolerance : float
        Relative error up to which labels count as memorised.
    threads : int
        Worker threads, 0 for one per core.
    random_state : int, RandomState or None
        Seed of every random choice; None is 0.

    Attributes
    ----------
    network_ : QuadraticNetwork
        The network, of the inputs as it sees them.
    memorized_ : bool
        Whether the labels are fitted to the tolerance.
    n_features_in_ : int
        Number of columns of X.
    """

    network_: QuadraticNetwork
    memorized_: bool

    def __init__(
        self,
        method: str = "closed",
        *,
        layers: int | str = "auto",
        tolerance: float = 1e-12,
        threads: int = 0,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.layers = layers
        self.tolerance = tolerance
        self.threads = threads
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> MemorizingRegressor:
        """Memorises (X, y)."""
        X, y = self._validated(X, y)
        self._mean = X.mean(axis=0)
        spread = X.std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        distinct, labels, disagree = _distinct_rows(self._lifted(X), y)
        if disagree:
            self._warn("equal rows of X have different labels; their mean is memorised")
        try:
            found = memorize(
                distinct,
                labels,
                method=self.method,
                layers=self.layers,
                tolerance=self.tolerance,
                seed=self._seed(),
                threads=self.threads,
            )
        except DataError as error:
            self._warn(f"a linear fit is used: {error}")
            self.network_, self.memorized_ = _linear_as_quadratic(distinct, labels), False
            return self
        self.network_, self.memorized_ = found.network, found.memorized and not disagree
        if not found.memorized:
            self._warn(found.reason)
        return self

    def predict(self, X: Any) -> Floats:
        """The outputs of the network."""
        lifted = self._lifted(self._inputs(X))
        return self._shaped(self.network_(lifted, threads=self.threads))

    def _lifted(self, X: Floats) -> Floats:
        return np.hstack([(X - self._mean) / self._scale, np.ones((len(X), 1))])


def _linear_fit(x: Floats, y: Floats) -> Network:
    """Least squares, of least norm, as a network without hidden units."""
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    slopes = (
        np.linalg.lstsq(x - mean_x, y - mean_y, rcond=None)[0].T if x.shape[1] else np.zeros((y.shape[1], 0))
    )
    none = np.zeros((0, x.shape[1])), np.zeros(0), np.zeros((y.shape[1], 0))
    return Network(*none, mean_y - slopes @ mean_x, slopes)


def _squares(network: Network, x: Floats, y: Floats) -> float:
    return float(np.square(network(x) - y).sum())


def _widened(network: Network, used: Any) -> Network:
    """The network on all columns, of which it saw the `used` ones."""
    if used.all():
        return network

    def wide(weights: Floats) -> Floats:
        full = np.zeros((len(weights), len(used)))
        full[:, used] = weights
        return full

    inputs = int(used.sum())  # the first columns of every skip term too
    layers = []
    for number, (W, b, L) in enumerate(network.layers):
        skips = None if L is None else np.hstack([wide(L[:, :inputs]), L[:, inputs:]])
        layers.append((wide(W) if number == 0 else W, b, skips))
    return Network(layers)


def _distinct_rows(x: Floats, y: Floats) -> tuple[Floats, Floats, bool]:
    """Every different row of x once, in order, with its mean label; and whether labels disagreed."""
    _, first, inverse = np.unique(x, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(x):
        return x, y, False
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    group = place[inverse.reshape(-1)]
    sums = np.zeros((len(first), y.shape[1]))
    np.add.at(sums, group, y)
    means = sums / np.bincount(group)[:, None]
    rows = np.sort(first)
    exact = y[rows]
    disagree = bool(np.any(y != exact[group]))
    return np.ascontiguousarray(x[rows]), means if disagree else np.ascontiguousarray(exact), disagree


def _linear_as_quadratic(z: Floats, y: Floats) -> QuadraticNetwork:
    """The linear fit g . z, for rows z that end in 1, as z^T M z with M = (g e^T + e g^T) / 2."""
    slopes = np.linalg.lstsq(z, y, rcond=None)[0].T
    units, signs = [], []
    for g in slopes:
        form = np.zeros((z.shape[1], z.shape[1]))
        form[:, -1] += g / 2
        form[-1, :] += g / 2
        values, vectors = np.linalg.eigh(form)
        units.append((vectors * np.sqrt(np.abs(values))).T)
        signs.append(np.sign(values))
    top = np.zeros((len(slopes), len(slopes) * z.shape[1]))
    for output, row in enumerate(signs):
        top[output, output * z.shape[1] : (output + 1) * z.shape[1]] = row
    return QuadraticNetwork(np.vstack(units), top)
