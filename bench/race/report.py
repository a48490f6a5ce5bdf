"""docs/benchmarks.md and its pictures, from JSON lines alone."""

import pathlib
from collections import Counter

from . import contestants, scores
from .losses import losses
from .running import read
from .summary import latest, rows_of
from .tasks import all_tasks

INTRODUCTION = """# Benchmarks

Exhume beside what people use today: the same samples, the same seconds, the same thread. This page is written by
`python -m race report` from the JSON lines in `bench/race/results`; no number in it was typed.

| | |
| --- | --- |
| `make race` | the quick race, about seven minutes on two idle cores and eight for the program and the environments, once; into `build/race` |
| `make race-full` | every variant, longer limits; some hours; writes this page |
| `make race-compare OLD=path NEW=path` | the regression guard: two builds of the program in turn |

## How to read it

- **Solved**: on fresh inputs the answer is exact to 1e-6 of the outputs' standard deviation (rms), unless the task says what counts instead. The count is
  over all instances; a failure or a timeout is an instance not solved.
- **Within 1e-3**: the same with 1e-3. Some fits end near the truth without reaching it: scikit-learn's lbfgs stops where a step gains less than 2e-9, and cannot be told
  otherwise.
- **Seconds**: the median of processor seconds on one thread, which are the seconds of an idle machine. Exhume's are those of the whole program (start,
  reading, checks, certificate, files); the others' those of the fit alone, packages imported and arrays in memory. *All threads* shows wall seconds.
- **Error**: the median of the error on fresh inputs, without noise, relative to the outputs' standard deviation (rms).
- **Weights**: the median of the worst error of any weight after alignment, where the answer has the true width.
- **Memory**: the median of the peak of the process in MB, with Python and its packages where there are any.
- A contestant is asked to stop at the limit and ended at one and a half times the limit and five seconds. Those that start again from other seeds do so until
  they are exact or the time is over, and hand in the start with the least training error: the best by what they can see, never by what the referee sees.
- Everyone is told the true number of hidden units, except Exhume where a task says so.
- Medians and counts are over all instances of fixed seeds, at least five; nothing is a best of.
"""

NUMBERS = [("cpu_seconds", "seconds", "{:.2g}"), ("heldout_error", "error", "{:.1e}"), ("weight_error", "weights", "{:.1e}"),
           ("cramer_rao", "× Cramér–Rao", "{:.2f}"), ("coverage", "coverage of 95%", "{:.0%}"), ("queries", "queries", "{:,.0f}"),
           ("memory_mb", "memory, MB", "{:.0f}")]


def number(row, name, form):
    if name == "cpu_seconds" and contestants.get(row.contestant).all_threads:
        name = "seconds"
    value = row.median(name)
    return "" if value is None else form.format(value)


def table(rows, judged, rough=True):
    """`judged`: there are successes; `rough`: near misses are worth a column."""
    used = [entry for entry in NUMBERS if any(row.median(entry[0]) is not None for row in rows)]
    remarks = any(row.remark for row in rows)
    head = ["contestant"] + (["solved"] if judged else []) + (["within 1e-3"] if judged and rough else []) + [title for _, title, _ in used] + (["remarks"] if remarks else [])
    lines = ["| " + " | ".join(head) + " |",
             "| --- |" + " ---: |" * (len(head) - 1 - remarks) + (" --- |" if remarks else "")]
    for row in rows:
        cells = [contestants.get(row.contestant).label]
        if judged:
            cells.append(f"{row.solved} of {len(row.lines)}" if row.ran else "")
        if judged and rough:
            cells.append(f"{row.rough} of {len(row.lines)}" if row.ran else "")
        cells += [number(row, name, form) for name, _, form in used] + ([row.remark] if remarks else [])
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def setup(lines):
    """Machine, date, versions."""
    machine = Counter((line["machine"]["processor"], line["machine"]["cores"], line["machine"]["memory_gb"]) for line in lines)
    versions = {}
    for line in lines:
        for name, version in line.get("versions", {}).items():
            versions.setdefault(name, set()).add(version)
    dates = sorted({line["date"] for line in lines})
    span = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    said = "; ".join(f"{cpu}, {cores} cores, {memory} GB" for cpu, cores, memory in machine)
    commits = ", ".join(sorted({line["commit"] for line in lines if line.get("commit")}))
    return ["## Machine, date, versions", "", f"{said}. Python {', '.join(sorted({line['machine']['python'] for line in lines}))}. {span}, commit {commits}. "
            f"{len(lines)} runs.", "", ", ".join(f"{name} {'/'.join(sorted(found))}" for name, found in sorted(versions.items())) + ".", ""]


