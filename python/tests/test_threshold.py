"""exhume.halfspaces and exhume.lowest_layer, on planted boundaries."""

import importlib.util

import numpy as np
import pytest

import exhume


def planted(random, rows=60000, inputs=6, count=3, offset=1.5):
    """Orthonormal normals, Gaussian inputs."""
    normals = np.linalg.qr(random.standard_normal((inputs, count)))[0].T
    x = random.standard_normal((rows, inputs))
    return x, normals, x @ normals.T - offset


def angles(found, truth):
    """The angle of every true direction to the nearest found one."""
    return np.arccos(np.clip((truth @ found.T).max(axis=1), -1, 1))


@pytest.mark.parametrize("intersection", [True, False])
def test_halfspaces(random, intersection):
    x, normals, above = planted(random)
    far = (above > 0).any(axis=1)
    labels = np.where(far != intersection, 1.0, 0.0)
    found = exhume.halfspaces(x, labels, hidden=3)
    assert found.status == "certified", found.reason
    assert len(found.t) == 3
    assert angles(found.W, normals).max() < 0.02 and np.abs(found.t - 1.5).max() < 0.02
    assert (found(x) == labels).mean() > 0.999 and found.agreement > 0.999
    assert repr(found).endswith("of 3 in 6 dimensions, certified>")
    assert found.certificate["kind"] == "halfspaces" and found.certificate["agreement"] == found.agreement


def test_lowest_layer(random):
    x, normals, above = planted(random)
    units = np.maximum(above, 0)
    y = units.sum(axis=1) + units[:, 0] * units[:, 1]
    found = exhume.lowest_layer(x, y, hidden=3)
    assert found.status == "certified", found.reason
    assert found.activation == "relu" and all(assumption.holds for assumption in found.assumptions)
    assert angles(found.W, normals).max() < 1e-4 and np.abs(found.t - 1.5).max() < 1e-3
    assert 1e-4 < angles(found.start, normals).max() < 0.2 and found.worst_error < 1e-6


@pytest.mark.parametrize("biased", [False, True])
def test_sigmoids(random, biased):
    x, normals, above = planted(random, rows=400000 if biased else 60000, offset=3.0)
    y = (1 / (1 + np.exp(-above))).sum(axis=1)
    if biased:
        kept = random.random(len(y)) * 3 < y
        x, y = x[kept], y[kept]
    found = exhume.lowest_layer(x, y, hidden=3, activation="sigmoid", biased=biased)
    assert found.status == "certified", found.reason
    assert np.abs(np.sort(found.W @ normals.T, axis=1)[:, -1] - 1).max() < 1e-9
    assert np.abs(found.t - 3).max() < 1e-9


def test_refusals(random):
    x, _, above = planted(random, rows=500)
    with pytest.raises(exhume.DataError):
        exhume.halfspaces(x, above[:, 0])
    with pytest.raises(ValueError):
        exhume.lowest_layer(x, above[:, 0], activation="tanh")


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_the_example_of_a_deep_network(root):
    pytest.importorskip("sklearn")
    spec = importlib.util.spec_from_file_location("deep_network", root / "examples/deep_network.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    layer, left = example.main(rows=150_000, training=4_000)
    assert layer.status == "certified", layer.reason
    in_parts, whole = left.values()
    assert in_parts < 0.01 and in_parts < whole / 2
