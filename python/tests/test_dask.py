"""Rows on a Dask cluster: the same bytes as from one array."""

import os
import signal

import numpy as np
import pytest

import exhume

dask_array = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def samples():
    planted = exhume.generate(inputs=6, hidden=5, outputs=2, samples=60_000, seed=3)
    return planted.x, planted.y


@pytest.fixture(scope="module")
def alone(samples, tmp_path_factory):
    return saved(exhume.recover(*samples), tmp_path_factory.mktemp("alone"))


def saved(result, folder):
    assert result.status == "certified"
    result.save(folder)
    return (folder / "network.safetensors").read_bytes()


def cluster(workers):
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=None
    )


@pytest.mark.parametrize(("workers", "chunks"), [(1, (60_000,)), (2, (1, 4_095, 20_011, 35_893))])
def test_same_bytes(samples, alone, workers, chunks, tmp_path):
    from exhume import dask as on_dask

    x, y = (dask_array.from_array(rows, chunks=(chunks, -1)) for rows in samples)
    with cluster(workers) as machines, distributed.Client(machines) as client:
        assert saved(on_dask.recover(x, y, client=client), tmp_path) == alone


def test_a_worker_that_is_killed_is_replaced(samples, alone, tmp_path):
    from exhume import dask as on_dask

    x, y = (dask_array.from_array(rows, chunks=(7_001, -1)) for rows in samples)
    with cluster(2) as machines, distributed.Client(machines) as client:
        victim = next(iter(client.run(os.getpid).values()))
        stages = []

        def kill_in_the_second_stage(stage, _fraction):
            if stage not in stages:
                stages.append(stage)
                if len(stages) == 2:
                    os.kill(victim, signal.SIGKILL)

        result = on_dask.recover(x, y, client=client, progress=kill_in_the_second_stage)
        assert len(stages) > 2, "the work went on after the kill"
        assert saved(result, tmp_path) == alone
        client.wait_for_workers(2)
        assert victim not in client.run(os.getpid).values()


def test_data_frames_keep_their_names(samples):
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    from exhume import dask as on_dask

    x, y = samples
    table = pandas.DataFrame(np.hstack([x, y]), columns=[*"abcdef", "u", "v"])
    frame = frames.from_pandas(table, npartitions=3)
    with cluster(1) as machines, distributed.Client(machines) as client:
        result = on_dask.recover(frame[list("abcdef")], frame[["u", "v"]], client=client)
    assert result.status == "certified"
    assert list(result.input_names) == list("abcdef")


def test_bad_rows_are_named(samples):
    from exhume import dask as on_dask

    x, y = samples[0].copy(), samples[1]
    x[31_000, 2] = np.nan
    with cluster(1) as machines, distributed.Client(machines) as client:
        rows = [dask_array.from_array(a, chunks=(10_000, -1)) for a in (x, y)]
        with pytest.raises(exhume.DataError, match="row 31000, column 2"):
            on_dask.recover(*rows, client=client)
        with pytest.raises(ValueError, match="has 59999"):
            on_dask.recover(rows[0], rows[1][1:], client=client)


def test_another_version_is_refused(samples):
    from exhume import _distributed
    from exhume._options import options_of

    options = options_of(budget=60.0)
    job = _distributed.job_of(10, 2, 1, 1, options)._replace(version="0.0.9")
    with pytest.raises(RuntimeError, match="0.0.9; install one version"):
        _distributed.share(job, 0, lambda i: b"", 0, np.zeros((10, 2)), np.zeros((10, 1)))


def test_runs_of_rows_by_partition():
    from exhume._distributed import by_partition

    assert by_partition([(0, 3), (5, 10)], [0, 4, 4, 9], 20) == [[(0, 3)], [], [(1, 4)], [(0, 6)]]
