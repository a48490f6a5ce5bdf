"""What stopped people on their first day, one test each."""

import html
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import exhume


def run(cli, *arguments, code=0, **options):
    done = subprocess.run([str(part) for part in (cli, *arguments)], capture_output=True, text=True, **options)
    assert done.returncode == code, f"{arguments} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done


@pytest.fixture(scope="module")
def network():
    return exhume.generate(inputs=5, hidden=4, outputs=2, samples=1, seed=3).network


@pytest.fixture(scope="module")
def exported(network, tmp_path_factory):
    """The network as `torch.onnx.export(model, torch.zeros(1, 5), path)` writes it: float32, one row, Gemm."""
    onnx = pytest.importorskip("onnx")
    from onnx import helper, numpy_helper

    single = {
        "0.weight": network.W.astype(np.float32), "0.bias": network.b.astype(np.float32),
        "2.weight": network.A.astype(np.float32), "2.bias": network.c.astype(np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("Gemm", ["input.1", "0.weight", "0.bias"], ["/0/Gemm_output_0"], alpha=1.0, beta=1.0, transB=1),
        helper.make_node("Relu", ["/0/Gemm_output_0"], ["/1/Relu_output_0"]),
        helper.make_node("Gemm", ["/1/Relu_output_0", "2.weight", "2.bias"], ["6"], alpha=1.0, beta=1.0, transB=1),
    ]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, n]) for name, n in (("input.1", 5), ("6", 2))]
    weights = [numpy_helper.from_array(value, name) for name, value in single.items()]
    graph = helper.make_graph(nodes, "main_graph", ends[:1], ends[1:], weights)
    path = tmp_path_factory.mktemp("exported") / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_default_export_of_pytorch_is_an_oracle(exported, network):
    """Fixed to one row at a time, in float32."""
    found = exhume.extract(exported)
    assert found.status == "certified" and found.network.hidden == 4
    assert found.network.align(network).worst_error < 1e-4


def test_a_default_export_is_served_to_the_command_line(exported, tmp_path, cli):
    command = f"{sys.executable} -m exhume.serve {exported}"
    run(cli, "extract", "--command", command, "--out", tmp_path / "r", "-q")
    assert json.loads((tmp_path / "r/certificate.json").read_text())["status"] == "certified"


def test_a_network_is_loaded_from_onnx(exported, network):
    loaded = exhume.Network.load(exported)
    assert loaded.align(network).worst_error < 1e-6


def test_two_models_are_compared(exported, network):
    found = exhume.compare(network, exported, low=-1, high=1)
    assert found.verdict == "rounding"


def test_a_result_predicts():
    planted = exhume.generate(inputs=4, hidden=3, outputs=1, samples=1500, seed=1)
    result = exhume.recover(planted.x, planted.y)
    assert np.allclose(result.predict(planted.x), planted.y)


def test_the_index_of_a_filtered_table_is_pointed_out(tmp_path, cli):
    """read_csv of a file that to_csv wrote with its index, rows removed before."""
    pandas = pytest.importorskip("pandas")
    planted = exhume.generate(inputs=3, hidden=2, outputs=1, samples=900, seed=1)
    table = pandas.DataFrame(planted.x, columns=["a", "b", "c"]).assign(y=planted.y[:, 0])
    table[table.a > -1].to_csv(tmp_path / "t.csv")
    read = pandas.read_csv(tmp_path / "t.csv")
    remarks = exhume.recover(read, target="y", budget=2).to_dict()["remarks"]
    assert "it looks like an index; leave it out" in remarks[0] and "Unnamed: 0" in remarks[0]
    assert "it looks like an index" in " ".join(run(cli, "inspect", tmp_path / "t.csv", "--target", "y").stdout.split())


@pytest.mark.parametrize("arguments, code, words", [
    (["--help"], 0, "exhume extract --command"),
    ([], 2, "--help"),
    (["--modle", "m.onnx"], 2, "--help"),
    (["nowhere.onnx"], 4, "nowhere.onnx"),
    (["nowhere.safetensors"], 4, "nowhere.safetensors"),
])  # fmt: skip
def test_serve_answers_and_leaves_no_traceback(arguments, code, words):
    done = run(sys.executable, "-m", "exhume.serve", *arguments, code=code)
    assert words in (done.stdout if code == 0 else done.stderr)
    assert "Traceback" not in done.stderr and (code == 0 or done.stderr.count("\n") == 1)


