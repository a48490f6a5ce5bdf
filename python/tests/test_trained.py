"""Networks that others trained: 200,000 Gaussian queries, and the weights to 1e-9."""

import warnings

import numpy as np
import onnxruntime
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPRegressor

import exhume


def test_digits_64_16_1(tmp_path):
    images, labels = load_digits(return_X_y=True)
    scale = images.std(axis=0)
    images = (images - images.mean(axis=0)) / np.where(scale > 0, scale, 1)
    model = MLPRegressor(hidden_layer_sizes=(16,), max_iter=300, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(images, (labels - labels.mean()) / labels.std())
    x = np.random.default_rng(5).standard_normal((200_000, 64))
    y = model.predict(x)

    result = exhume.recover(x, y)
    assert result.status == "certified" and result.network.hidden == 16
    assert result.network.align(exhume.Network.from_sklearn(model)).worst_error <= 1e-9

    result.network.to_onnx(tmp_path / "n.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "n.onnx", providers=["CPUExecutionProvider"])
    (values,) = session.run(None, {session.get_inputs()[0].name: x[:5000]})
    assert np.abs(values[:, 0] - y[:5000]).max() <= 1e-10
