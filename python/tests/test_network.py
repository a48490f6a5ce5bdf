"""exhume.Network: evaluation, comparison, files."""

import copy
import pickle

import numpy as np
import onnxruntime
import pytest

import exhume
from exhume import Network

# Integers throughout: every sum is exact, so equality can be asked for.
W, b = [[1, -2], [3, 0], [0, 1]], [1, -1, 0]
A, c = [[1, 2, -1], [0, 1, 4]], [5, -3]
L = [[1, 1], [-2, 0]]


def by_hand(x, linear):
    rows = []
    for point in x:
        units = [max(sum(w * v for w, v in zip(row, point)) + bias, 0) for row, bias in zip(W, b)]
        outputs = [sum(a * u for a, u in zip(row, units)) + const for row, const in zip(A, c)]
        if linear:
            outputs = [y + sum(w * v for w, v in zip(row, point)) for y, row in zip(outputs, L)]
        rows.append(outputs)
    return np.array(rows, dtype=float)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 7, 4097])
def test_values_are_exact_on_integers(random, linear, rows):
    network = Network(W, b, A, c, L if linear else None)
    x = random.integers(-9, 10, (rows, 2)).astype(float)
    expected = by_hand(x, linear)
    assert np.array_equal(network(x), expected)
    assert np.array_equal(network(x, threads=3), expected)
    assert np.array_equal(network(x.tolist()), expected)
    assert np.array_equal(network(x[0]), expected[0])


def test_no_rows_give_no_values():
    assert Network(W, b, A, c)(np.zeros((0, 2))).shape == (0, 2)


def test_shapes_and_names():
    network = Network(W, b, A, c, L)
    assert (network.inputs, network.hidden, network.outputs) == (2, 3, 2)
    assert repr(network) == "<exhume.Network: 2 inputs, 3 hidden units, 2 outputs, with a linear term>"
    for name, value in (("W", W), ("b", b), ("A", A), ("c", c), ("L", L)):
        part = getattr(network, name)
        assert np.array_equal(part, value) and not part.flags.writeable
    assert Network(W, b, A, c).L is None


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError):
        Network(W, [1, 2], A, c)
    with pytest.raises(ValueError):
        Network(W, b, [[1, float("nan"), 0], [0, 0, 0]], c)
    with pytest.raises(ValueError, match="x has 3 columns, but the network has 2 inputs"):
        Network(W, b, A, c)(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="x has 3 dimensions"):
        Network(W, b, A, c)(np.zeros((4, 3, 2)))


def test_pickle_copy_and_equality():
    network = Network(W, b, A, c, L)
    for twin in (pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
        assert twin == network and hash(twin) == hash(network) and twin is not network
    assert network != Network(W, b, A, c) and network != 3


@pytest.mark.parametrize("linear", [False, True])
def test_files(tmp_path, random, linear):
    network = Network(W, b, A, c, L if linear else None)
    network.save(tmp_path / "n.safetensors")
    assert Network.load(tmp_path / "n.safetensors") == network
    x = random.integers(-9, 10, (11, 2)).astype(float)
    for single, kind in ((False, np.float64), (True, np.float32)):
        network.to_onnx(tmp_path / "n.onnx", single=single)
        session = onnxruntime.InferenceSession(tmp_path / "n.onnx", providers=["CPUExecutionProvider"])
        (values,) = session.run(None, {session.get_inputs()[0].name: x.astype(kind)})
        assert np.array_equal(values, network(x))


def test_missing_file_is_a_data_error(tmp_path):
    with pytest.raises(exhume.DataError, match="nowhere.safetensors"):
        Network.load(tmp_path / "nowhere.safetensors")


def test_align_sees_through_order_and_scale(planted):
    teacher = planted.network
    order, scale = [3, 0, 4, 1, 2], np.array([2.0, 0.5, 4.0, 1.0, 8.0])
    other = Network(
        scale[:, None] * teacher.W[order], scale * teacher.b[order], teacher.A[:, order] / scale, teacher.c
    )
    alignment = teacher.align(other)
    assert (
        alignment.comparable
        and alignment.worst_error < 1e-14
        and sorted(alignment.match[0]) == list(range(5))
    )
    assert other.canonical().align(teacher.canonical()).worst_error < 1e-14

    moved = Network(teacher.W, teacher.b, teacher.A, teacher.c + 0.25)
    assert teacher.align(moved).worst_error == pytest.approx(0.25)
    assert teacher.align(moved).worst_unit == teacher.align(moved).worst_layer == -1

    fewer = teacher.align(Network(teacher.W[:2], teacher.b[:2], teacher.A[:, :2], teacher.c))
    assert not fewer.comparable and fewer.worst_error == float("inf")


def test_align_with_free_signs(planted):
    # max(z, 0) = max(-z, 0) + z: the unit turned around, and a linear term for the difference.
    t = planted.network
    turned = Network(
        np.vstack([-t.W[:1], t.W[1:]]),
        np.concatenate([-t.b[:1], t.b[1:]]),
        t.A,
        t.c + t.A[:, 0] * t.b[0],
        np.outer(t.A[:, 0], t.W[0]),
    )
    assert np.allclose(turned(planted.x[:50]), t(planted.x[:50]), atol=1e-13)
    assert t.align(turned).worst_error > 0.1
    assert t.align(turned, free_signs=True).worst_error < 1e-13


def test_from_sklearn_refuses_what_it_cannot_read():
    with pytest.raises(ValueError, match="no coefs_"):
        Network.from_sklearn(object())


@pytest.mark.parametrize("widths", [(4,), (4, 3)])
def test_from_sklearn_reads_any_depth(random, widths):
    neural_network = pytest.importorskip("sklearn.neural_network")
    x = random.standard_normal((60, 3))
    model = neural_network.MLPRegressor(hidden_layer_sizes=widths, max_iter=5, solver="lbfgs").fit(
        x, np.abs(x[:, 0])
    )
    network = Network.from_sklearn(model)
    assert network.widths == list(widths) and np.allclose(network(x)[:, 0], model.predict(x), atol=1e-12)


def test_verify(planted):
    found = exhume.verify(planted.network, planted.x, planted.y)
    assert found.rows == 3000 and found.relative_mse < 1e-29
    y = planted.y.copy()
    y[17, 3] += 2.0
    found = exhume.verify(planted.network, planted.x, y)
    assert (found.worst_row, found.worst_output) == (17, 3)
    assert found.worst_error == pytest.approx(2.0) and found.rms_error == pytest.approx(2 / np.sqrt(15000))
