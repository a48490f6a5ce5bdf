"""Tables, sparse matrices and tensors in; names kept; a data frame out."""

import sys

import numpy as np
import pandas
import pytest

import exhume

NAMES = ["age", "dose", "height", "income", "score"]


@pytest.fixture(scope="module")
def planted():
    return exhume.generate(inputs=5, hidden=4, outputs=2, samples=3000, seed=12)


@pytest.fixture(scope="module")
def plain(planted):
    return exhume.recover(planted.x, planted.y)


def table_of(kind, values, names):
    module = pytest.importorskip({"pandas": "pandas", "polars": "polars", "pyarrow": "pyarrow"}[kind])
    columns = {name: values[:, i] for i, name in enumerate(names)}
    return module.table(columns) if kind == "pyarrow" else module.DataFrame(columns)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_give_the_same_bits_and_keep_their_names(planted, plain, kind):
    x, y = table_of(kind, planted.x, NAMES), table_of(kind, planted.y, ["up", "down"])
    found = exhume.recover(x, y)
    assert found.network == plain.network
    assert found.input_names == NAMES and found.output_names == ["up", "down"]
    assert found.coefficients()[1].name == "W[0,dose]" and "c[down]" in found.summary()
    assert found == plain and plain.input_names is None


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_one_table_with_targets(planted, plain, kind):
    both = table_of(kind, np.hstack([planted.y[:, :1], planted.x, planted.y[:, 1:]]), ["up", *NAMES, "down"])
    found = exhume.recover(both, target=["up", "down"])
    assert (
        found.network == plain.network and found.input_names == NAMES and found.output_names == ["up", "down"]
    )
    with pytest.raises(ValueError, match="target 'left' is no column; there are up, age"):
        exhume.recover(both, target="left")
    with pytest.raises(ValueError, match="y is missing; give x and y, or target="):
        exhume.recover(both)
    with pytest.raises(ValueError, match="y and target both"):
        exhume.recover(both, planted.y, target="up")
    assert exhume.inspect(both, target=["up", "down"])["inputs"] == 5


def test_columns_of_different_kinds(planted):
    mixed = pandas.DataFrame(
        {"whole": pandas.array(range(50), "Int64"), "yes": [True, False] * 25, "real": np.linspace(0, 1, 50)}
    )
    x = exhume._arrays.as_rows(mixed, "x")
    assert x.dtype == np.float64 and x[3].tolist() == [3.0, 0.0, 3 / 49]
    mixed.loc[7, "whole"] = pandas.NA
    with pytest.raises(exhume.DataError, match=r"x: row 7, column 'whole' \(0, counting from 0\) is NaN"):
        exhume.recover(mixed, np.arange(50.0))


def test_what_holds_no_numbers_is_named(planted):
    table = pandas.DataFrame(planted.x, columns=NAMES)
    with pytest.raises(
        exhume.DataError, match="column 'city' of x does not hold numbers but values like 'Ulm'"
    ):
        exhume.recover(table.assign(city="Ulm"), planted.y)
    with pytest.raises(exhume.DataError, match="column 'day' of x holds times"):
        exhume.recover(table.assign(day=pandas.Timestamp("2026-01-01")), planted.y)
    with pytest.raises(exhume.DataError, match=r"column 'one' \(5, counting from 0\) is constant"):
        exhume.recover(table.assign(one=1.0), planted.y)
    with pytest.raises(exhume.DataError, match="columns 'age' and 'twice'"):
        exhume.recover(table.assign(twice=2 * table.age), planted.y)


def test_numbered_columns_have_no_names(planted):
    assert exhume.recover(pandas.DataFrame(planted.x), planted.y).input_names is None


def test_sparse_matrices(planted):
    sparse = pytest.importorskip("scipy.sparse")
    x = np.where(np.abs(planted.x) > 0.3, planted.x, 0.0)
    y = planted.network(x)
    dense = exhume.recover(x, y).network
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        assert exhume.recover(kind(x), y).network == dense
    with pytest.raises(ValueError, match="y is missing"):
        exhume.recover(sparse.csr_matrix(x))


