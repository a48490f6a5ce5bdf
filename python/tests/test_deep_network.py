"""exhume.Network of several hidden layers: evaluation, comparison, files, recovery."""

import copy
import pickle

import numpy as np
import onnx
import onnxruntime
import pytest

import exhume
from exhume import Network

# Integers throughout: every sum is exact, so equality can be asked for.
PLAIN = [
    ([[1, -2], [3, 0], [0, 1]], [1, -1, 0]),
    ([[1, 2, -1], [0, 1, 4], [-1, 0, 0], [2, -1, 1]], [5, -3, 0, 1]),
    ([[1, 0, -1, 2], [0, 1, 1, -1]], [2, -7]),
]
SKIPS = [None, [[1, 0], [0, 1], [2, -2], [0, 0]], [[1, -1, 0, 2, 0], [0, 0, 1, 0, -3]]]
SKIPPING = [(W, b, L) for (W, b), L in zip(PLAIN, SKIPS)]
BOTH = pytest.mark.parametrize("layers", [PLAIN, SKIPPING], ids=["plain", "skips"])


def by_hand(layers, x):
    rows = []
    for point in x:
        values = [list(point)]
        for number, layer in enumerate(layers):
            z = [sum(w * v for w, v in zip(row, values[-1])) + bias for row, bias in zip(layer[0], layer[1])]
            if len(layer) == 3 and layer[2] is not None:
                lower = [v for value in values[:-1] for v in value]
                z = [y + sum(w * v for w, v in zip(row, lower)) for y, row in zip(z, layer[2])]
            values.append(z if number + 1 == len(layers) else [max(v, 0) for v in z])
        rows.append(values[-1])
    return np.array(rows, dtype=float)


@BOTH
@pytest.mark.parametrize("rows", [1, 2, 7, 4097])
def test_values_are_exact_on_integers(random, layers, rows):
    network = Network(layers)
    x = random.integers(-9, 10, (rows, 2)).astype(float)
    expected = by_hand(layers, x)
    assert np.array_equal(network(x), expected)
    assert np.array_equal(network.predict(x, threads=3), expected)
    assert np.array_equal(network(x[0]), expected[0])


def test_shapes_and_names():
    network = Network(SKIPPING)
    assert (network.inputs, network.widths, network.outputs) == (2, [3, 4], 2)
    assert network.has_skip_terms and not Network(PLAIN).has_skip_terms
    assert (
        repr(network)
        == "<exhume.Network: 2 inputs, hidden layers of 3 and 4 units, 2 outputs, with skip terms>"
    )
    assert repr(Network(PLAIN[2:])) == "<exhume.Network: 4 inputs, no hidden layer, 2 outputs>"
    assert repr(Network(PLAIN[1:])) == "<exhume.Network: 3 inputs, 4 hidden units, 2 outputs>"
    for layer, (W, b, L) in zip(network.layers, SKIPPING):
        assert np.array_equal(layer.W, W) and np.array_equal(layer.b, b) and not layer.W.flags.writeable
        assert (layer.L is None) if L is None else np.array_equal(layer.L, L)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="columns of A is 4, expected 3"):
        Network([PLAIN[0], PLAIN[2]])
    with pytest.raises(ValueError, match="layer 0 has 1 parts"):
        Network([(PLAIN[0][0],)])
    with pytest.raises(ValueError, match="no layers"):
        Network([])
    with pytest.raises(ValueError, match="x has 3 columns, but the network has 2 inputs"):
        Network(PLAIN)(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"is not a .safetensors, .npz or .onnx file"):
        Network(PLAIN).save("network.pt")


