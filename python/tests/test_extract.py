"""exhume.extract and exhume.oracles: functions, models and a service on loopback."""

import http.server
import json
import subprocess
import sys
import threading
import warnings

import exhume
import numpy as np
import pytest


def network(inputs, hidden, outputs, seed=1):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((hidden, inputs))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    return exhume.Network(
        W,
        0.3 * rng.standard_normal(hidden),
        rng.standard_normal((outputs, hidden)),
        rng.standard_normal(outputs),
    )


def test_a_function_is_extracted_exactly(tmp_path, cli):
    secret = network(30, 8, 2)
    asked = []

    def f(x):
        asked.append(len(x))
        return secret(x)

    found = exhume.extract(f, inputs=30)
    assert found.status == "certified"
    assert found.queries == sum(asked)
    assert found.network.align(secret).worst_error < 1e-10
    found.save(tmp_path / "result")
    assert subprocess.run([cli, "verify", tmp_path / "result"], capture_output=True).returncode == 0


def test_the_limit_holds_and_errors_come_through():
    secret = network(30, 8, 1)
    found = exhume.extract(secret, inputs=30, queries=300)
    assert found.status == "refused" and found.queries <= 300
    with pytest.raises(RuntimeError, match="limit of 300"):
        _ = found.network

    def fails(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        exhume.extract(fails, inputs=3)
    with pytest.raises(exhume.DataError, match="nan"):
        exhume.extract(lambda x: np.full(len(x), np.nan), inputs=3)
    with pytest.raises(ValueError, match="inputs is missing"):
        exhume.extract(lambda x: x)
    assert "curve" in exhume.extract(lambda x: np.exp(x[:, 0]) * x[:, 1] ** 2, inputs=5).reason


def test_resumes_from_its_log(tmp_path):
    secret = network(20, 5, 1)
    log = tmp_path / "q.log"
    calls = 0

    def dies(x):
        nonlocal calls
        calls += 1
        if calls > 8:
            raise ConnectionError("gone")
        return secret(x)

    with pytest.raises(ConnectionError):
        exhume.extract(dies, inputs=20, log=log)
    dies.__qualname__ = "again"
    with pytest.raises(exhume.DataError, match="another extraction"):
        exhume.extract(dies, inputs=20, log=log, resume=True)


@pytest.fixture
def service():
    secret = network(10, 4, 2)

    class Handler(http.server.BaseHTTPRequestHandler):
        failures = 1

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if Handler.failures > 0:
                Handler.failures -= 1
                self.send_error(503)
                return
            answer = json.dumps({"outputs": secret(np.array(body["inputs"])).tolist()}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", secret
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_service_on_loopback(service):
    url, secret = service
    found = exhume.extract(exhume.oracles.http(url, 10, batch=200))
    assert found.status == "certified"
    assert found.network.align(secret).worst_error < 1e-9
    with pytest.raises(exhume.DataError, match="failed 1 times"):
        exhume.extract(exhume.oracles.http("http://127.0.0.1:9/", 10, retries=0, timeout=2))


def test_models_of_scikit_learn_and_onnx(tmp_path, cli):
    sklearn = pytest.importorskip("sklearn.neural_network")
    rng = np.random.default_rng(3)
    x = rng.standard_normal((300, 6))
    model = sklearn.MLPRegressor(hidden_layer_sizes=(7,), max_iter=300, random_state=0).fit(
        x, np.abs(x).sum(axis=1)
    )
    found = exhume.extract(model)
    assert found.status == "certified" and found.network.hidden == 7
    onnxruntime = pytest.importorskip("onnxruntime")
    del onnxruntime
    secret = network(12, 5, 2)
    secret.to_onnx(tmp_path / "model.onnx")
    assert exhume.extract(tmp_path / "model.onnx").network.align(secret).worst_error < 1e-9
    command = f"{sys.executable} -m exhume.serve {tmp_path / 'model.onnx'}"
    ran = subprocess.run(
        [cli, "extract", "--command", command, "--inputs", "12", "--json"], capture_output=True
    )
    assert json.loads(ran.stdout)["status"] == "certified"


def test_queries_are_estimated_before_the_first():
    assert 5000 < exhume.estimated_queries(10, [10, 10]) < 8192
    assert exhume.estimated_queries(784, 32) == exhume.estimated_queries(784, [32]) < 2**15.3
    assert exhume.estimated_queries(40, (20, 10, 10)) < 2**15.5


def test_every_input_has_its_own_ends():
    secret = network(3, 4, 1)
    low, high = np.array([-2.0, -1.0, 0.0]), np.array([2.0, 3.0, 1.5])

    def f(x):
        assert (x >= low).all() and (x <= high).all()
        return secret(x)

    found = exhume.extract(f, inputs=3, low=low, high=high)
    assert found.status == "certified"
    x = low + (high - low) * np.random.default_rng(1).random((100, 3))
    assert np.abs(found.network(x) - secret(x)).max() < 1e-9
    data = np.stack([low, high])
    assert exhume.extract(f, inputs=3, domain=data).status == "certified"
    with pytest.raises(ValueError, match="domain"):
        exhume.extract(f, inputs=3, domain=data, low=0, high=1)
    with pytest.raises(ValueError, match="2 inputs"):
        exhume.extract(f, inputs=3, low=[0, 0], high=[1, 1])


def test_time_ends_it_with_the_best_so_far():
    rng = np.random.default_rng(1)
    W = [rng.standard_normal((b, a)) for a, b in ((12, 24), (24, 24), (24, 24), (24, 1))]

    def f(x):
        for w in W[:-1]:
            x = np.maximum(x @ w.T + 0.3, 0)
        return x @ W[-1].T

    assert "the time was over" in exhume.extract(f, inputs=12, budget=1.5).reason


def test_complex_answers_are_refused():
    with pytest.raises(exhume.DataError, match="complex"):
        exhume.extract(lambda x: x.sum(axis=1) + 1j, inputs=3)


def test_classifiers_give_probabilities():
    sklearn = pytest.importorskip("sklearn.neural_network")
    x = np.random.default_rng(3).standard_normal((300, 4))
    model = sklearn.MLPClassifier((5,), max_iter=60, random_state=0).fit(x, (x[:, 0] > 0).astype(int))
    found = exhume.extract(model, low=-2, high=2)
    assert found.status == "certified", found.reason


def test_single_precision_in_a_box_ends_with_a_verdict():
    """It was a crash where no plane of a first layer was found (64 inputs, trained on digits, inputs in [-1, 1])."""
    datasets = pytest.importorskip("sklearn.datasets")
    sklearn = pytest.importorskip("sklearn.neural_network")
    images, labels = datasets.load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sklearn.MLPClassifier((12,), max_iter=300, alpha=0.1, random_state=0).fit(images / 16, labels)
    (W, A), (b, c) = ([part.astype(np.float32) for part in parts] for parts in (model.coefs_, model.intercepts_))
    found = exhume.extract(lambda x: np.maximum(x.astype(np.float32) @ W + b, 0) @ A + c, inputs=64, low=-1, high=1)
    assert found.status in ("certified", "uncertified", "refused") and found.to_dict()["reason"]
