"""Rows in which another contestant is better than Exhume.

Better: more instances solved; as many solved in less than half the processor time; or, where nobody can be exact or neither solved any, a
median held-out error at least 5% smaller.
"""

from dataclasses import dataclass

MARGIN = 0.95
FASTER = 0.5


@dataclass
class Loss:
    row: object
    ours: object
    how: str


def better(row, ours, judged):
    """In which way a row beats ours, or None."""
    if not row.ran:
        return None
    count = len(ours.lines)
    if judged and row.solved != ours.solved:
        return f"solves {row.solved} of {len(row.lines)}, Exhume {ours.solved} of {count}" if row.solved > ours.solved else None
    if judged and row.solved:
        mine, theirs = ours.median("cpu_seconds"), row.median("cpu_seconds")
        return f"as many solved, in {theirs:.2g} s against {mine:.2g} s" if theirs < FASTER * mine else None
    mine, theirs = ours.median("heldout_error"), row.median("heldout_error")
    if theirs is not None and (mine is None or theirs < MARGIN * mine):
        against = "no answer" if mine is None else f"{mine:.2g}"
        return f"median error {theirs:.2g} against {against}"
    return None


def losses(rows_by_variant, judged):
    """`judged(task)`: whether the task has successes."""
    found = []
    for (task, _), rows in rows_by_variant.items():
        ours = next((row for row in rows if row.contestant == "exhume"), None)
        if ours is None or not ours.ran:
            continue
        for row in rows:
            if row.contestant in ("exhume", "exhume-all-threads", "exhume-descent", "recover-random"):
                continue
            how = better(row, ours, judged(task))
            if how:
                found.append(Loss(row, ours, how))
    return found
