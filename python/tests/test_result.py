"""exhume.Result: intervals, pictures, report, files."""

import json
import pickle

import matplotlib
import numpy as np
import pytest

import exhume

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def noisy():
    return exhume.generate(inputs=4, hidden=3, outputs=3, samples=20000, noise=0.1, seed=21)


@pytest.fixture(scope="module")
def fitted(noisy):
    return exhume.recover(noisy.x, noisy.y)


def test_noise_and_standard_errors(noisy, fitted):
    assert fitted.status == "estimated"
    assert fitted.noise_sd == pytest.approx(0.1, rel=0.02)  # 60,000 residuals: a standard error of 0.3 %
    errors = fitted.standard_errors
    assert errors is not None and errors.W.shape == fitted.network.W.shape and (errors.W > 0).all()


def test_a_result_predicts(noisy, fitted):
    assert (fitted.predict(noisy.x[:5]) == fitted.network(noisy.x[:5])).all()


def test_intervals_hold_the_truth(noisy, fitted):
    truth = noisy.network.canonical()
    (match,) = fitted.network.align(truth).match
    parts = (truth.W[match].ravel(), truth.b[match], truth.A[:, match].ravel(), truth.c)
    rows = fitted.coefficients(0.9999)
    expected = np.concatenate(parts)
    assert len(rows) == len(expected) == 4 * 3 + 3 + 3 * 3 + 3
    # 27 intervals at 0.9999: one of them misses with probability 0.003.
    for row, value in zip(rows, expected):
        assert row.lower <= value <= row.upper, row
    half, whole = fitted.coefficients(0.5)[0], rows[0]
    assert whole.lower < half.lower < half.value < half.upper < whole.upper
    assert half.upper - half.value == pytest.approx(0.67449 * half.standard_error, rel=1e-4)
    with pytest.raises(ValueError, match="confidence is 1"):
        fitted.coefficients(1)


def test_summary(fitted, recovered):
    lines = fitted.summary().splitlines()
    assert lines[0] == fitted.verdict and lines[2].split() == ["coef", "std", "err", "[0.025", "0.975]"]
    assert lines[4].startswith("W[0,0]") and lines[-1].startswith("c[2]")
    assert recovered.standard_errors is None and recovered.noise_sd == 0
    assert all(row.lower == row.value == row.upper for row in recovered.coefficients())


@pytest.mark.parametrize("kind", ["heldout", "singular_values", "descent"])
def test_plots(fitted, kind):
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    ax = fitted.plot(kind)
    assert isinstance(ax, Axes) and ax.lines and ax.get_xlabel()
    own = pyplot.subplots()[1]
    assert fitted.plot(kind, ax=own) is own
    pyplot.close("all")


def test_an_unknown_plot_is_refused(fitted):
    with pytest.raises(ValueError, match="kind is 'pie'"):
        fitted.plot("pie")


def test_report(fitted, tmp_path):
    assert fitted.to_html().startswith("<!") and fitted._repr_html_().startswith("<iframe srcdoc=")
    assert "<script" not in fitted._repr_html_()
    # Beside a notebook lie none of the files that the page in a result's folder links to.
    assert 'href="./network.onnx"' in fitted.to_html() and "./network.onnx" not in fitted._repr_html_()
    assert repr(fitted) == "<exhume.Result: estimated, 4 inputs, 3 hidden units, 3 outputs, route depth2>"
    fitted.save(tmp_path / "out")
    names = {"network.safetensors", "network.onnx", "errors.safetensors", "certificate.json", "report.html"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names
    assert json.loads((tmp_path / "out/certificate.json").read_text()) == fitted.certificate
    assert exhume.Network.load(tmp_path / "out/network.safetensors") == fitted.network


def test_pickle(fitted):
    twin = pickle.loads(pickle.dumps(fitted))
    assert twin.network == fitted.network and twin.certificate == fitted.certificate
    assert twin.summary() == fitted.summary()


def test_unrecoverable_data_are_a_result_not_an_error(random):
    x = random.standard_normal((5000, 3))
    found = exhume.recover(x, np.sin(3 * x[:, 0]) * x[:, 1], hidden=2, budget=3)
    assert found.status == "uncertified" and found.reason
    assert not all(assumption["holds"] for assumption in found.certificate["assumptions"])
    assert found.network.hidden == 2


def test_a_refusal_has_no_network(recovered):
    certificate = recovered.certificate | {
        "status": "refused",
        "verdict": "No network was returned: it is so",
    }
    refused = exhume.Result(json.dumps(certificate), None)
    assert refused.status == "refused"
    with pytest.raises(RuntimeError, match="No network was returned: it is so"):
        refused.network