@BOTH
def test_pickle_copy_and_equality(layers):
    network = Network(layers)
    for twin in (pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
        assert twin == network and hash(twin) == hash(network) and twin is not network
    assert network != Network(PLAIN[:2]) and network != 3


@BOTH
@pytest.mark.parametrize("ending", ["safetensors", "npz", "onnx"])
def test_files_read_back(tmp_path, layers, ending):
    network = Network(layers)
    network.save(tmp_path / f"n.{ending}")
    assert Network.load(tmp_path / f"n.{ending}") == network


@BOTH
def test_onnxruntime_gives_the_same(tmp_path, random, layers):
    network = Network(layers)
    x = random.integers(-9, 10, (11, 2)).astype(float)
    for single, kind in ((False, np.float64), (True, np.float32)):
        network.to_onnx(tmp_path / "n.onnx", single=single)
        onnx.checker.check_model(onnx.load(tmp_path / "n.onnx"), full_check=True)
        session = onnxruntime.InferenceSession(tmp_path / "n.onnx", providers=["CPUExecutionProvider"])
        (values,) = session.run(None, {session.get_inputs()[0].name: x.astype(kind)})
        assert np.array_equal(values, network(x))
        assert Network.load(tmp_path / "n.onnx") == network


def test_onnxruntime_to_rounding(tmp_path, random):
    sizes = [7, 20, 15, 9, 3]
    network = Network(
        [(random.standard_normal((k, d)), random.standard_normal(k)) for d, k in zip(sizes, sizes[1:])]
    )
    network.save(tmp_path / "n.onnx")
    x = random.standard_normal((1000, 7))
    session = onnxruntime.InferenceSession(tmp_path / "n.onnx", providers=["CPUExecutionProvider"])
    (values,) = session.run(None, {"x": x})
    assert np.abs(values - network(x)).max() <= 1e-12 * np.abs(values).max()


def test_names_of_a_state_dict(tmp_path):
    arrays = {}
    for place, (W, b) in zip((0, 2, 10), PLAIN):
        arrays |= {
            f"{place}.weight": np.array(W, dtype=np.float32),
            f"{place}.bias": np.array(b, dtype=np.float32),
        }
    np.savez(tmp_path / "n.npz", **arrays)
    assert Network.load(tmp_path / "n.npz") == Network(PLAIN)
    with pytest.raises(exhume.DataError, match="nowhere.onnx"):
        Network.load(tmp_path / "nowhere.onnx")


def test_an_operator_that_is_not_read_is_named(tmp_path):
    helper = onnx.helper
    nodes = [helper.make_node("MatMul", ["x", "W"], ["z"]), helper.make_node("Softmax", ["z"], ["y"])]
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, ["n", 2])],
        [helper.make_tensor_value_info("y", kind, ["n", 1])],
        [onnx.numpy_helper.from_array(np.ones((2, 1), np.float32), "W")],
    )
    onnx.save(helper.make_model(graph), tmp_path / "n.onnx")
    with pytest.raises(exhume.DataError, match="operator Softmax"):
        Network.load(tmp_path / "n.onnx")


def test_align_sees_through_order_and_scale(random):
    sizes = [4, 6, 5, 2]
    parts = [(random.standard_normal((k, d)), random.standard_normal(k)) for d, k in zip(sizes, sizes[1:])]
    network = Network(parts)
    other = [list(part) for part in parts]
    for lower, units in ((0, 6), (1, 5)):
        order, scale = random.permutation(units), 2.0 ** random.integers(-3, 4, units)
        other[lower][0] = scale[:, None] * other[lower][0][order]
        other[lower][1] = scale * other[lower][1][order]
        other[lower + 1][0] = other[lower + 1][0][:, order] / scale
    twin = Network(other)
    found = network.align(twin)
    assert found.comparable and found.worst_error < 1e-13 and len(found.worst_of_layer) == 3
    assert [sorted(match) for match in found.match] == [list(range(6)), list(range(5))]
    assert network.canonical().distance(twin.canonical()) < 1e-13
    other[2][1] = other[2][1] + 0.25
    assert network.align(Network(other)).worst_of_layer[2] == pytest.approx(0.25)
    assert network.distance(Network(parts[1:])) == float("inf")


def test_one_hidden_layer_by_names_or_by_layers(planted, tmp_path):
    by_names = planted.network
    by_layers = Network(layers=by_names.layers)
    assert by_layers == by_names == Network(by_names.W, by_names.b, by_names.A, by_names.c)
    assert by_layers.widths == [5] and by_layers.hidden == 5
    assert list(by_layers.to_dict()) == ["W", "b", "A", "c"] and by_layers.L is None
    by_layers.save(tmp_path / "n.npz")
    assert set(np.load(tmp_path / "n.npz")) == {"W", "b", "A", "c"}


def test_names_of_one_hidden_layer_are_refused_at_other_depths():
    network = Network(SKIPPING)
    assert network.hidden == 7 and list(network.to_dict())[-3:] == ["A", "c", "L"]
    for name in "WbAcL":
        with pytest.raises(
            ValueError, match=f"{name} is about networks of one hidden layer, and this one has 2"
        ):
            getattr(network, name)
    with pytest.raises(ValueError, match="W, b, A and c belong together"):
        Network([[1.0]], [0.0])
    with pytest.raises(ValueError, match="instead of W, b, A, c and L"):
        Network([[1.0]], [0.0], [[1.0]], [0.0], layers=PLAIN)


def test_the_old_names_are_kept_for_one_version():
    with pytest.warns(DeprecationWarning, match="exhume.DeepNetwork is now exhume.Network"):
        assert exhume.DeepNetwork is Network
    with pytest.warns(DeprecationWarning, match="exhume.DeepAlignment is now exhume.Alignment"):
        assert exhume.DeepAlignment is exhume.Alignment
    with pytest.warns(DeprecationWarning, match="exhume.Extraction is now exhume.Result"):
        assert exhume.Extraction is exhume.Result
    with pytest.warns(DeprecationWarning, match="is now exhume.estimated_queries"):
        assert exhume.estimated_questions is exhume.estimated_queries


