"""exhume.memorize and exhume.QuadraticNetwork."""

import pickle

import numpy as np
import onnxruntime
import pytest

import exhume
from exhume import QuadraticNetwork


def test_values_are_exact_on_integers(random):
    x = random.integers(-4, 5, (9, 2)).astype(float)
    W, A, R = (
        np.array([[1.0, 2], [0, -1], [3, 1]]),
        np.array([[1.0, 0, -1], [0, 1, 0]]),
        np.array([[1.0, 1], [2, -1]]),
    )
    assert np.array_equal(QuadraticNetwork(W, A)(x), np.square(x @ W.T) @ A.T)
    assert np.array_equal(QuadraticNetwork(W, A, R, 3)(x), np.square((x @ R.T) ** 3 @ W.T) @ A.T)


@pytest.mark.parametrize("rows, layers", [(50, 2), (120, 3)])
def test_any_labels_are_fitted(random, tmp_path, rows, layers):
    x, y = random.standard_normal((rows, 10)), random.standard_normal((rows, 2))
    found = exhume.memorize(x, y)
    assert found.memorized and found.relative_error < 1e-12
    assert np.allclose(found.network(x), y, atol=1e-6)
    assert (found.network.R is None) == (layers == 2)
    assert pickle.loads(pickle.dumps(found.network)) == found.network
    found.network.to_onnx(tmp_path / "n.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "n.onnx", providers=["CPUExecutionProvider"])
    (values,) = session.run(None, {session.get_inputs()[0].name: x})
    assert np.allclose(values, found.network(x), rtol=1e-9, atol=1e-9)


def test_refusals(random):
    x, y = random.standard_normal((50, 4)), random.standard_normal(50)
    with pytest.raises(exhume.DataError, match=r"50 rows are more than the 10 = d\(d\+1\)/2"):
        exhume.memorize(x, y, layers=2)
    with pytest.raises(ValueError, match="layers is 4"):
        exhume.memorize(x, y, layers=4)
    with pytest.raises(ValueError, match="method is 'luck'"):
        exhume.memorize(x, y, method="luck")
    x[3] = -x[1]
    with pytest.raises(exhume.DataError):
        exhume.memorize(x, y)
