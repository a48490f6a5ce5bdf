"""What several tests need."""

import os
import pathlib

import numpy as np
import pytest

import exhume

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root():
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def cli():
    """The command line; `make test` names it in EXHUME_CLI."""
    path = pathlib.Path(os.environ.get("EXHUME_CLI", ROOT / "build/release/apps/exhume"))
    if not path.is_file():
        pytest.fail(f"{path} does not exist; run make build, or set EXHUME_CLI")
    return path


@pytest.fixture(scope="session")
def planted():
    """8 inputs, 5 hidden units, 5 outputs, without noise."""
    return exhume.generate(inputs=8, hidden=5, outputs=5, samples=3000, seed=11)


@pytest.fixture(scope="session")
def recovered(planted):
    return exhume.recover(planted.x, planted.y)


@pytest.fixture
def random():
    return np.random.default_rng(7)
