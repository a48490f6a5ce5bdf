"""For the same data and seed the package and the command line give the same bytes."""

import json
import subprocess

import numpy as np
import pytest

import exhume


def run(cli, *arguments):
    done = subprocess.run([cli, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "options",
    [
        {"inputs": 7, "hidden": 5, "outputs": 5, "samples": 5000, "seed": 3},
        {
            "inputs": 5,
            "hidden": 3,
            "outputs": 1,
            "samples": 20001,
            "seed": 4,
            "amplitudes": "signs",
            "bias": 0.8,
        },
        {
            "inputs": 4,
            "hidden": 3,
            "outputs": 4,
            "samples": 9000,
            "seed": 5,
            "noise": 0.05,
            "mean": 1.5,
            "condition": 4.0,
        },
    ],
)
def test_generate_and_recover(cli, tmp_path, options):
    planted = exhume.generate(**options)
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    run(cli, "generate", *flags, "--out", tmp_path / "data")
    assert np.array_equal(np.load(tmp_path / "data/x.npy"), planted.x)
    assert np.array_equal(np.load(tmp_path / "data/y.npy"), planted.y)
    assert exhume.Network.load(tmp_path / "data/network.safetensors") == planted.network

    run(
        cli,
        "recover",
        tmp_path / "data/x.npy",
        tmp_path / "data/y.npy",
        "--seed",
        9,
        "--out",
        tmp_path / "theirs",
    )
    exhume.recover(planted.x, planted.y, seed=9).save(tmp_path / "ours")
    for name in ("network.safetensors", "network.onnx"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    ours, theirs = (
        json.loads((tmp_path / who / "certificate.json").read_text()) for who in ("ours", "theirs")
    )
    for certificate in (ours, theirs):  # what cannot be the same: times, and where the samples came from
        for key in ("timings", "command", "files", "date", "digest"):
            del certificate[key]
    assert ours == theirs


def test_memorize(cli, tmp_path, random):
    x, y = random.standard_normal((60, 12)), random.standard_normal((60, 2))
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    run(cli, "memorize", tmp_path / "x.npy", tmp_path / "y.npy", "--seed", 2, "--out", tmp_path / "theirs")
    found = exhume.memorize(x, y, seed=2)
    found.network.save(tmp_path / "ours.safetensors")
    assert (tmp_path / "ours.safetensors").read_bytes() == (
        tmp_path / "theirs/network.safetensors"
    ).read_bytes()
    assert exhume.QuadraticNetwork.load(tmp_path / "theirs/network.safetensors") == found.network
