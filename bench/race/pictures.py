"""Pictures of a race, from the rows of its tables."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

from . import contestants  # noqa: E402

matplotlib.rcParams |= {"svg.hashsalt": "race", "svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif"}
OURS = "#c0392b"
FLOOR = 1e-16  # errors below are drawn here
COLOURS = ["#2c7fb8", "#41ab5d", "#756bb1", "#e6842a", "#8c6d31", "#1b9e9e", "#d95f9a", "#636363"]


def save(figure, folder, name):
    path = folder / f"{name}.svg"
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    return path.name


def grid(rows_by_variant, titles, folder):
    """Instances solved: a row a task and variant, a column a contestant."""
    names = [name for name in contestants.BY_NAME if any(row.contestant == name for rows in rows_by_variant.values() for row in rows)]
    variants = list(rows_by_variant)
    figure, axes = plt.subplots(figsize=(1.5 + 0.42 * len(names), 0.8 + 0.24 * len(variants)))
    for i, key in enumerate(variants):
        for row in rows_by_variant[key]:
            j = names.index(row.contestant)
            if not row.ran:
                axes.text(j, i, "–", ha="center", va="center", color="#999999", fontsize=7)
                continue
            share = row.solved / len(row.lines)
            colour = plt.cm.YlGn(0.12 + 0.7 * share) if share else "#f2f2f2"
            axes.add_patch(plt.Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, color=colour, lw=0))
            axes.text(j, i, f"{row.solved}/{len(row.lines)}", ha="center", va="center", fontsize=6.5)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_ylim(len(variants) - 0.4, -0.6)
    axes.set_xticks(range(len(names)), [contestants.get(name).label for name in names], rotation=55, ha="left", fontsize=7)
    axes.set_yticks(range(len(variants)), [f"{titles[task]}: {variant}" for task, variant in variants], fontsize=7)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    return save(figure, folder, "race_solved")


def every_instance(rows, title, folder, name):
    """The held-out error of every instance, a line a contestant, with the median of its processor seconds."""
    rows = [row for row in rows if row.ran and not contestants.get(row.contestant).all_threads]
    figure, axes = plt.subplots(figsize=(7, 0.9 + 0.24 * len(rows)))
    for place, row in enumerate(rows):
        errors = [max(line["heldout_error"], FLOOR) for line in row.lines if line.get("heldout_error") is not None]
        axes.scatter(errors, [place] * len(errors), s=26, color=OURS if row.contestant == "exhume" else COLOURS[0], alpha=0.75, lw=0)
    axes.axvline(1e-6, color="#999999", lw=0.8, ls="--")
    axes.text(8e-7, -0.6, "solved to the left", fontsize=7, color="#666666", ha="right")
    axes.set_yticks(range(len(rows)), [f"{contestants.get(row.contestant).label}, {row.median('cpu_seconds'):.2g} s" for row in rows], fontsize=7.5)
    axes.set(xscale="log", xlabel="held-out error (rms, relative)", title=title, ylim=(len(rows) - 0.4, -1.1))
    axes.grid(axis="y", color="#eeeeee", lw=0.6)
    axes.set_axisbelow(True)
    return save(figure, folder, name)


def few_samples(rows_by_variant, folder):
    """Instances solved against rows a parameter."""
    points = {}
    for (task, variant), rows in rows_by_variant.items():
        if task == "few_samples":
            for row in rows:
                points.setdefault(row.contestant, []).append((int(variant.split()[0]), row.solved / len(row.lines), row.rough / len(row.lines)))
    if not points or max(map(len, points.values())) < 3:
        return None
    figure, axes = plt.subplots(figsize=(6, 3.2))
    for number, (name, found) in enumerate(points.items()):
        ratio, solved, rough = zip(*sorted(found))
        colour = OURS if name == "exhume" else COLOURS[number % len(COLOURS)]
        axes.plot(ratio, solved, "o-", color=colour, label=contestants.get(name).label, lw=2 if name == "exhume" else 1.2, ms=5)
        if rough != solved:
            axes.plot(ratio, rough, "o:", color=colour, lw=1, ms=3)
    axes.set(xlabel="rows a parameter", ylabel="share of instances", ylim=(-0.05, 1.05), xticks=[3, 4, 6, 10],
             title="Solved (exact to 1e-6); dotted: error at most 1e-3")
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return save(figure, folder, "race_few_samples")


def efficiency(rows_by_variant, folder):
    """Error over the Cramér–Rao bound against noise."""
    points = {}
    for (task, variant), rows in rows_by_variant.items():
        if task == "noise":
            for row in rows:
                if row.median("cramer_rao") is not None:
                    points.setdefault(row.contestant, []).append((int(variant.split()[1].rstrip("%")), row.median("cramer_rao")))
    if not points or max(map(len, points.values())) < 2:
        return None
    figure, axes = plt.subplots(figsize=(6, 3.2))
    for number, (name, found) in enumerate(points.items()):
        noise, ratio = zip(*sorted(found))
        axes.plot(noise, ratio, "o-", color=OURS if name == "exhume" else COLOURS[number % len(COLOURS)],
                  label=contestants.get(name).label, lw=2 if name == "exhume" else 1.2, ms=5)
    axes.axhline(1, color="#999999", lw=0.8, ls="--")
    axes.set(xscale="log", yscale="log", xlabel="noise, percent of the outputs' standard deviation",
             ylabel="squared error / Cramér–Rao bound", xticks=sorted({noise for found in points.values() for noise, _ in found}))
    axes.xaxis.set_major_formatter(matplotlib.ticker.ScalarFormatter())
    axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return save(figure, folder, "race_noise")