def test_tensors(planted, plain):
    torch = pytest.importorskip("torch")
    x = torch.tensor(planted.x, requires_grad=True)
    assert exhume.recover(x, torch.tensor(planted.y)).network == plain.network
    single = torch.tensor(planted.x, dtype=torch.float32)
    exact = single.double().numpy()
    y = planted.network(exact)
    assert exhume.recover(single, y).network == exhume.recover(exact, y).network


def test_weights_without_noise(planted, plain):
    table = plain.weights()
    assert list(table.columns) == ["name", "part", "unit", "input", "output", "value"]
    assert len(table) == 4 * 5 + 4 + 2 * 4 + 2 and table.value[0] == plain.network.W[0, 0]
    last = table.iloc[-1]
    assert last["name"] == "c[1]" and last["output"] == 1 and last["value"] == plain.network.c[1]


def test_weights_with_noise(planted):
    noisy = exhume.generate(network=planted.network, samples=20000, noise_relative=0.1, seed=4)
    found = exhume.recover(
        pandas.DataFrame(noisy.x, columns=NAMES), pandas.DataFrame(noisy.y, columns=["up", "down"])
    )
    table = found.weights(0.9)
    assert list(table.columns[6:]) == ["standard_error", "lower", "upper", "z", "p"]
    row = table[table.name == "W[1,income]"].iloc[0]
    error = found.standard_errors.W[1, 3]
    assert (row.unit, row.input, row.standard_error) == (1, "income", error)
    bends = [e.t for e in found.effects() if (e.kind, e.unit, e.input) == ("bend", 1, "income")]
    assert len(bends) == 2 and row.z in bends  # of the output that the unit matters most for
    assert row.upper - row.value == pytest.approx(1.6449 * error, rel=1e-3)
    assert (table.p >= 0).all() and (table.p <= 1).all()
    # Two sides of a standard normal beyond 1.96.
    from exhume._weights import Weight, frame

    one = frame(iter([Weight("c", (0,), None, None, 0, 1.959964, 1.0)]), 0.95, True)
    assert one.p[0] == pytest.approx(0.05, rel=1e-5)


def test_students_law():
    from exhume._weights import deviations, two_sided

    # Tables: 0.975 quantiles with 10 and 30 degrees of freedom.
    assert deviations(0.95, 10) == pytest.approx(2.2281, rel=1e-3)
    assert deviations(0.95, 30) == pytest.approx(2.0423, rel=1e-4)
    assert two_sided(2.2281, 10) == pytest.approx(0.05, rel=1e-2)


def test_intervals_of_normalised_weights_stay_within_one():
    from exhume._weights import Weight, coefficients, frame

    weight = Weight("W", (0, 0), 0, 0, None, 0.98, 0.1)
    (row,) = coefficients(iter([weight]), 0.95)
    assert row.upper == 1 and row.lower == pytest.approx(0.98 - 0.196, abs=1e-3)
    assert frame(iter([weight]), 0.95, True).upper[0] == 1


def test_units_of_a_column_change_no_test(planted):
    noisy = exhume.generate(network=planted.network, samples=20000, noise_relative=0.1, seed=4)
    pounds, tonnes = noisy.x, noisy.x.copy()
    tonnes[:, 3] /= 2204.6
    tables = [exhume.recover(x, noisy.y).weights() for x in (pounds, tonnes)]
    first, second = (sorted(table.z[table.part == "W"].abs()) for table in tables)
    assert first == pytest.approx(second, rel=1e-3)


def test_no_unit_is_a_regression():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 2))
    y = 2 * x[:, 0] + 0.5 * rng.normal(size=400)
    found = exhume.recover(x, y)
    slopes = [e for e in found.effects() if e.kind == "slope"]
    exact = np.linalg.lstsq(np.column_stack([x, np.ones(400)]), y, rcond=None)[0]
    # A tenth of the rows is held out.
    assert [e.value for e in slopes] == pytest.approx(list(exact[:2]), abs=0.03)
    assert slopes[0].p < 1e-12 < slopes[1].p and slopes[0].standard_error == pytest.approx(0.025, rel=0.3)
    assert "slope" in found.summary()


def test_weights_of_several_layers(random):
    net = exhume.Network(
        [(random.standard_normal((k, d)), random.standard_normal(k)) for d, k in [(2, 3), (3, 2), (2, 1)]]
    )
    names = [w.name for w in exhume._weights.weights_of(net, None, ["a", "b"], ["out"])]
    assert (
        names[:2] == ["layers.0.W[0,a]", "layers.0.W[0,b]"]
        and "layers.1.W[1,2]" in names
        and names[-1] == "c[out]"
    )


