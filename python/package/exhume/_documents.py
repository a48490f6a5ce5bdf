"""What answers with a document: inspect, diagnose, reproduce, sums of several sites; and keys."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

from . import _core
from ._network import Network
from ._options import seed_of
from ._samples import is_path, opened, paths_of, taken_apart
from ._tables import named_columns, names_of

Document = dict[str, Any]


def inspect(x: Any, y: Any = None, *, target: Any = None, threads: int = 0) -> Document:
    """What can be expected of samples before anything is fitted: what `exhume inspect --json` prints.

    Takes seconds. Keys: "fits" (whether a route applies), "precision" of the outputs, "gaussian",
    "symmetric", "linear_share", "most_hidden" (how many units so many rows can determine), "tests", "routes"
    (which apply, and why the others do not), "obstacles" and "advice" (what would help), and more.

    Parameters
    ----------
    x, y, target
        Samples as in `recover`.

    >>> import exhume
    >>> planted = exhume.generate(inputs=5, hidden=4, outputs=4, samples=2000)
    >>> found = exhume.inspect(planted.x, planted.y)
    >>> found["fits"], found["precision"]
    (True, 'double precision')
    """
    x, y = taken_apart(x, y, target)
    columns = target if is_path(x) else None
    with named_columns(names_of(x), names_of(y)), opened(x, y, threads, target=columns) as samples:
        return cast(Document, _core.inspect(samples, threads))


def diagnose(
    x: Any,
    y: Any = None,
    *,
    target: Any = None,
    network: Network | str | os.PathLike[str] | None = None,
    hidden: int = 0,
    leak: float = 0.0,
    seed: int = 0,
    threads: int = 0,
) -> Document:
    """Does the route "symmetric" apply, and how many samples would it take: what `exhume diagnose --json`
    prints.

    Parameters
    ----------
    x, y
        Samples as in `recover`.
    target : str or sequence of str
        Columns of the table x that are outputs, as in `recover`.
    network : Network or path, optional
        Adds the singular values of its distinguishing matrices on these inputs.
    hidden : int
        Number of hidden units; 0: by the rank of the linear part.
    leak : float
        Slope below zero, of leaky ReLUs.
    seed : int
        Of every random choice.
    """
    x, y = taken_apart(x, y, target)
    beside = network if network is None or isinstance(network, Network) else Network.load(network)
    with opened(x, y, threads, target=target if is_path(x) else None) as samples:
        core = None if beside is None else beside._core
        return cast(Document, _core.diagnose(samples, hidden or None, leak, seed_of(seed), core, threads))


def keys(out: str | os.PathLike[str]) -> tuple[str, str]:
    """Makes a pair of keys for signing certificates, OUT.key (private) and OUT.pub (public); returns their paths.

    `result.save(folder, sign=private)` signs, `exhume.verify(folder, key=public)` checks who did.
    """
    name = os.fspath(out)
    _core.write_new_keys(name)
    return f"{name}.key", f"{name}.pub"


def reproduce(
    experiment: str,
    out: str | os.PathLike[str] = "reproduced",
    *,
    data: str | os.PathLike[str] = "examples/data",
    seed: int = 0,
    quick: bool = False,
    threads: int = 0,
) -> Document:
    """Runs a paper's experiments again, minutes to an hour: what `exhume reproduce --json` prints.

    Parameters
    ----------
    experiment : str
        "memorize", "symmetric", "rectified", "depth2" or "threshold".
    out : path
        Folder for figures (.svg), numbers (.csv) and findings (.json).
    data : path
        Folder with the data sets.
    seed : int
        Of every random choice.
    quick : bool
        The short form: fewer points, trials or iterations.
    """
    folders = os.fspath(out), os.fspath(data)
    return cast(Document, _core.reproduce(experiment, *folders, seed_of(seed), quick, threads))


def moments(
    x: Any,
    y: Any = None,
    *,
    out: str | os.PathLike[str],
    like: str | os.PathLike[str] | None = None,
    order: int = 4,
    threads: int = 0,
) -> Document:
    """Moments of one site's rows, to be added to those of other sites: only sums are written, never a row.

    Parameters
    ----------
    x, y
        Samples as in `recover`.
    out : path
        The file to write; ".moments" is added to its name. `recover(moments=...)` reads it.
    like : path
        Moments of the first site, whose coordinates all others use.
    order : int
        Highest order, 2 to 4; 2 is enough with as many outputs as units.
    """
    first = "" if like is None else os.fspath(like)
    with opened(x, y, threads) as samples:
        return cast(Document, _core.moments(samples, os.fspath(out), first, order, threads))


def sums(
    network: str | os.PathLike[str], x: Any, y: Any = None, *, out: str | os.PathLike[str], threads: int = 0
) -> Document:
    """One site's sums for `step`: only sums are written, never a row.

    Parameters
    ----------
    network : path
        The network to improve, the same at every site.
    x, y
        Samples as in `recover`.
    out : path
        The file to write; ".sums" is added to its name.
    """
    with opened(x, y, threads) as samples:
        return cast(Document, _core.sums(os.fspath(network), samples, os.fspath(out), threads))


def step(
    network: str | os.PathLike[str],
    sums: Sequence[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str],
    damping: float = 1e-4,
    threads: int = 0,
) -> Document:
    """Improves a network by one Gauss-Newton step, from the sums of all sites.

    Parameters
    ----------
    network : path
        The one at which the sums were made.
    sums : sequence of paths
        What `sums` wrote at every site.
    out : path
        The next network.
    damping : float
        Damping of the step: larger if the last step made the error larger, smaller near the end.
    threads : int
        Not used: the step is a small computation.
    """
    return cast(Document, _core.step(os.fspath(network), paths_of(sums), os.fspath(out), damping))
