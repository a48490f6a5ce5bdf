"""Every command and option of the command line exists in Python, under the same name."""

import inspect
import re
import subprocess

import numpy as np
import pytest

import exhume

FUNCTIONS = {
    "generate": exhume.generate,
    "inspect": exhume.inspect,
    "recover": exhume.recover,
    "extract": exhume.extract,
    "compare": exhume.compare,
    "verify": exhume.verify,
    "report": exhume.Result.to_html,
    "memorize": exhume.memorize,
    "reproduce": exhume.reproduce,
    "diagnose": exhume.diagnose,
    "lowest-layer": exhume.lowest_layer,
    "halfspaces": exhume.halfspaces,
    "routes": exhume.routes.names,
    "keys": exhume.keys,
    "moments": exhume.moments,
    "sums": exhume.sums,
    "step": exhume.step,
}
ABOUT_THE_PROGRAM = {"help", "completion", "man"}
# What a program needs and a function does not, and where its place is.
ELSEWHERE = {
    "out": "Result.save",
    "sign": "Result.save(sign=)",
    "json": "Result.to_dict",
    "quiet": "progress",
    "force": "Result.save",
    "help": "help()",
    ("compare", "command"): "a, b",
    ("compare", "text"): "a, b",
    ("compare", "timeout"): "a, b",
    ("report", "threads"): "a moment's work",
    ("routes", "threads"): "a moment's work",
    ("keys", "threads"): "a moment's work",
    ("extract", "network"): "f",
    ("extract", "command"): "f",
    ("extract", "text"): "f",
    ("extract", "timeout"): "f",
    ("lowest-layer", "no-refine"): "refine=False",
}


def listed(cli, *arguments):
    return subprocess.run([cli, *arguments], capture_output=True, text=True, check=True).stdout


def test_every_command_has_a_function(cli):
    commands = set(re.findall(r"^  ([a-z][a-z-]*) {2,}", listed(cli, "--help").split("Options:")[0], re.M))
    assert commands == set(FUNCTIONS) | ABOUT_THE_PROGRAM


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_option_has_a_parameter(cli, command):
    options = set(re.findall(r"^  (?:-\w, )?--([a-z][a-z-]*)", listed(cli, "help", command), re.M))
    parameters = {name.replace("_", "-") for name in inspect.signature(FUNCTIONS[command]).parameters}
    missing = [
        name for name in options - parameters if name not in ELSEWHERE and (command, name) not in ELSEWHERE
    ]
    assert not missing, f"exhume {command} has {missing}, the function has not"


def test_rectified_methods_and_activations(tmp_path, cli):
    planted = exhume.generate(inputs=6, hidden=4, outputs=4, samples=3000, bias=0.0, seed=5)
    W, A = planted.network.W, planted.network.A
    y = np.square(np.maximum(planted.x @ W.T, 0)) @ A.T
    found = exhume.recover(planted.x, y, route="rectified", activation="square")
    assert found.status == "certified" and found.route == "rectified-tensor"
    assert isinstance(found.network, exhume.RectifiedNetwork) and found.network.activation == "square"
    assert np.abs(found.network(planted.x) - y).max() < 1e-12
    found.save(tmp_path / "squares")
    assert {path.name for path in (tmp_path / "squares").iterdir()} == {
        "rectified.safetensors",
        "certificate.json",
        "report.html",
    }
    assert exhume.load(tmp_path / "squares") == found
    assert (
        exhume.recover(planted.x, planted.y, route="rectified", method="symmetric").route
        == "rectified-symmetric"
    )
    with pytest.raises(ValueError, match="method belongs to the route rectified, but route is auto"):
        exhume.recover(planted.x, planted.y, method="ica")
    with pytest.raises(ValueError):
        exhume.recover(planted.x, planted.y, route="depth2", activation="square")


def test_mirrored_is_what_the_command_line_does(tmp_path, cli):
    planted = exhume.generate(
        inputs=5, hidden=4, outputs=4, samples=1001, bias=0.0, distribution="exponential", seed=6
    )
    mirror = planted.network(-planted.x)
    for name, values in (("x", planted.x), ("y", planted.y), ("m", mirror)):
        np.save(tmp_path / f"{name}.npy", values)
    paths = [tmp_path / f"{name}.npy" for name in ("x", "y", "m")]
    subprocess.run(
        [
            cli,
            "recover",
            *paths[:2],
            "--mirrored",
            paths[2],
            "--route",
            "symmetric",
            "--out",
            tmp_path / "cli",
            "--quiet",
        ],
        check=True,
    )
    expected = exhume.load(tmp_path / "cli")
    for x, y, m in ((planted.x, planted.y, mirror), paths):
        found = exhume.recover(x, y, mirrored=m, route="symmetric")
        assert found.status == "certified" and found.network == expected.network
    assert found == expected
    with pytest.raises(ValueError, match="mirrored is a file but x is not"):
        exhume.recover(planted.x, planted.y, mirrored=paths[2])


