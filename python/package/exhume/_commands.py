"""Commands that answer with a document: inspect, diagnose, reproduce, keys."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

from ._network import Network
from ._program import ask, as_files, joined
from ._options import seed_of
from ._samples import is_path, taken_apart
from ._tables import named_columns, names_of


def inspect(x: Any, y: Any = None, *, target: Any = None, threads: int = 0) -> dict[str, Any]:
    """What can be expected of samples before anything is fitted: what `exhume inspect --json` prints.

    Takes seconds. Keys: "fits" (whether a route applies), "precision" of the outputs, "gaussian", "symmetric", "linear_share",
    "most_hidden" (for how many units the rows are plenty), "tests", "routes" (which apply, and why the others do not),
    "obstacles" and "advice" (what would help), and more.

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
    with named_columns(names_of(x), names_of(y)), as_files(x, y, threads) as files:
        return ask("inspect", *files, target=joined(target) if is_path(x) else None, threads=threads)


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
) -> dict[str, Any]:
    """Does the route "symmetric" apply, and how many samples would it take: what `exhume diagnose --json` prints.

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
        Slope of the units below zero.
    seed : int
        Of every random choice.
    """
    x, y = taken_apart(x, y, target)
    named = joined(target) if is_path(x) else None
    options: dict[str, Any] = {"target": named, "hidden": hidden, "leak": leak, "seed": seed_of(seed), "threads": threads}
    with as_files(x, y, threads) as files:
        if not isinstance(network, Network):
            return ask("diagnose", *files, network=network, **options)
        with tempfile.TemporaryDirectory(prefix="exhume-") as folder:
            path = os.path.join(folder, "network.safetensors")
            network.save(path)
            return ask("diagnose", *files, network=path, **options)


def reproduce(
    experiment: str,
    out: str | os.PathLike[str] = "reproduced",
    *,
    data: str | os.PathLike[str] = "examples/data",
    seed: int = 0,
    quick: bool = False,
    threads: int = 0,
) -> dict[str, Any]:
    """Runs a paper's experiments again, which takes from minutes to an hour: what `exhume reproduce --json` prints.

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
    return ask("reproduce", experiment, out=out, data=data, seed=seed_of(seed), quick=quick, threads=threads)


def keys(out: str | os.PathLike[str]) -> tuple[str, str]:
    """Makes a pair of keys to sign certificates with, OUT.key (private) and OUT.pub (public); their paths.

    `result.save(folder, sign=private)` signs, `exhume.verify(folder, key=public)` checks who did.
    """
    made = ask("keys", out=out)
    return str(made["private"]), str(made["public"])


def moments(
    x: Any,
    y: Any = None,
    *,
    out: str | os.PathLike[str],
    like: str | os.PathLike[str] | None = None,
    order: int = 4,
    threads: int = 0,
) -> dict[str, Any]:
    """Sums up one site's rows, to be merged with other sites' sums: only sums are written, never a row.

    Parameters
    ----------
    x, y
        Samples as in `recover`.
    out : path
        The file to write; ".moments" is added to its name. `recover(moments=...)` reads it.
    like : path
        Moments of the first site: all others are made in its frame.
    order : int
        Highest order, 2 to 4; 2 is enough where there are as many outputs as units.
    """
    with as_files(x, y, threads) as files:
        return ask("moments", *files, out=out, like=like, order=order, threads=threads)


def sums(
    network: str | os.PathLike[str], x: Any, y: Any = None, *, out: str | os.PathLike[str], threads: int = 0
) -> dict[str, Any]:
    """Sums up how far a network is from one site's rows, for `step`: only sums are written, never a row.

    Parameters
    ----------
    network : path
        The network to be polished, the same at every site.
    x, y
        Samples as in `recover`.
    out : path
        The file to write; ".sums" is added to its name.
    """
    with as_files(x, y, threads) as files:
        return ask("sums", network, *files, out=out, threads=threads)


def step(
    network: str | os.PathLike[str],
    sums: Sequence[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str],
    damping: float = 1e-4,
    threads: int = 0,
) -> dict[str, Any]:
    """Polishes a network by one step, from the sums of all sites.

    Parameters
    ----------
    network : path
        The one at which the sums were made.
    sums : sequence of paths
        What `sums` wrote at every site.
    out : path
        The next network.
    damping : float
        Of the step: more where the last one made things worse, less near the end.
    """
    return ask("step", network, *sums, out=out, damping=damping, threads=threads)
