"""exhume.structure: detectors, groups and even units."""

import numpy as np
import pytest

import exhume
from exhume import structure


def test_detector_tells_a_direction_from_one_nearby(random):
    x = random.standard_normal((300000, 5))
    units = (x[:, :4] > 1.0).astype(float)
    y = units[:, 0] * units[:, 1] + units[:, 2] * units[:, 3]
    near = np.array([[np.cos(0.3), 0, 0, 0, np.sin(0.3)]])
    seen = structure.detect(x, y, directions=np.vstack([np.eye(5)[:4], near]), at=1.0)
    assert (seen.score[:4] > 6).all() and abs(seen.score[4]) < 6
    found = structure.climb(x, y, direction=[1, 0.15, 0, 0, 0], at=1.05)
    assert np.arccos(min(1, found.direction[0])) < 0.06 and abs(found.threshold - 1) < 0.06


@pytest.mark.parametrize("function", [structure.correlation_groups, structure.exponential_groups])
def test_groups(random, function):
    x = random.standard_normal((60000, 9))
    truth = [[0, 4, 8], [1, 2, 6], [3, 5, 7]]
    y = sum(np.exp(x[:, group].sum(axis=1)) for group in truth)
    found = function(x, y)
    assert found.groups == truth and found.contrast > 0


def test_noise_has_no_groups(random):
    x = random.standard_normal((20000, 9))
    assert structure.correlation_groups(x, random.standard_normal(20000)).contrast <= 0


def test_even_directions(random):
    x = random.standard_normal((30000, 4))
    W = np.linalg.qr(random.standard_normal((4, 4)))[0]
    z = np.abs(x @ W.T)
    directions, left = structure.even_directions(x, z @ [1.0, 0.7, 1.2, 0.9] + 0.3 * z[:, 0] * z[:, 1], 4)
    assert np.abs(np.abs(directions @ W.T).max(axis=0) - 1).max() < 1e-9 and left < 1e-12


def test_refusals(random):
    x = random.standard_normal((500, 3))
    with pytest.raises(ValueError, match="step or kink"):
        structure.detect(x, x[:, 0], directions=np.eye(3), at=1.0, detector="bump")
    with pytest.raises(ValueError, match="number of units"):
        structure.even_directions(x, x[:, 0], "auto")
    with pytest.raises(exhume.DataError):
        structure.exponential_groups(x, x[:, 0])
