"""exhume.recover: arrays of every kind, refusals, interruption, threads."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import exhume


def test_a_planted_network_is_recovered(planted, recovered):
    assert recovered.status == "certified"
    assert recovered.network.hidden == 5
    assert recovered.network.align(planted.network).worst_error < 1e-12
    assert recovered.certificate["samples"] == 3000


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_do_not_depend_on_threads(planted, recovered, threads):
    assert exhume.recover(planted.x, planted.y, threads=threads).network == recovered.network


def test_layouts_give_the_same_bits(planted, recovered):
    x, y = planted.x, planted.y
    wide = np.zeros((len(x), 2 * x.shape[1]))
    wide[:, ::2] = x
    for values in (np.asfortranarray(x), wide[:, ::2], x.tolist(), x.astype(">f8"), memoryview(x)):
        assert exhume.recover(values, y).network == recovered.network


def test_single_precision_is_converted(planted):
    x = planted.x.astype(np.float32)
    exact = x.astype(np.float64)
    y = planted.network(exact)
    assert exhume.recover(x, y).network == exhume.recover(exact, y).network


class Exporter:
    """An array that can only be had through DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_dlpack(planted, recovered):
    assert exhume.recover(Exporter(planted.x), Exporter(planted.y)).network == recovered.network


def test_numpy_integers_are_options(planted, recovered):
    found = exhume.recover(planted.x, planted.y, np.int64(5), seed=np.uint8(0), threads=int(np.int32(1)))
    assert found.network.align(recovered.network).worst_error < 1e-12


def test_one_output_may_be_a_vector(planted):
    flat = exhume.recover(planted.x, planted.y[:, 0])
    assert flat.network.outputs == 1
    assert flat.network == exhume.recover(planted.x, planted.y[:, :1]).network


def test_files(planted, recovered, tmp_path):
    np.save(tmp_path / "x.npy", planted.x)
    np.save(tmp_path / "y.npy", planted.y)
    np.savez(tmp_path / "both.npz", x=planted.x, y=planted.y)
    assert exhume.recover(tmp_path / "x.npy", str(tmp_path / "y.npy")).network == recovered.network
    found = exhume.recover(tmp_path / "both.npz")
    assert found.network == recovered.network
    digest = hashlib.sha256((tmp_path / "both.npz").read_bytes()).hexdigest()
    assert found.certificate["files"] == [
        {"role": "samples", "path": str(tmp_path / "both.npz"), "sha256": digest}
    ]


def test_routes(planted):
    assert len(exhume.routes.names()) >= 2
    for name in exhume.routes.names():
        assert getattr(exhume.routes, name.replace("-", "_")).name == name
    found = exhume.routes.any_inputs(planted.x, planted.y, hidden=5)
    assert found.route == "any_inputs" and found.network.align(planted.network).worst_error < 1e-9


def test_every_route_of_the_library_is_there(planted):
    """The library names its routes where it is given a wrong one."""
    with pytest.raises(ValueError, match="route is 'nowhere', expected auto, ") as refusal:
        exhume.recover(planted.x, planted.y, route="nowhere")
    named = str(refusal.value).split("expected auto, ")[1].split(";")[0].replace(" or ", ", ").split(", ")
    assert sorted(named) == sorted(exhume.routes.names())


def refuse(kind, words, *arguments, **options):
    with pytest.raises(kind) as refusal:
        exhume.recover(*arguments, **options)
    assert type(refusal.value) is kind
    assert words in str(refusal.value)


def test_bad_data_are_refused_in_the_librarys_words(planted):
    x, y = planted.x, planted.y
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "-infinity")):
        bad = x.copy()
        bad[1234, 5] = value
        refuse(exhume.DataError, f"x: row 1234, column 5 (counting from 0) is {name}", bad, y)
    bad = y.copy()
    bad[0, 4] = np.nan
    refuse(exhume.DataError, "y: row 0, column 4 (counting from 0) is NaN", x, bad)
    refuse(exhume.DataError, "x has 3000 rows but y has 2999", x, y[:-1])
    refuse(exhume.DataError, "too few", x[:20], y[:20], 50)
    refuse(exhume.DataError, "empty", x[:0], y[:0])
    refuse(exhume.DataError, "does not hold numbers", [["a", "b"]], [1.0])
    constant = x.copy()
    constant[:, 2] = 3.0
    refuse(exhume.DataError, "constant", constant, y)