def test_what_is_missing_is_said(plain, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'exhume\[pandas\]'"):
        plain.weights()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'exhume\[plot\]'"):
        plain.plot()


class Tensor:
    """What a torch tensor on a device is to us."""

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    cpu = to_dense = double = detach

    def numpy(self):
        return self.values


def test_tensors_are_brought_to_the_processor_first(planted, plain):
    assert exhume.recover(Tensor(planted.x), Tensor(planted.y)).network == plain.network


def test_one_file_with_targets(planted, plain, tmp_path):
    names = ["age", 'b "quoted"', "größe", "d, e", "score"]
    table = pandas.DataFrame(np.hstack([planted.x, planted.y]), columns=[*names, "up", "down"])
    table.to_csv(tmp_path / "table.csv", index=False)
    found = exhume.recover(tmp_path / "table.csv", target=["up", "down"])
    assert found.network == plain.network and found == plain
    assert found.input_names == names and found.output_names == ["up", "down"]
    assert found.certificate["input_names"] == names and found.certificate["target"] == [5, 6]
    found.save(tmp_path / "result")
    assert exhume.load(tmp_path / "result").input_names == names
    assert exhume.verify(tmp_path / "result")["agrees"] is True
    assert exhume.inspect(tmp_path / "table.csv", target=["up", "down"])["input_names"] == names
    assert exhume.recover(tmp_path / "table.csv", budget=5).output_names == ["down"]
    with pytest.raises(exhume.DataError, match="target 'left' is no column of .*; there are age"):
        exhume.recover(tmp_path / "table.csv", target="left")
    table.assign(score=1.0).to_csv(tmp_path / "still.csv", index=False)
    with pytest.raises(exhume.DataError, match=r"column 'score' \(4, counting from 0\) is constant"):
        exhume.recover(tmp_path / "still.csv", target=["up", "down"])
    table.to_csv(tmp_path / "indexed.csv")
    indexed = exhume.recover(tmp_path / "indexed.csv", target=["up", "down"], budget=5)
    assert "counts the rows" in indexed.certificate["remarks"][0]


def test_errors_truth_and_shape(planted, tmp_path):
    noisy = exhume.generate(network=planted.network, samples=8000, noise_relative=0.05, seed=3)
    found = exhume.recover(noisy.x, noisy.y, truth=planted.network, shape="1x5")
    assert found.status == "estimated" and found.certificate["truth"]["comparable"] is True
    difference = found.network.align(planted.network).worst_error
    assert found.certificate["truth"]["worst_error"] == pytest.approx(difference, rel=1e-5)
    assert "Units as images" in found.to_html() and "True against recovered" in found.to_html()
    found.save(tmp_path / "result")
    again = exhume.load(tmp_path / "result")
    assert np.array_equal(again.standard_errors.W, found.standard_errors.W)
    assert np.array_equal(again.standard_errors.c, found.standard_errors.c)
    assert again.weights().equals(found.weights())
    plain = exhume.recover(noisy.x, noisy.y)
    assert plain == found and "True against" not in plain.to_html()
    planted.network.save(tmp_path / "truth.safetensors")
    assert "truth.safetensors" in plain.to_html(truth=tmp_path / "truth.safetensors")
    for shape in ((2, 2), (0, 5), "big", 5):
        with pytest.raises(ValueError, match="shape is"):
            exhume.recover(noisy.x, noisy.y, shape=shape)


def test_other_functions_take_targets(planted):
    few = pandas.DataFrame(
        {"up": planted.y[:8, 0], **{f"x{a}": planted.x[:8, a] for a in range(planted.x.shape[1])}}
    )
    fits = [exhume.memorize(few, target="up"), exhume.memorize(planted.x[:8], planted.y[:8, 0])]
    assert fits[0].memorized and fits[0].relative_error == fits[1].relative_error
    for call in (exhume.memorize, exhume.diagnose, exhume.lowest_layer, exhume.halfspaces):
        with pytest.raises(ValueError, match="target 'left' is no column"):
            call(few, target="left")
        with pytest.raises(ValueError, match="y and target both"):
            call(few, planted.y[:8, 0], target="up")
