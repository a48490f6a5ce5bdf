"""Results that were written and come back; results as dictionaries; equality; short reprs."""

import json
import pickle

import numpy as np
import pytest

import exhume


def test_a_result_comes_back(recovered, tmp_path):
    recovered.save(tmp_path / "out")
    again = exhume.load(tmp_path / "out")
    assert isinstance(again, exhume.Result) and again == recovered and hash(again) == hash(recovered)
    assert again.descent and len(again.singular_values) and again.to_html() == recovered.to_html()
    again.save(tmp_path / "twice")
    for name in ("network.safetensors", "network.onnx", "certificate.json", "report.html"):
        assert (tmp_path / "twice" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_errors_come_back_and_are_missed(tmp_path):
    noisy = exhume.generate(inputs=3, hidden=2, outputs=1, samples=2000, noise_relative=0.2, seed=3)
    found = exhume.recover(noisy.x, noisy.y)
    found.save(tmp_path / "noisy")
    again = exhume.load(tmp_path / "noisy")
    assert again == found and again.noise_sd == found.noise_sd > 0
    assert again.coefficients()[0].standard_error == found.coefficients()[0].standard_error > 0
    (tmp_path / "noisy/errors.safetensors").unlink()
    with pytest.raises(exhume.DataError, match="errors.safetensors does not exist"):
        exhume.load(tmp_path / "noisy")


def test_what_other_commands_wrote(planted, random, tmp_path, cli):
    found = exhume.extract(planted.network, inputs=8)
    found.save(tmp_path / "extracted")
    assert exhume.load(tmp_path / "extracted") == found and found != exhume.extract(
        planted.network, inputs=8, seed=1
    )

    import subprocess

    def run(*arguments):
        subprocess.run([cli, *map(str, arguments), "--quiet"], check=False)

    run("generate", "--model", "threshold", "-d", 5, "-k", 3, "-m", 1, "-n", 100000, "--out", tmp_path / "t")
    run("lowest-layer", tmp_path / "t/x.npy", tmp_path / "t/y.npy", "--out", tmp_path / "layer")
    layer = exhume.load(tmp_path / "layer")
    direct = exhume.lowest_layer(tmp_path / "t/x.npy", tmp_path / "t/y.npy")
    assert isinstance(layer, exhume.LowestLayer) and layer.status == direct.status
    assert (
        np.array_equal(layer.W, direct.W)
        and np.array_equal(layer.t, direct.t)
        and layer.assumptions == direct.assumptions
    )

    x = random.standard_normal((50000, 2))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", (x[:, 0] < 1.5).astype(float))
    run("halfspaces", tmp_path / "x.npy", tmp_path / "y.npy", "--hidden", 1, "--out", tmp_path / "set")
    halves = exhume.load(tmp_path / "set")
    assert isinstance(halves, exhume.Halfspaces) and np.array_equal(
        halves(x), exhume.halfspaces(x, x[:, 0] < 1.5, 1)(x)
    )

    np.save(tmp_path / "x.npy", x[:3])
    np.save(tmp_path / "y.npy", x[:3, 0])
    run("memorize", tmp_path / "x.npy", tmp_path / "y.npy", "--out", tmp_path / "memory")
    memory = exhume.load(tmp_path / "memory")
    assert isinstance(memory, exhume.Memorized) and memory.memorized
    assert memory.network == exhume.memorize(x[:3], x[:3, 0]).network


def test_folders_that_hold_no_result(tmp_path, recovered):
    with pytest.raises(exhume.DataError, match="holds no certificate.json"):
        exhume.load(tmp_path)
    (tmp_path / "certificate.json").write_text("[]")
    with pytest.raises(exhume.DataError, match="is no certificate"):
        exhume.load(tmp_path)
    (tmp_path / "certificate.json").write_text('{"kind": "horoscope"}')
    with pytest.raises(exhume.DataError, match="about a horoscope"):
        exhume.load(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        exhume.load(tmp_path / "certificate.json")


def test_dictionaries_go_through_json(recovered):
    told = json.loads(json.dumps(recovered.to_dict()))
    assert told["status"] == "certified" and np.array_equal(told["network"]["W"], recovered.network.W)
    found = exhume.extract(recovered.network, inputs=8)
    assert json.loads(json.dumps(found.to_dict()))["network"]["c"] == found.network.c.tolist()


def test_equality(planted, recovered):
    assert (
        recovered == exhume.recover(planted.x, planted.y, threads=1) == pickle.loads(pickle.dumps(recovered))
    )
    assert recovered != exhume.recover(planted.x, planted.y, seed=1)
    assert recovered != recovered.network and len({recovered, exhume.recover(planted.x, planted.y)}) == 1


def test_reprs_are_short(planted, recovered):
    assert repr(recovered) == "<exhume.Result: certified, 8 inputs, 5 hidden units, 5 outputs, route depth2>"
    assert (
        repr(planted)
        == "<exhume.Planted: 3000 rows of <exhume.Network: 8 inputs, 5 hidden units, 5 outputs>>"
    )
    one = exhume.Network([[1.0]], [0.0], [[1.0]], [0.0])
    assert repr(one) == "<exhume.Network: 1 input, 1 hidden unit, 1 output>"
    assert len(repr(exhume.memorize(planted.x[:30], planted.y[:30]))) < 160
    assert len(repr(exhume.extract(one, inputs=1))) < 160
