"""Are two networks the same: compare and the helper for test suites."""

import json
import subprocess

import numpy as np
import pytest

import exhume
from exhume.testing import assert_same_function


@pytest.fixture
def network():
    return exhume.generate(inputs=5, layers=(8, 6), outputs=2, samples=10, seed=3).network


def changed(network, layer=1, place=(2, 3), factor=1.001):
    layers = [(l.W.copy(), l.b.copy()) for l in network.layers]
    layers[layer][0][place] *= factor
    return exhume.Network(layers=layers)


def test_networks(network):
    found = exhume.compare(network, network.canonical(), low=-1, high=1)
    assert found.verdict == "same_network" and found.same and found.bound[1] < 1e-12
    other = changed(network)
    found = exhume.compare(network, other, low=-1, high=1)
    assert found.verdict == "different" and not found.same
    assert [(u["layer"], u["first_row"]) for u in found.units["changed"]] == [(2, 3)]
    gap = np.abs(network(found.worst_input) - other(found.worst_input)).max()
    assert gap == pytest.approx(found.worst_difference, rel=1e-9)
    assert found.bound[0] <= gap <= found.bound[1] * (1 + 1e-9)  # gap itself is rounded


def test_what_the_command_line_says(network, tmp_path, cli):
    network.save(tmp_path / "a.safetensors")
    changed(network).save(tmp_path / "b.safetensors")
    found = exhume.compare(tmp_path / "a.safetensors", tmp_path / "b.safetensors", low=-1, high=1)
    line = [cli, "compare", tmp_path / "a.safetensors", tmp_path / "b.safetensors", "--low", "-1", "--high", "1", "--json"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 3
    assert json.loads(done.stdout) == found.to_dict()


def test_a_function_is_queried(network):
    found = exhume.compare(network, lambda x: network(x).astype(np.float32), queries=3000)
    assert found.verdict == "rounding" and 0 < found.queries <= 3000
    assert exhume.compare(lambda x: network(x), network, queries=3000).verdict == "same_function"
    other = changed(network)
    assert exhume.compare(network, other.__call__, queries=3000).verdict == "different"
    with pytest.raises(KeyError):
        exhume.compare(network, lambda x: {}["missing"])


def test_a_folder(network, tmp_path):
    network.save(tmp_path / "a.safetensors")
    changed(network).save(tmp_path / "b.safetensors")
    found = exhume.compare(tmp_path / "a.safetensors", tmp_path / "b.safetensors", tolerance=1.0)
    found.save(tmp_path / "audit")
    assert {p.name for p in (tmp_path / "audit").iterdir()} == {"certificate.json", "report.html", "boxes.txt"}
    assert exhume.verify(tmp_path / "audit")["verified"] is True
    assert "<svg" in found.to_html() or "worst input" in found.to_html()
    shown = found._repr_html_()  # in a notebook: a page within the page, without links to files
    assert shown.startswith("<iframe") and "./boxes.txt" not in shown and "./certificate.json" not in shown


def test_helper(network):
    assert assert_same_function(network, network.canonical(), tolerance=1e-9).same
    with pytest.raises(AssertionError, match="different by .* worst input"):
        assert_same_function(network, changed(network), tolerance=1e-9, low=-1, high=1)


def test_a_file_in_half_precision(network, tmp_path):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    network.to_onnx(tmp_path / "single.onnx", single=True)
    model = onnx.load(tmp_path / "single.onnx")
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            half = onnx.numpy_helper.to_array(tensor).astype(np.float16)
            tensor.CopyFrom(onnx.numpy_helper.from_array(half, tensor.name))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    onnx.save(model, tmp_path / "half.onnx")
    found = exhume.compare(tmp_path / "single.onnx", tmp_path / "half.onnx", low=-1, high=1)
    assert found.verdict == "rounding" and found.to_dict()["arithmetic"] == "float16"
    served = exhume.oracles.onnx(tmp_path / "half.onnx")
    assert exhume.compare(network, served, low=-1, high=1, queries=2000).verdict == "rounding"


def test_what_cannot_be_compared_is_said_in_a_sentence(network, tmp_path):
    network.save(tmp_path / "a.safetensors")
    exhume.generate(inputs=6, hidden=4, outputs=2, samples=10, seed=3).network.save(tmp_path / "six.safetensors")
    found = exhume.compare(tmp_path / "a.safetensors", tmp_path / "six.safetensors")
    assert found.verdict == "different"
    assert found.reason.startswith("different: ") and found.reason.endswith("a.safetensors has 5 inputs, "
                                                                            f"{tmp_path / 'six.safetensors'} has 6")  # fmt: skip
    for path in ("nowhere.onnx", "nowhere.safetensors"):
        with pytest.raises(exhume.DataError, match="does not exist"):
            exhume.compare(network, tmp_path / path)
    with pytest.raises(exhume.DataError, match=r"answered \d+ queries with an array of shape \(2,\)"):
        exhume.compare(network, lambda x: network(x)[0])
    with pytest.raises(exhume.DataError, match="answers with 1 output, expected 2"):
        exhume.compare(network, lambda x: network(x)[:, :1])


def test_a_noisy_model_is_neither_rounded_nor_the_same(network):
    random = np.random.default_rng(1)

    def noisy(x):
        return network(x) + 1e-3 * random.standard_normal((len(x), 2))

    found = exhume.compare(network, noisy, queries=3000)
    assert found.verdict == "undecided" and "answers the same query differently" in found.reason
    assert exhume.compare(network, noisy, queries=3000, tolerance=0.02).verdict == "same_function"
