"""The reference of the command line as Markdown, made from what `exhume help` prints."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

HEAD = """# Commands

What `exhume help COMMAND` and `man exhume-COMMAND` say of version {version}, made when this page was built.

"""
# Lines as long as the program writes them, so that paragraphs are taken apart as seldom as can be.
WIDTH = "110"


def ask(program: pathlib.Path, *arguments: str) -> str:
    environment = os.environ | {"COLUMNS": WIDTH, "NO_COLOR": "1"}
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True, env=environment)
    return done.stdout


def entries(lines: list[str]) -> list[tuple[str, str]]:
    """(names, meaning) of the lines below "Options:" and its like: names after two blanks, meanings in a column."""
    rows: list[tuple[str, str]] = []
    for line in lines:
        if re.match(r"  \S", line):
            names, _, about = line.strip().partition("  ")
            rows.append((names, about.strip()))
        else:
            names, about = rows[-1]
            rows[-1] = (names, f"{about} {line.strip()}".strip())
    return rows


def table(kind: str, rows: list[tuple[str, str]]) -> list[str]:
    def cell(text: str) -> str:
        return text.replace("|", "\\|").replace("<", "&lt;")

    return [f"| {kind} | |", "| --- | --- |", *(f"| `{names}` | {cell(about)} |" for names, about in rows), ""]


def paragraphs(text: str) -> list[list[str]]:
    return [block.splitlines() for block in re.split(r"\n\s*\n", text.strip("\n")) if block.strip()]


def section(name: str, help_text: str) -> list[str]:
    """One command: its line, its usage, tables of arguments and options, the rest as it stands."""
    about, *rest = paragraphs(help_text)
    out = [f"## exhume {name}".rstrip(), "", " ".join(line.strip() for line in about) + ".", ""]
    for block in rest:
        title = block[0].strip()
        if title.startswith("Usage: "):
            out += ["```text", title.removeprefix("Usage: "), "```", ""]
        elif title in ("Arguments:", "Options:", "Commands:"):
            out += table(title[:-2].lower(), entries(block[1:]))
        elif title.endswith(":") and all(line.startswith(" ") for line in block[1:]):
            out += [f"{title}", "", "```text", *(line.removeprefix("  ") for line in block[1:]), "```", ""]
        else:
            out += [" ".join(line.strip() for line in block), ""]
    return out


def command_page(program: pathlib.Path) -> str:
    """The whole page."""
    overview = ask(program, "--help")
    version = ask(program, "--version").split()[-1]
    listed = overview.partition("Commands:\n")[2].partition("\n\n")[0]
    out = [HEAD.format(version=version)]
    for name, _ in entries(listed.splitlines()):
        out += section(name, ask(program, "help", name))
    codes = re.search(r"Exit codes: .*", overview, re.S)
    out += ["## Exit codes", "", " ".join(codes[0].split()) if codes else ""]
    return "\n".join(out) + "\n"