def test_bad_options_are_refused(planted):
    x, y = planted.x, planted.y
    refuse(ValueError, "hidden is 0, expected at least 1", x, y, 0)
    refuse(ValueError, "hidden is 'many'", x, y, "many")
    refuse(ValueError, "hidden is 2.5", x, y, 2.5)
    refuse(ValueError, "seed is -1", x, y, seed=-1)
    refuse(ValueError, "seed is 1.5", x, y, seed=1.5)
    refuse(ValueError, "threads is -1", x, y, threads=-1)
    refuse(ValueError, "budget is 0", x, y, budget=0.0)
    refuse(ValueError, "x has 1 dimensions, expected 2", x[:, 0], y)
    refuse(ValueError, "complex", x.astype(complex), y)
    refuse(ValueError, "y is missing", x)
    refuse(ValueError, "holds the inputs only", "x.npy")
    refuse(ValueError, "x is a file but y is not", "x.npy", y)
    refuse(exhume.DataError, "nowhere.npy", "nowhere.npy", "nowhere.npy")
    assert issubclass(exhume.DataError, ValueError)


def test_progress_is_called_and_may_stop_the_work(planted):
    seen = []
    exhume.recover(planted.x, planted.y, progress=lambda stage, fraction: seen.append((stage, fraction)))
    assert seen and all(isinstance(stage, str) and 0 <= fraction <= 1 for stage, fraction in seen)

    class Enough(Exception):
        pass

    def stop(stage, fraction):
        raise Enough(stage)

    with pytest.raises(Enough):
        exhume.recover(planted.x, planted.y, progress=stop)


def test_a_bar_is_drawn(planted, capsys):
    exhume.recover(planted.x, planted.y, progress=True)
    assert "%" in capsys.readouterr().err


def endless(seconds=120.0):
    """Work that goes on until the budget ends: noise has no network behind it."""
    x = np.random.default_rng(3).standard_normal((20000, 12))
    y = np.sin(7 * x[:, 0]) * np.cos(5 * x[:, 1]) + x[:, 2] * x[:, 3] * x[:, 4]
    return exhume.recover(x, y, route="any_inputs", budget=seconds)


def test_interrupt():
    """SIGINT, as Ctrl-C sends it, ends the work soon, in KeyboardInterrupt."""
    # A shell starts what it runs in the background with SIGINT ignored; Python then leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            endless()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 60


def test_other_threads_run_meanwhile():
    """The GIL is released: a counter in another thread advances while the library works."""
    counts, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counts[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        endless(2.0)
    finally:
        done.set()
        counter.join()
    # A second or more of work; without the GIL the counter would stand still.
    assert counts[0] > 50


def test_four_threads_at_once():
    problems = [exhume.generate(inputs=6, hidden=4, outputs=4, samples=4000, seed=seed) for seed in range(4)]
    alone = [exhume.recover(p.x, p.y, threads=2).network for p in problems]
    together = [None] * 4

    def work(i):
        together[i] = exhume.recover(problems[i].x, problems[i].y, threads=2).network

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    for network, problem in zip(alone, problems):
        assert network.align(problem.network).worst_error < 1e-10


BIG = """
import resource
import exhume

def peak():  # in MB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

planted = exhume.generate(inputs=64, hidden=4, outputs=4, samples=1_000_000, seed=5)
assert planted.x.nbytes == 512_000_000 and planted.x.flags.c_contiguous
before = peak()
result = exhume.recover(planted.x, planted.y)
print("grew by", peak() - before, "MB")
assert result.network.align(planted.network).worst_error < 1e-9
assert peak() - before < 100

def blocks():  # of growing length
    start, length = 0, 1
    while start < len(planted.x):
        yield planted.x[start : start + length], planted.y[start : start + length]
        start, length = start + length, 3 * length // 2 + 1 if length < 50_000 else length

streamed = exhume.recover(blocks())
print("grew by", peak() - before, "MB")
assert streamed.network == result.network
assert peak() - before < 100
"""


def test_a_million_rows_are_not_copied(tmp_path):
    run = subprocess.run([sys.executable, "-c", BIG], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
