"""Rows of a Spark data frame: the same bytes as from one array. `make test-spark` runs these, with Java."""

import os
import signal
import sys

import numpy as np
import pytest

import exhume

pytest.importorskip("pyspark")
pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2,4]")  # two at a time, a task may fail three times
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture(scope="module")
def samples():
    planted = exhume.generate(inputs=5, hidden=4, outputs=2, samples=30_000, seed=8)
    return planted.x, planted.y


@pytest.fixture(scope="module")
def frame(spark, samples):
    names = [*"abcde", "u", "v"]
    table = pandas.DataFrame(np.hstack(samples), columns=names)
    table["id"] = np.arange(len(table))
    return spark.createDataFrame(table.sample(frac=1, random_state=0)).repartition(5)


def saved(result, folder):
    assert result.status == "certified"
    result.save(folder)
    return (folder / "network.safetensors").read_bytes()


def test_same_bytes(frame, samples, tmp_path):
    from exhume import spark as on_spark

    result = on_spark.recover(frame, ["u", "v"], order="id")
    assert saved(result, tmp_path / "spark") == saved(exhume.recover(*samples), tmp_path / "alone")
    assert list(result.input_names) == list("abcde")


@pytest.mark.parametrize("number", [0, 4, 9])
def test_a_task_that_is_killed_is_run_again(frame, samples, number, tmp_path, monkeypatch):
    from exhume import spark as on_spark

    mark = tmp_path / "killed"

    class Killing(on_spark._Share):
        def __call__(self, pieces):
            from pyspark import TaskContext

            if self.number >= number and TaskContext.get().partitionId() == 1 and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().__call__(pieces)

    monkeypatch.setattr(on_spark, "_Share", Killing)
    found = saved(on_spark.recover(frame, ["u", "v"], order="id"), tmp_path / "spark")
    assert mark.exists()
    assert found == saved(exhume.recover(*samples), tmp_path / "alone")


def test_wrong_columns_are_named(frame):
    from exhume import spark as on_spark

    with pytest.raises(ValueError, match="no column 'w'; the columns are"):
        on_spark.recover(frame, "w")
    with pytest.raises(ValueError, match="at least one column"):
        on_spark.recover(frame.select("u"), "u")
