"""The estimators, as scikit-learn itself checks them and as people use them."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import exhume
from exhume.sklearn import MemorizingRegressor, TwoLayerReLURegressor

# Checks that may fail, with the reason; there are none.
EXCEPTIONS = {}
# Checks that scikit-learn itself leaves out here, because they are about another array library.
LEFT_OUT = {"check_array_api_input"}


@pytest.mark.parametrize(
    "estimator", [TwoLayerReLURegressor(), MemorizingRegressor()], ids=lambda e: type(e).__name__
)
@pytest.mark.filterwarnings("ignore")
def test_check_estimator(estimator):
    results = check_estimator(estimator, expected_failed_checks=EXCEPTIONS, on_skip=None)
    assert len(results) > 40
    assert {result["check_name"] for result in results if result["status"] != "passed"} <= LEFT_OUT


@pytest.fixture(scope="module")
def data():
    planted = exhume.generate(inputs=5, hidden=3, outputs=1, samples=1500, seed=2)
    return planted.x, planted.y[:, 0], planted.network


def test_exact_data_give_the_network(data):
    x, y, teacher = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TwoLayerReLURegressor().fit(x, y)
    assert model.result_.status == "certified"
    assert model.network_.align(teacher).worst_error < 1e-9
    assert model.score(x, y) > 1 - 1e-12 and model.predict(x).shape == y.shape
    assert exhume.Network.from_sklearn(model) is model.network_


def test_several_outputs_and_constant_columns(planted):
    x = np.insert(planted.x, 2, 7.0, axis=1)
    model = TwoLayerReLURegressor().fit(x, planted.y)
    assert model.predict(x).shape == planted.y.shape
    assert np.allclose(model.predict(x), planted.y, atol=1e-10)
    assert model.network_.inputs == 9 and not model.network_.W[:, 2].any()


def test_several_hidden_layers_and_constant_columns():
    # Every unit of this network is on for 40 to 64% of the rows, so that the rows determine it.
    planted = exhume.generate(inputs=4, layers=(4, 3), outputs=2, samples=5000, seed=1)
    x = np.insert(planted.x, 1, -2.0, axis=1)
    model = TwoLayerReLURegressor(layers=2).fit(x, planted.y)
    assert model.result_.status == "certified" and model.network_.widths == [4, 3]
    assert np.allclose(model.predict(x), planted.y, atol=1e-10)
    assert model.network_.inputs == 5 and not model.network_.layers[0].W[:, 1].any()


def test_pipeline_grid_search_and_cross_validation(data):
    x, y, _ = data
    pipe = make_pipeline(StandardScaler(), TwoLayerReLURegressor(hidden=3))
    assert cross_val_score(pipe, x, y, cv=3).min() > 1 - 1e-12
    with pytest.warns(exhume.RecoveryWarning):
        search = GridSearchCV(TwoLayerReLURegressor(budget=3), {"hidden": [1, 3]}, cv=2).fit(x, y)
    assert search.best_params_ == {"hidden": 3} and search.best_score_ > 1 - 1e-12


@pytest.mark.parametrize(
    "make", [lambda: TwoLayerReLURegressor(hidden=3, random_state=1), MemorizingRegressor]
)
def test_pickles_and_clones(data, make):
    x, y = data[0][:300], data[1][:300]
    model = make().fit(x, y)
    twin = pickle.loads(pickle.dumps(model))
    assert np.array_equal(twin.predict(x), model.predict(x))
    again = clone(model).fit(x, y)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.predict(x), model.predict(x))


def test_unrecoverable_data_warn_and_are_fitted(random):
    x = random.standard_normal((4000, 3))
    y = np.abs(x[:, 0]) ** 1.5 + np.sin(4 * x[:, 1])
    with pytest.warns(exhume.RecoveryWarning, match="not certified"):
        model = TwoLayerReLURegressor(hidden=2, budget=3).fit(x, y)
    assert model.score(x, y) > 0.3
    with pytest.warns(exhume.RecoveryWarning, match="a linear fit is used: .* too few"):
        model = TwoLayerReLURegressor().fit(x[:10], x[:10, 0])
    assert model.result_ is None and np.allclose(model.predict(x[:10]), x[:10, 0])
    with pytest.warns(exhume.RecoveryWarning):
        model = TwoLayerReLURegressor().fit(np.ones((50, 2)), np.arange(50.0))
    assert np.allclose(model.predict(np.ones((4, 2))), 24.5)


def test_memorizing(random):
    x, y = random.standard_normal((150, 6)), random.standard_normal((150, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MemorizingRegressor().fit(x, y)
    assert model.memorized_ and np.allclose(model.predict(x), y, atol=1e-5)
    # A row and its negative are told apart, and so is zero.
    x = np.array([[1.0, 2.0], [-1.0, -2.0], [0.0, 0.0]])
    model = MemorizingRegressor().fit(x, [1.0, 5.0, -3.0])
    assert np.allclose(model.predict(x), [1, 5, -3])


def test_memorizing_what_cannot_be(random):
    x, y = random.standard_normal((20, 4)), random.standard_normal(20)
    doubled, labels = np.vstack([x, x[:3]]), np.concatenate([y, y[:3] + 1])
    with pytest.warns(exhume.RecoveryWarning, match="different labels"):
        model = MemorizingRegressor().fit(doubled, labels)
    assert not model.memorized_
    assert np.allclose(model.predict(x)[:4], np.append(y[:3] + 0.5, y[3]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = MemorizingRegressor().fit(np.vstack([x, x[:3]]), np.concatenate([y, y[:3]]))
    assert again.memorized_
    with pytest.warns(exhume.RecoveryWarning, match="a linear fit is used"):
        model = MemorizingRegressor(layers=2).fit(np.arange(30.0).reshape(-1, 1), 2 * np.arange(30.0) + 1)
    assert not model.memorized_ and np.allclose(model.predict([[4.0], [-2.0]]), [9, -3])


def test_names_of_columns_reach_the_result(data):
    pandas = pytest.importorskip("pandas")
    x, y = data[0], data[1]
    table = pandas.DataFrame(x, columns=[f"input {i}" for i in range(x.shape[1])]).assign(always=1.0)
    fitted = TwoLayerReLURegressor().fit(table, y)
    assert fitted.result_.input_names == [f"input {i}" for i in range(x.shape[1])]
    assert fitted.result_.weights().input[0] == "input 0"