def test_verify(random):
    network = Network(SKIPPING)
    x = random.integers(-9, 10, (50, 2)).astype(float)
    y = network(x)
    assert exhume.verify(network, x, y).worst_error == 0
    y[17, 1] += 2
    found = exhume.verify(network, x, y)
    assert (found.worst_row, found.worst_output, found.worst_error) == (17, 1, 2)


def test_the_digits_network_reads_digits(root):
    network = Network.load(root / "examples/data/digits_64_32_16_10.safetensors")
    assert (network.inputs, network.widths, network.outputs) == (64, [32, 16], 10)
    data = np.load(root / "examples/data/digits.npz")
    x = data["x"].astype(float)
    spread = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(spread == 0, 1, spread)
    assert (network(x).argmax(axis=1) == data["y"]).mean() > 0.98


def small_teacher(seed: int) -> tuple[Network, np.ndarray, np.ndarray]:
    """5-4-3-2, unit rows below, and 6,000 of its samples."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(4, 5))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    layers = [
        (first, 0.3 * rng.normal(size=4)),
        (rng.normal(size=(3, 4)), 0.3 * rng.normal(size=3)),
        (rng.normal(size=(2, 3)), rng.normal(size=2)),
    ]
    network = Network(layers)
    x = rng.normal(size=(6000, 5))
    return network, x, network(x)


def test_recover_two_hidden_layers(tmp_path) -> None:
    network, x, y = small_teacher(3)
    result = exhume.recover(x, y, layers=2, budget=120)
    assert result.status == "certified"
    assert isinstance(result.network, Network)
    assert result.network.widths == [4, 3]
    assert result.network.align(network).worst_error < 1e-9
    assert result.certificate["kind"] == "deep network"
    result.save(tmp_path / "found")
    assert Network.load(tmp_path / "found" / "network.safetensors") == result.network
    assert (tmp_path / "found" / "network.onnx").stat().st_size > 0
    first = network.layers[0]
    known = np.column_stack([first.W, first.b]) * np.array([[-2.0], [0.5], [3.0], [-1.0]])
    peeled = exhume.recover(x, y, first_layer=known)
    assert peeled.status == "certified"
    assert peeled.network.align(network).worst_error < 1e-9


def test_layers_are_checked() -> None:
    _, x, y = small_teacher(4)
    for options, words in [
        ({"layers": 0}, "layers is '0', expected auto or a whole number from 1 to 8"),
        ({"layers": "many"}, "expected auto or a whole number"),
        ({"layers": 2, "hidden": 5}, "give as many widths as layers"),
        ({"layers": 3, "hidden": (4, 3)}, "give as many widths as layers"),
        ({"layers": 9}, "from 1 to 8"),
        ({"layers": 3, "first_layer": np.ones((4, 6))}, "for two hidden layers, but there are 3"),
        ({"first_layer": np.ones((4, 5))}, "units of 4 inputs"),
    ]:
        with pytest.raises(ValueError, match=words):
            exhume.recover(x, y, **options)


def test_auto_passes_everything_on() -> None:
    network, x, y = small_teacher(3)
    first = network.layers[0]
    found = exhume.recover(x, y, layers="auto", first_layer=np.column_stack([first.W, first.b]), budget=120)
    assert found.status == "certified" and found.network.widths == [4, 3]
    planted = exhume.generate(inputs=5, hidden=4, outputs=4, samples=2000, bias=0.0, leak=0.5, seed=5)
    found = exhume.recover(planted.x, planted.y, layers="auto", route="symmetric", leak=0.5)
    asked = found.certificate["options"]
    assert (
        found.route == asked["route"] == "symmetric" and asked["leak"] == "0.5" and asked["layers"] == "auto"
    )
    squares = np.square(np.maximum(planted.x @ planted.network.W.T, 0)) @ planted.network.A.T
    found = exhume.recover(planted.x, squares, layers="auto", route="rectified", activation="square")
    assert found.activation == "square" and found.network.activation == "square"
    with pytest.raises(ValueError, match="leak"):
        exhume.recover(planted.x, planted.y, layers="auto", route="depth2", leak=0.5)


@pytest.mark.parametrize("layers", [1, 2])
def test_a_device_that_is_none_is_refused_by_name(layers):
    x = np.random.default_rng(1).normal(size=(600, 3))
    with pytest.raises(ValueError, match="device is 'gpu'; it may be auto, cpu or cuda"):
        exhume.recover(x, np.abs(x[:, :1]), layers=layers, device="gpu")