SEVERAL = re.compile(r"(?<![\d.,x])1 (inputs|outputs|(hidden |quadratic )?units|layers|rows|queries|weights)\b(?! (of|reproduce))")


def test_one_unit_is_not_units(tmp_path, cli):
    """One input, one unit, one output, in everything that a session shows."""
    one = ["--inputs", 1, "--hidden", 1, "--outputs", 1]
    said = [run(cli, "generate", *one, "--samples", 400, "--out", tmp_path / "g", "--seed", 2).stdout]
    said.append(run(cli, "inspect", tmp_path / "g/x.npy", tmp_path / "g/y.npy").stdout)
    said.append(run(cli, "recover", tmp_path / "g/x.npy", tmp_path / "g/y.npy", "--out", tmp_path / "r").stdout)
    said.append(run(cli, "verify", tmp_path / "r").stdout)
    model = tmp_path / "g/network.safetensors"
    extracted = run(cli, "extract", model, "--out", tmp_path / "e")
    said += [extracted.stdout, extracted.stderr, run(cli, "verify", tmp_path / "e").stdout]
    said.append(run(cli, "compare", model, tmp_path / "e/network.safetensors", "--out", tmp_path / "c").stdout)
    noisy = ["--network", model, "--samples", 400, "--noise-relative", 0.2, "--out", tmp_path / "n"]
    said.append(run(cli, "generate", *noisy).stdout)
    said.append(run(cli, "recover", tmp_path / "n/x.npy", tmp_path / "n/y.npy", "--out", tmp_path / "s").stdout)
    for folder in ("r", "e", "c", "s"):
        said.append(html.unescape(re.sub(r"<[^>]*>", " ", (tmp_path / folder / "report.html").read_text())))
        said.append((tmp_path / folder / "certificate.json").read_text())
    found = [text[max(match.start() - 40, 0) : match.end() + 40] for text in said for match in SEVERAL.finditer(text)]
    assert not found


def write_nnet(network, path):
    """The text format of the collision avoidance benchmarks: sizes, ranges, means and ranges of inputs, weights, biases."""
    d, k, m = network.inputs, network.hidden, network.outputs
    lines = ["// a network", f"2,{d},{m},{max(d, k, m)}", f"{d},{k},{m}", "0",
             ",".join(["-10"] * d), ",".join(["10"] * d), ",".join(["0"] * (d + 1)), ",".join(["1"] * (d + 1))]
    for W, b in ((network.W, network.b), (network.A, network.c)):
        lines += [",".join(map(repr, map(float, row))) for row in W] + [repr(float(value)) for value in b]
    path.write_text("\n".join(lines) + "\n")


def test_help_of_extract_lists_what_it_reads(network, tmp_path, cli):
    said = " ".join(run(cli, "help", "extract").stdout.split())
    for ending in (".onnx", ".safetensors", ".npz", ".nnet"):
        assert ending in said
    for ending in (".onnx", ".safetensors", ".npz", ".nnet"):
        if ending == ".nnet":
            write_nnet(network, tmp_path / "m.nnet")
        elif ending == ".npz":
            np.savez(tmp_path / "m.npz", W=network.W, b=network.b, A=network.A, c=network.c)
        elif ending == ".onnx":
            network.to_onnx(tmp_path / "m.onnx")
        else:
            network.save(tmp_path / "m.safetensors")
        run(cli, "extract", tmp_path / f"m{ending}", "-q")


def options_of(cli, command):
    return set(re.findall(r"--([a-z-]+)", run(cli, "help", command).stdout))


