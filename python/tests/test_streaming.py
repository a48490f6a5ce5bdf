"""Samples in blocks: the same bits as from one array, and files that do not stay."""

import os
import tempfile

import numpy as np
import pytest

import exhume


def cut(x, y, lengths):
    start = 0
    for length in lengths:
        yield x[start : start + length], y[start : start + length]
        start += length
    yield x[start:], y[start:]


@pytest.mark.parametrize("lengths", [[], [1], [0, 2999, 0], [1000, 1000], [4096], [7] * 100])
def test_blocks_give_the_same_bits(planted, recovered, lengths):
    found = exhume.recover(cut(planted.x, planted.y, lengths))
    assert found.network == recovered.network
    mine, other = found.certificate, recovered.certificate
    for certificate in (mine, other):
        del (
            certificate["timings"],
            certificate["date"],
            certificate["digest"],
        )  # the digest is also that of the others
    assert mine == other


def test_blocks_may_be_lists_vectors_and_views(planted):
    y = planted.y[:, 0]
    whole = exhume.recover(planted.x, y).network
    pairs = [(np.asfortranarray(a), b) for a, b in cut(planted.x, y, [100, 900])]
    assert exhume.recover(pairs).network == whole
    assert exhume.recover(iter([(planted.x.tolist(), y.tolist())])).network == whole


def test_temporary_files_are_removed(planted, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    exhume.recover(cut(planted.x, planted.y, [1000]))
    assert os.listdir(tmp_path) == []

    def breaks():
        yield planted.x[:10], planted.y[:10]
        raise OSError("the source broke")

    with pytest.raises(OSError, match="the source broke"):
        exhume.recover(breaks())
    assert os.listdir(tmp_path) == []


def refuse(kind, words, blocks):
    with pytest.raises(kind) as refusal:
        exhume.recover(blocks)
    assert words in str(refusal.value)


def test_bad_blocks_are_named(planted):
    x, y = planted.x, planted.y
    refuse(exhume.DataError, "there are no blocks", iter(()))
    refuse(exhume.DataError, "block 1: x has 5 rows but y has 4", [(x[:5], y[:5]), (x[:5], y[:4])])
    refuse(
        exhume.DataError,
        "block 1 has 3 inputs and 5 outputs, those before it 8 and 5",
        [(x, y), (x[:, :3], y)],
    )
    refuse(ValueError, "block 0 is not a pair", [x])
    refuse(ValueError, "x of block 0 has 1 dimensions", [(x[0], y)])
    bad = x[:6].copy()
    bad[4, 2] = np.nan
    refuse(
        exhume.DataError,
        "x of block 2: row 4, column 2 (counting from 0) is nan",
        [(x, y), (x, y), (bad, y[:6])],
    )