def section(task, variants):
    """One task: what it is, then a table a variant with its command."""
    success = scores.SUCCESS[task.success][0] is not None
    lines = [f"## {task.title}", "", task.about, ""]
    for variant, rows in variants.items():
        first = rows[0].lines[0]
        rule = "race" if first["size"] == "quick" else "race-full"
        count = max(len(row.lines) for row in rows)
        limits = sorted({line["limit"] for row in rows for line in row.lines})
        lines += [f"**{variant}**: {count} instances, {' and '.join(f'{limit:g}' for limit in limits)} s each. "
                  f"`make {rule} ARGS='--task {task.name} --variant \"{variant}\"'`", "", *table(rows, success, task.success == "exact"), ""]
        absent = [name for name in task.plan(first["size"] == "quick")[1] if name not in {row.contestant for row in rows}]
        if absent:
            lines += [f"Not run yet: {', '.join(contestants.get(name).label for name in absent)}.", ""]
    return lines


def lost(tasks, rows_by_variant):
    """Where not to use Exhume: the rows that others win, and why."""
    judged = {name: scores.SUCCESS[task.success][0] is not None for name, task in tasks.items()}
    found = losses(rows_by_variant, judged.get)
    lines = ["## Where not to use Exhume", "",
             "Rows above in which another contestant is better: more instances solved; as many in less than half the time; or, where nothing can be exact or neither "
             "solved any, a median error at least 5% smaller.", ""]
    if not found:
        return lines + ["None was found among these tasks.", ""]
    lines += ["| task | better | how |", "| --- | --- | --- |"]
    for loss in found:
        row = loss.row
        lines.append(f"| {tasks[row.task].title}: {row.variant} | {contestants.get(row.contestant).label} | {loss.how} |")
    lines.append("")
    for name in dict.fromkeys(loss.row.task for loss in found):
        why = getattr(tasks[name].file, "WHY", None)
        if why:
            lines += [f"- **{tasks[name].title}.** {why}"]
    return lines + [""]


def pictures(tasks, rows_by_variant, folder):
    from . import pictures as draw

    folder.mkdir(parents=True, exist_ok=True)
    titles = {name: task.title for name, task in tasks.items()}
    judged = {key: rows for key, rows in rows_by_variant.items() if tasks[key[0]].success != "none"}
    made = [("Instances solved, task by task", draw.grid(judged, titles, folder))]
    sizes = [(variant, rows) for (task, variant), rows in rows_by_variant.items() if task == "one_output"]
    if sizes:
        variant, rows = sizes[0]
        made.append((f"One output, {variant}: every instance", draw.every_instance(rows, f"One output, {variant}", folder, "race_one_output")))
    made.append(("Instances solved against rows a parameter", draw.few_samples(rows_by_variant, folder)))
    made.append(("Squared error over the Cramér–Rao bound, against noise", draw.efficiency(rows_by_variant, folder)))
    return [f"![{text}](figures/{name})" for text, name in made if name]


def page(lines, docs):
    tasks = {task.name: task for task in all_tasks()}
    lines = [line for line in latest(lines) if line["task"] in tasks]
    rows = rows_of(lines)
    ordered = {}
    for name, task in tasks.items():
        for variant in task.variants:
            if (name, variant) in rows:
                order = list(task.file.CONTESTANTS)
                ordered[name, variant] = sorted(rows[name, variant], key=lambda row: order.index(row.contestant))
    text = [INTRODUCTION, *setup(lines)]
    for picture in pictures(tasks, ordered, docs / "figures"):
        text += [picture, ""]
    for name, task in tasks.items():
        variants = {variant: rows for (of, variant), rows in ordered.items() if of == name}
        if variants:
            text += section(task, variants)
    return "\n".join(text + lost(tasks, ordered)).rstrip() + "\n"


def write(paths, docs):
    docs = pathlib.Path(docs)
    docs.mkdir(parents=True, exist_ok=True)
    lines = [line for path in paths for line in read(path)]
    (docs / "benchmarks.md").write_text(page(lines, docs))
    print(docs / "benchmarks.md")