def test_what_to_do_next_can_be_done(tmp_path, cli):
    """Options that are named are those of the command, and no command sends people to itself."""
    random = np.random.default_rng(1)
    np.save(tmp_path / "x.npy", random.standard_normal((900, 4)))
    np.save(tmp_path / "y.npy", np.sin(5 * np.load(tmp_path / "x.npy")[:, :1]) * np.load(tmp_path / "x.npy")[:, 1:2])
    np.save(tmp_path / "labels.npy", (np.load(tmp_path / "y.npy") > 0).astype(float))
    exhume.generate(inputs=8, hidden=6, outputs=1, samples=1, seed=1).network.save(tmp_path / "m.safetensors")
    tries = {
        "recover": [["x.npy", "y.npy", "--budget", 2], ["x.npy", "y.npy", "--budget", 2, "--layers", "auto"],
                    ["x.npy", "labels.npy", "--budget", 2]],
        "extract": [["m.safetensors", "--queries", 50]],
        "lowest-layer": [["x.npy", "y.npy"]],
        "halfspaces": [["x.npy", "labels.npy"]],
        "memorize": [["x.npy", "y.npy", "--hidden", 2, "--layers", 3]],
    }  # fmt: skip
    for command, calls in tries.items():
        known = options_of(cli, command)
        for call in calls:
            done = subprocess.run([str(part) for part in (cli, command, *call)], capture_output=True, text=True, cwd=tmp_path)
            assert done.returncode in (3, 4), f"{command} {call}: {done.stdout}{done.stderr}"
            if done.returncode == 4:  # refused in one sentence, before anything is found
                continue
            _, _, steps = done.stdout.partition("\n  next ")
            steps = re.split(r"\n  (?:time|written) ", steps)[0]
            assert steps.strip(), f"{command} {call} says nothing to do"
            named = re.findall(r"options? ([a-z]+)(?:(?:,| and) ([a-z]+))?(?: and ([a-z]+))?", " ".join(steps.split()))
            assert {name for group in named for name in group if name} <= known, f"{command} {call}: {steps}"
            assert f"un {command} on" not in steps and (command == "recover" or "inspect" not in steps)
            if "auto" in call:
                assert "several hidden layers" not in steps


def test_what_the_package_needs_is_said(root):
    """Pages and pyproject name the same packages; nothing is "nothing else needed"."""
    tomllib = pytest.importorskip("tomllib")
    needed = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    names = [re.match(r"[\w-]+", each)[0] for each in needed]
    for page in ("README.md", "docs/start.md"):
        text = (root / page).read_text()
        assert all(name in text for name in names), page
        assert "othing else" not in text, page


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_onnx_snippet_of_the_report_runs(tmp_path, cli, kind, monkeypatch):
    pytest.importorskip("onnxruntime")
    planted = exhume.generate(inputs=4, hidden=3, outputs=2, samples=1500, seed=1)
    exhume.recover(planted.x, planted.y).save(tmp_path / "r")
    page = (tmp_path / "r/report.html").read_text()
    snippets = {name: html.unescape(code) for name, code in re.findall(r"<h3>(\w+)</h3>\s*<pre>(.*?)</pre>", page, re.S)}
    monkeypatch.chdir(tmp_path / "r")
    for language in ("ONNX", "Python"):
        names = {"x": planted.x.astype(kind)}
        exec(snippets[language], names)
        assert np.allclose(names["y"], planted.y, atol=1e-4)


def test_exit_codes_are_those_of_the_help(tmp_path, cli):
    said = " ".join(run(cli, "--help").stdout.split())
    for words in ("0 certified, estimated", "3 finished with neither", "2 usage", "4 bad"):
        assert words in said
    planted = exhume.generate(inputs=4, hidden=3, outputs=1, samples=1500, seed=1)
    for name, values in {"x": planted.x, "y": planted.y, "z": np.sin(9 * planted.y)}.items():
        np.save(tmp_path / f"{name}.npy", values)
    planted.network.save(tmp_path / "a.safetensors")
    exhume.generate(inputs=4, hidden=3, outputs=1, samples=1, seed=9).network.save(tmp_path / "b.safetensors")
    for code, call in [
        (0, ["recover", "x.npy", "y.npy", "--out", "r"]),
        (3, ["recover", "x.npy", "z.npy", "--budget", 2]),
        (2, ["recover", "x.npy", "y.npy", "--no-such-option"]),
        (4, ["recover", "x.npy", "nowhere.npy"]),
        (0, ["verify", "r"]),
        (0, ["compare", "a.safetensors", "a.safetensors"]),
        (3, ["compare", "a.safetensors", "b.safetensors"]),
        (4, ["compare", "a.safetensors", "nowhere.safetensors"]),
        (0, ["extract", "a.safetensors"]),
        (3, ["extract", "a.safetensors", "--queries", 20]),
        (4, ["extract", "--command", "exit 1", "--inputs", 4]),
    ]:
        run(cli, *call, code=code, cwd=tmp_path)


def test_outputs_are_not_announced_before_the_oracle_was_asked(tmp_path, cli):
    exhume.generate(inputs=5, hidden=3, outputs=4, samples=1, seed=1).network.save(tmp_path / "m.safetensors")
    said = " ".join(run(cli, "extract", tmp_path / "m.safetensors").stderr.split())
    assert "the first query will show the number of outputs" in said and "5 inputs, one output" not in said
