"""results.py pages | check | renew EXHUME [TOPIC...]

The store of measured results. results/TOPIC.json holds what was measured, with the command, the seeds, the machine and the
date of each table; nothing else in the project may hold a measured figure.

    pages   writes docs/results/TOPIC.md, a page per topic, from the store
    check   fails where such a page is not what the store gives, and where README.md or a guide of docs/ shows a measured
            figure that is not marked, or marked and not what the store has
    renew   runs what measures the tables that name a program (`renew`), with the program EXHUME, and writes the store

A figure of a guide is marked by a comment behind it, which readers do not see:

    takes 1.2 s<!--= sizes/20-20-1/seconds --> on one core

A table of the store is {title, text, command, seeds, machine, date, version, columns, rows, after}: rows maps a name to its figures
by column, as they are to be shown. `renew` is a program of bench/ that prints rows in that form, as JSON.
"""

from __future__ import annotations

import datetime
import json
import pathlib
import platform
import re
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORE = ROOT / "results"
PAGES = ROOT / "docs" / "results"
GUIDES = ["README.md"] + [
    f"docs/{name}.md"
    for name in ("start", "recipes", "audit", "extract", "recover", "deep", "noise", "activations", "distributed", "certificates", "faq")
]
MOST_LINES = 150  # of a guide: five minutes
MARK = re.compile(r"<!--= ([^/]+)/([^/]+)/([^/]+?) -->")
# What a measured figure looks like: seconds, megabytes, counts of successes, errors in powers of ten, queries in powers of two.
FIGURE = re.compile(
    r"(?<![\w.^-])(?:\d[\d,.]*(?: to \d[\d,.]*)? ?(?:s|ms|seconds|minutes|MB|GB)\b(?!-)"
    r"|\d+ of \d+\b|\bno \w+ of \d+\b|\d(?:\.\d+)?e-\d+|2\^\d+\.\d+)"
)


def topics() -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(STORE.glob("*.json"))}


def table_lines(table: dict[str, Any]) -> list[str]:
    columns = [table.get("named", "network"), *table["columns"]]
    lines = [f"## {table['title']}", ""]
    if table.get("text"):
        lines += [table["text"], ""]
    lines += [f"| {' | '.join(columns)} |", f"| {' | '.join('---' for _ in columns)} |"]
    for name, figures in table["rows"].items():
        lines.append(f"| {' | '.join([name, *(figures.get(column, '') for column in table['columns'])])} |")
    origin = [f"{word}: {table[key]}" for key, word in
              (("command", "Command"), ("seeds", "seeds"), ("machine", "machine"), ("date", "date"), ("version", "version"))
              if table.get(key)]
    return [*lines, "", "; ".join(origin) + ".", "", *([table["after"], ""] if table.get("after") else [])]


def page(topic: dict[str, Any]) -> str:
    lines = [f"# {topic['title']}", "", topic["about"], "",
             "<!-- made by scripts/results.py from the store; change results/, not this page -->", ""]
    for table in topic["tables"]:
        lines += table_lines(table)
    return "\n".join(lines).rstrip() + "\n"


def figure_of(store: dict[str, dict[str, Any]], topic: str, row: str, column: str) -> str | None:
    for table in store.get(topic, {}).get("tables", []):
        if column in table["rows"].get(row, {}):
            return table["rows"][row][column]
    return None


def prose_of(text: str) -> list[tuple[int, str]]:
    """Lines outside of blocks of code, numbered; code within a line is blanked."""
    lines, fenced = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            lines.append((number, re.sub(r"`[^`]*`", "``", line)))
    return lines


def problems_of(name: str, text: str, store: dict[str, dict[str, Any]]) -> list[str]:
    problems = []
    if name != "README.md" and len(text.splitlines()) > MOST_LINES:
        problems.append(f"{name}: {len(text.splitlines())} lines; a guide has at most {MOST_LINES}")
    for number, line in prose_of(text):
        marked = []
        for mark in MARK.finditer(line):
            stored = figure_of(store, *mark.groups())
            if stored is None:
                problems.append(f"{name}:{number}: the store has no figure {'/'.join(mark.groups())}")
            elif not line[: mark.start()].endswith(stored):
                problems.append(f"{name}:{number}: the store says '{stored}' for {'/'.join(mark.groups())}")
            else:
                marked.append(range(mark.start() - len(stored), mark.end()))
        for figure in FIGURE.finditer(line):
            if not any(figure.start() in span for span in marked):
                problems.append(f"{name}:{number}: '{figure[0]}' has no entry in results/; mark it <!--= topic/row/column -->")
    return problems


def check() -> int:
    store, problems = topics(), []
    for name, topic in store.items():
        path = PAGES / f"{name}.md"
        if not path.exists() or path.read_text() != page(topic):
            problems.append(f"{path.relative_to(ROOT)}: not what results/{name}.json gives; run scripts/results.py pages")
    for name in GUIDES:
        if (ROOT / name).exists():
            problems += problems_of(name, (ROOT / name).read_text(), store)
    print("\n".join(problems) or f"{len(store)} topics of results: pages and guides say what the store has")
    return 1 if problems else 0


def write_pages() -> int:
    PAGES.mkdir(exist_ok=True)
    for name, topic in topics().items():
        (PAGES / f"{name}.md").write_text(page(topic))
    return 0


def machine() -> str:
    cores = subprocess.run(["nproc"], capture_output=True, text=True).stdout.strip()
    return f"{platform.machine()}, {cores} cores"


def renew(program: str, names: list[str]) -> int:
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    for name, topic in topics().items():
        for table in topic["tables"]:
            if "renew" not in table or (names and name not in names):
                continue
            print(f"{name}: {table['title']}", flush=True)
            command = [sys.executable, str(ROOT / table["renew"].split()[0]), program, *table["renew"].split()[1:]]
            rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            if lacking := {column for figures in rows.values() for column in table["columns"] if column not in figures}:
                raise SystemExit(f"{table['renew']} prints nothing for {', '.join(sorted(lacking))}")
            table["rows"] = rows
            table.update(machine=machine(), date=datetime.date.today().isoformat(), version=version)
        (STORE / f"{name}.json").write_text(json.dumps(topic, indent=1, ensure_ascii=False) + "\n")
    return write_pages()


def main(arguments: list[str]) -> int:
    match arguments:
        case ["pages"]:
            return write_pages()
        case ["check"]:
            return check()
        case ["renew", program, *names]:
            return renew(program, names)
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
