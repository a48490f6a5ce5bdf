"""Weights are compared up to order and scale of the units, and nothing else."""

import numpy as np
import pytest

from race import planted
from race.alignment import coverage, flat, unflat, unit_rows, weight_error
from race.networks import Network, from_arrays, one_layer, read_safetensors, write_safetensors


def shuffled(network, random):
    """The same function: other order, other scales."""
    layers, before, factor = [], None, None
    for W, b in network.layers:
        W = W if before is None else W[:, before] / factor
        order, scale = random.permutation(len(b)), random.uniform(0.5, 2, len(b))
        layers.append((W[order] * scale[:, None], b[order] * scale))
        before, factor = order, scale
    return Network(layers, network.A[:, before] / factor, network.c)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("widths", [[4], [5, 3], [3, 4, 2]])
def test_order_and_scale_do_not_count(seed, widths):
    random = np.random.default_rng(seed)
    network = planted.deep_network(random, 3, widths, 2)
    other = shuffled(network, random)
    x = random.standard_normal((20, 3))
    assert np.allclose(network(x), other(x), atol=1e-12)
    assert weight_error(other, network) < 1e-12


def test_a_changed_weight_is_the_error():
    network = one_layer([[1, 0], [0, 1]], [0.5, -0.5], [[2, 3]], [1])
    other = one_layer([[0, 1], [1, 0]], [-0.5, 0.5], [[3, 2.25]], [1])
    assert weight_error(other, network) == pytest.approx(0.25)


def test_other_shapes_have_no_error():
    network = one_layer([[1, 0], [0, 1]], [0, 0], [[1, 1]], [0])
    assert weight_error(one_layer([[1, 0]], [0], [[1]], [0]), network) is None
    assert weight_error(one_layer(*network.arrays().values(), L=np.ones((1, 2))), network) is None
    assert weight_error(None, network) is None


def test_coverage_counts_true_weights_within():
    random = np.random.default_rng(3)
    truth = planted.network(random, 3, 2, 1)
    found = unit_rows(shuffled(truth, random))
    centre = flat(found)
    assert coverage(found, (centre - 1e-9, centre + 1e-9), truth) == 1
    low = centre - 1e-9
    low[0] = centre[0] + 1
    assert coverage(found, (low, centre + 1e-9), truth) == pytest.approx(1 - 1 / len(centre))
    assert np.array_equal(flat(unflat(centre, found)), centre)


def test_files_there_and_back(tmp_path):
    network = planted.deep_network(np.random.default_rng(1), 3, [4, 2], 2)
    network.skips = {1: np.ones((2, 3))}
    write_safetensors(tmp_path / "n.safetensors", network.arrays())
    again = from_arrays(read_safetensors(tmp_path / "n.safetensors"))
    x = np.random.default_rng(2).standard_normal((7, 3))
    assert np.array_equal(again(x), network(x))


def test_skip_terms_by_hand():
    network = Network([(np.array([[1.0]]), np.array([0.0])), (np.array([[1.0]]), np.array([0.0]))], np.array([[1.0]]), np.array([0.0]),
                      L=np.array([[10.0, 100.0]]), skips={1: np.array([[-3.0]])})
    # h1 = x = 2, h2 = max(2 - 3 x, 0) = 0, f = h2 + 10 x + 100 h1
    assert network(np.array([[2.0]])).item() == 220
