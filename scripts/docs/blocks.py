"""blocks.py EXHUME [PAGE...]

Runs every block of code of the pages (all of docs/ and those of the root, unless some are named). A block is

    a session    lines that begin with >>>: run as a doctest, its outputs compared
    Python       a fence `python`, or indented lines that begin with import or from: run
    commands     lines that begin with a program of PROGRAMS, after `$ ` or not: run one by one; where the output shown begins
                 with "exhume: " the command must be refused, otherwise it must end with 0. After `$ ` every line of output
                 that is shown must be a line that is printed, in this order, but for its numbers; one that ends in "..." may go on
    text         anything else: equations, trees, outputs, other languages; not run, and counted

and what must not be run here says so: in NOT_RUN, or by a comment right above it, <!-- not run: why -->. The blocks of a
page run one after the other, as a reader would run them, in a folder with the few files that stage() makes.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

import numpy as np
from markdown_it import MarkdownIt

import exhume

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("exhume", "python", "openssl", "make", "cmake", "pip", "docker", "sudo", "git")
NOT_RUN = {
    "make": "builds, tests or measures the project",
    "cmake": "builds the project",
    "pip": "installs packages",
    "docker": "makes an image",
    "sudo": "changes the machine",
    "git": "is about a checkout",
    "exhume reproduce": "takes from minutes to an hour",
}
# Commands that pass a verdict on the reader's data: 3 is an answer too.
VERDICTS = ("exhume inspect", "exhume diagnose", "exhume memorize", "exhume compare")
OPTIONAL = ("torch",)  # packages of several gigabytes, without which their blocks are not run
LONGEST = 300  # seconds a command may take


class Block(NamedTuple):
    page: str
    line: int
    kind: str  # session, python, commands, text
    text: str
    reason: str  # why it is not run; empty where it is


def kind_of(language: str, text: str) -> str:
    first = text.strip().split("\n")[0]
    if first.startswith(">>>"):
        return "session"
    if language == "python" or (not language and re.match(r"(import|from) \w", first)):
        return "python"
    if language in ("", "sh", "console") and command_of(first):
        return "commands"
    return "text"


def command_of(line: str) -> str:
    """The command on a line, without its prompt; empty for a line that is none."""
    line = line.removeprefix("$ ")
    return line if line.split(" ")[0] in PROGRAMS else ""


def blocks_of(path: pathlib.Path) -> list[Block]:
    lines = path.read_text().splitlines()
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse("\n".join(lines)):
        if token.type not in ("fence", "code_block") or token.map is None:
            continue
        above = next((line for line in reversed(lines[: token.map[0]]) if line.strip()), "")
        marked = re.fullmatch(r"<!-- not run: (.*) -->", above.strip())
        kind = kind_of(token.info.strip(), token.content)
        found.append(Block(str(path.relative_to(ROOT)), token.map[0] + 1, kind, token.content, marked[1] if marked else ""))
    return found


class Command(NamedTuple):
    line: str
    shown: list[str]  # its output, as the page has it

    @property
    def refused(self) -> bool:
        return any(line.startswith("exhume: ") for line in self.shown)


def masked(line: str) -> str:
    """A line without its numbers: times and last digits differ from machine to machine."""
    line = re.sub(r"[\d.,]*\d(?:e[-+]?\d+)?", "#", " ".join(line.split()))
    return "time" if line.startswith("time ") else line  # which stages are the longest differs too


def commands_of(text: str) -> list[Command]:
    """Every command of a block. Lines that end in a backslash go on."""
    found: list[Command] = []
    prompted = any(line.startswith("$ ") for line in text.splitlines())
    lines = iter(text.rstrip().splitlines())
    for line in lines:
        while line.endswith("\\"):
            line = line[:-1] + next(lines).strip()
        if (line.startswith("$ ") if prompted else command_of(line)):
            found.append(Command(command_of(line), []))
        elif found and (prompted or line.startswith("exhume: ")) and line.strip():
            found[-1].shown.append(line)
    return found


def missing_of(shown: list[str], printed: str) -> str:
    """The first line that is shown and not printed after those before it; empty where there is none."""
    lines = iter([masked(line) for line in printed.splitlines()])

    def printed_next(line: str) -> bool:
        begin = masked(line.removesuffix("..."))
        return any(each.startswith(begin) if line.endswith("...") else each == begin for each in lines)

    return next((line for line in shown if not printed_next(line)), "")


def why_not(command: str) -> str:
    return next((why for start, why in NOT_RUN.items() if command == start or command.startswith(start + " ")), "")


def stage(folder: pathlib.Path, program: pathlib.Path, page: str) -> None:
    """The files that pages speak of: samples of a small network, models, and the data of the demo."""
    planted = exhume.generate(inputs=5, hidden=4, outputs=4, samples=2000, seed=1)
    np.save(folder / "x.npy", planted.x)
    np.save(folder / "y.npy", planted.y)
    np.save(folder / "y_at_minus_x.npy", planted.network(-planted.x))
    np.savez(folder / "data.npz", x=planted.x, y=planted.y)
    for name, values in (("x", planted.x), ("y", planted.y)):
        np.savetxt(folder / f"{name}.csv", values, delimiter=",", fmt="%.17g")
    noisy = planted.y + 0.05 * np.random.default_rng(1).standard_normal(planted.y.shape)
    np.savetxt(folder / "noisy.csv", noisy, delimiter=",", fmt="%.17g")
    table = np.hstack([planted.x, planted.y[:, :2]])
    np.savetxt(folder / "table.csv", table, delimiter=",", fmt="%.17g", header="a,b,c,d,e,y1,y2", comments="")
    for name in ("secret", "net", "a", "b"):
        planted.network.save(folder / f"{name}.safetensors")
    # The model that is asked has as many inputs as the page says.
    said = re.search(r"model\.onnx.*--inputs (\d+)", page)
    model = exhume.generate(inputs=int(said[1]) if said else 5, hidden=4, outputs=2, samples=1, seed=2).network
    model.save(folder / "model.safetensors")
    model.to_onnx(folder / "model.onnx")
    (folder / "examples").symlink_to(ROOT / "examples")
    asked = ["generate", "--network", "examples/data/digits_64_16_1.npz", "--samples", "50000", "--seed", "1"]
    subprocess.run([program, *asked, "--quiet", "--out", "build/demo/asked"], check=True, cwd=folder)


def names() -> dict[str, Any]:
    """What the Python of every page may use without saying where it comes from."""
    planted = exhume.generate(inputs=5, hidden=4, outputs=4, samples=2000, seed=1)
    return {"x": planted.x, "y": planted.y, "__name__": "__page__"}


class Runner:
    """One page: its folder, its names, its programs."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path) -> None:
        self.folder, self.names = folder, names()
        programs = folder / ".programs"
        programs.mkdir()
        (programs / "exhume").symlink_to(program)
        path = f"{programs}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = os.environ | {"PATH": path, "MPLBACKEND": "Agg"}

    def run(self, block: Block) -> tuple[int, list[str]]:
        """How many of its commands were not run, and what went wrong."""
        if block.kind == "commands":
            return self.run_commands(block)
        with contextlib.chdir(self.folder):
            return 0, self.run_session(block) if block.kind == "session" else self.run_python(block)

    def run_commands(self, block: Block) -> tuple[int, list[str]]:
        problems, left = [], 0
        for command, shown, refused in ((each.line, each.shown, each.refused) for each in commands_of(block.text)):
            if why_not(command):
                left += 1
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LONGEST
            )
            fine = {0, 3} if command.startswith(VERDICTS) else {0}
            if (done.returncode not in fine) != refused:
                problems.append(f"{shlex.quote(command)} ended with {done.returncode}: {done.stderr[-500:]}")
            elif not refused and (line := missing_of(shown, done.stdout + done.stderr)):
                problems.append(f"{shlex.quote(command)} does not print: {line.strip()}")
        return left, problems

    def run_session(self, block: Block) -> list[str]:
        test = doctest.DocTestParser().get_doctest(block.text, self.names, block.page, block.page, block.line)
        runner = doctest.DocTestRunner(verbose=False)
        report = io.StringIO()
        runner.run(test, out=report.write, clear_globs=False)
        self.names.update(test.globs)
        return [report.getvalue()] if runner.failures else []

    def run_python(self, block: Block) -> list[str]:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.text, f"{block.page}:{block.line}", "exec"), self.names)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                return [str(error)]
        except Exception as error:  # whatever a page's code raises is that page's problem
            return [f"{type(error).__name__}: {error}"]
        return []


def main(program: pathlib.Path, pages: list[pathlib.Path]) -> int:
    problems, counts = [], dict.fromkeys(["run", "marked", "text"], 0)
    for path in pages:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="exhume-docs-") as name:
            folder = pathlib.Path(name)
            blocks = blocks_of(path)
            if any(block.kind != "text" and not block.reason for block in blocks):
                stage(folder, program, path.read_text())
            runner = Runner(program, folder)
            for block in blocks:
                if block.kind == "text" or block.reason:
                    counts["text" if block.kind == "text" else "marked"] += 1
                    continue
                left, wrong = runner.run(block)
                counts["marked" if left and left == len(commands_of(block.text)) else "run"] += 1
                problems += [f"{block.page}:{block.line}: {words}" for words in wrong]
        print(f"{path.relative_to(ROOT)}: {len(blocks)} blocks, {time.monotonic() - start:.1f} s", flush=True)
    print("\n".join(problems))
    print(f"blocks: {counts['run']} run, {counts['marked']} marked as not run, {counts['text']} text, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    named = [pathlib.Path(page).resolve() for page in sys.argv[2:]]
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), named or [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]))
