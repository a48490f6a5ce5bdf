"""What the referee computes from an answer, and what counts as a success."""

import numpy as np

from .alignment import coverage, weight_error

EXACT = 1e-6  # of the outputs' standard deviation, on fresh inputs
CLOSE = 0.05  # the same, where there is noise or no network
EFFICIENT = 1.5  # times the Cramér–Rao bound
LABELS = 1e-3  # fresh labels wrong

SUCCESS = {
    "exact": ("heldout_error", EXACT),
    "close": ("heldout_error", CLOSE),
    "labels": ("heldout_error", LABELS),
    "efficient": ("cramer_rao", EFFICIENT),
    "none": (None, None),
}


def relative_error(predicted, y):
    """Root mean square of the error over the outputs' standard deviation."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.sqrt(np.mean((predicted - y) ** 2) / np.mean((y - y.mean(axis=0)) ** 2)))
    return error if np.isfinite(error) else None


def wrong_labels(predicted, y):
    return float(np.mean((predicted > 0.5) != (y > 0.5)))


def cramer_rao(predicted, instance):
    """Mean squared error over that of an efficient estimator, free parameters x variance / rows; None without noise."""
    sd = np.array(instance.facts.get("noise_sd", [0.0]))
    if instance.truth is None or not sd.all():
        return None
    free = sum(part.size for part in instance.truth.arrays().values()) - sum(instance.truth.widths)
    return float(np.sum(np.mean((predicted - instance.test_y) ** 2, axis=0) / sd**2) * len(instance.x) / free)


def score(instance, predicted, network, intervals, success):
    found = {}
    labels = instance.facts.get("labels")
    found["heldout_error"] = (wrong_labels if labels else relative_error)(predicted, instance.test_y)
    if instance.truth is not None:
        found["weight_error"] = weight_error(network, instance.truth) if network is not None else None
        found["cramer_rao"] = cramer_rao(predicted, instance)
        if intervals is not None:
            found["coverage"] = coverage(network, intervals, instance.truth)
    key, limit = SUCCESS[success]
    if key is not None:
        found["success"] = found.get(key) is not None and found[key] <= limit
    return {name: value for name, value in found.items() if value is not None}
