"""Runs that are killed go on where they were."""

import subprocess
import sys

import pytest

import exhume

PROGRAM = """
import sys, exhume
planted = exhume.generate(inputs=12, hidden=10, outputs=2, samples=300_000, seed=4)
exhume.recover(planted.x, planted.y, checkpoint=sys.argv[1], resume=True).save(sys.argv[2])
"""


def test_killed_runs_go_on(tmp_path):
    checkpoint, out = tmp_path / "checkpoint", tmp_path / "out"
    command = [sys.executable, "-c", PROGRAM, checkpoint, out]
    for seconds in (1.5, 2.0, 2.5):
        try:
            subprocess.run(command, timeout=seconds, check=True)  # killed with SIGKILL
        except subprocess.TimeoutExpired:
            pass
    subprocess.run(command, check=True, timeout=300)
    planted = exhume.generate(inputs=12, hidden=10, outputs=2, samples=300_000, seed=4)
    exhume.recover(planted.x, planted.y).save(tmp_path / "alone")
    name = "network.safetensors"
    assert (out / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
    assert not checkpoint.exists()


def test_other_samples_and_options_are_refused(planted, tmp_path):
    def stop(stage, fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exhume.recover(planted.x, planted.y, checkpoint=tmp_path, progress=stop)
    assert (tmp_path / "checkpoint.log").exists()
    with pytest.raises(exhume.DataError, match="earlier run"):
        exhume.recover(planted.x, planted.y, checkpoint=tmp_path)
    with pytest.raises(exhume.DataError, match="made with seed 0, now it is 1"):
        exhume.recover(planted.x, planted.y, seed=1, checkpoint=tmp_path, resume=True)
    with pytest.raises(exhume.DataError, match="made with outputs"):
        exhume.recover(planted.x, planted.y + 1, checkpoint=tmp_path, resume=True)
    assert exhume.recover(planted.x, planted.y, checkpoint=tmp_path, resume=True).status == "certified"
    with pytest.raises(ValueError, match="resume needs a checkpoint"):
        exhume.recover(planted.x, planted.y, resume=True)