def test_require(planted):
    noisy = exhume.generate(network=planted.network, samples=5000, noise_relative=0.1, seed=2)
    assert exhume.recover(noisy.x, noisy.y, require="estimated").status == "estimated"
    with pytest.raises(exhume.NotCertified, match="estimated: ") as refusal:
        exhume.recover(noisy.x, noisy.y, require="certified")
    assert refusal.value.result.network.hidden == 5
    with pytest.raises(ValueError, match="require is 'good'"):
        exhume.recover(planted.x, planted.y, require="good")


def test_diagnose_and_inspect(planted, tmp_path):
    found = exhume.diagnose(planted.x, planted.y, network=planted.network)
    assert found["symmetric"] is True and found["distinguishing_least"] > 0
    planted.network.save(tmp_path / "net.safetensors")
    assert exhume.diagnose(planted.x, planted.y, network=tmp_path / "net.safetensors") == found
    blocks = [(planted.x[:1000], planted.y[:1000]), (planted.x[1000:], planted.y[1000:])]
    assert exhume.inspect(blocks) == exhume.inspect(planted.x, planted.y)
    bad = planted.x.copy()
    bad[3, 2] = np.nan
    with pytest.raises(exhume.DataError, match="x: row 3, column 2"):
        exhume.inspect(bad, planted.y)
    with pytest.raises(exhume.DataError, match="nowhere"):
        exhume.inspect("nowhere.npy", "nowhere.npy")


def test_reproduce_refuses_what_it_does_not_know(tmp_path):
    with pytest.raises(ValueError, match="lottery"):
        exhume.reproduce("lottery", tmp_path)


@pytest.mark.parametrize(
    "options, kind",
    [
        (
            {"hidden": 3, "outputs": 3, "orthonormal": True, "weights_condition": 5.0, "bias": 0.0},
            exhume.Network,
        ),
        ({"hidden": 3, "outputs": 2, "distribution": "laplace", "perturb": 0.1}, exhume.Network),
        ({"layers": (4, 3), "outputs": 2, "bias": 0.2}, exhume.Network),
        (
            {"hidden": 3, "outputs": 1, "model": "threshold", "threshold": 1.5, "upper": "pairs"},
            exhume.Thresholds,
        ),
    ],
)
def test_generate_makes_what_the_command_line_makes(cli, tmp_path, options, kind):
    planted = exhume.generate(inputs=4, samples=300, seed=9, **options)
    line = [
        cli,
        "generate",
        "--inputs",
        "4",
        "--samples",
        "300",
        "--seed",
        "9",
        "--out",
        tmp_path / "made",
        "--quiet",
    ]
    for name, value in options.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        line += [f"--{name.replace('_', '-')}"] + ([] if value is True else [text])
    subprocess.run(line, check=True)
    assert isinstance(planted.network, kind) and len(repr(planted)) < 200
    assert np.array_equal(planted.x, np.load(tmp_path / "made/x.npy")) and np.array_equal(
        planted.y, np.load(tmp_path / "made/y.npy")
    )


def test_generate_from_what_is_given(tmp_path):
    deep = exhume.generate(inputs=4, layers=(4, 3), outputs=2, samples=10, seed=1).network
    again = exhume.generate(network=deep, samples=50, seed=3)
    assert again.network == deep and np.allclose(again.y, deep(again.x))
    rows = np.arange(12.0).reshape(3, 4)
    drawn = exhume.generate(inputs=4, hidden=2, outputs=1, samples=20, distribution="rows", rows=rows)
    assert {tuple(np.abs(row)) for row in drawn.x} <= {tuple(row) for row in rows}
    (tmp_path / "f.cnf").write_text("p cnf 6 2\n1 2 3 4 5 6 0\n-1 -2 -3 -4 -5 -6 0\n")
    hard = exhume.generate(cnf=tmp_path / "f.cnf")
    assert hard.network is None and hard.x.shape[1] == 8


def test_signatures(planted, recovered, tmp_path):
    private, public = exhume.keys(tmp_path / "mine")
    np.save(tmp_path / "x.npy", planted.x)
    np.save(tmp_path / "y.npy", planted.y)
    found = exhume.recover(tmp_path / "x.npy", tmp_path / "y.npy")
    found.save(tmp_path / "signed", sign=private)
    assert exhume.verify(tmp_path / "signed", key=public)["verified"] is True
    found.save(tmp_path / "unsigned")
    assert exhume.verify(tmp_path / "unsigned", key=public)["verified"] is False
    with pytest.raises(ValueError, match="about a folder"):
        exhume.verify(recovered.network, planted.x, planted.y, key=public)
