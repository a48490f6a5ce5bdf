"""architecture_paths.py ROOT

Checks that ARCHITECTURE.md is a page to read (at most MOST_LINES lines) and that every path it names in backticks with a
'/' in it exists; that every folder of src has a README.md that says what it holds (at most MOST_README_LINES lines), and
that the paths which it names in the same way exist, from the root, from src or beside it; that sources which the pages of docs
name exist; and that no committed file names a place outside the repository.
"""

import pathlib
import re
import subprocess
import sys

MOST_LINES = 150
MOST_README_LINES = 25
SOURCE = re.compile(r"`((?:src|include|apps|tests|scripts|bench|python|examples)/[\w/.-]+\.(?:h|cc|cu|py|sh))`")
# Written in two halves, so that this file does not name them.
FOREIGN = [b"/wo" + b"rk/", b"../sha" + b"red"]


def committed_files(root):
    """Names of the committed files, or None where there is no git checkout."""
    try:
        listing = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=root, capture_output=True)
    except FileNotFoundError:  # no git on this machine
        return None
    names = [name.decode() for name in listing.stdout.split(b"\0") if name]
    return names if listing.returncode == 0 and names else None


def check_page(root, page, most, beside=False):
    """Paths that a page names, and what is wrong with it. Fenced blocks are not looked at."""
    lines = page.read_text().splitlines()
    name, named, problems, fenced = page.relative_to(root), 0, [], False
    if len(lines) > most:
        problems.append(f"{name}: {len(lines)} lines, at most {most}")
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            fenced = not fenced
        for path in [] if fenced else re.findall(r"`([^`\s]+/[^`\s]*)`", line):
            named += 1
            places = [root, root / "src", page.parent] if beside else [root]
            if not any(any(place.glob(path.rstrip("/"))) for place in places):
                problems.append(f"{name}:{number}: {path} does not exist")
    return named, problems


def check_folders(root):
    """Folders of src that hold sources and have no README.md, or one that names what does not exist."""
    folders, problems = 0, []
    for folder in sorted(path for path in (root / "src").glob("*/") if path.is_dir()):
        if not any(path.suffix in (".cc", ".h", ".cu") for path in folder.rglob("*")):
            continue
        folders += 1
        page = folder / "README.md"
        if not page.is_file():
            problems.append(f"{folder.relative_to(root)}/ has no README.md: what does it hold, and what not?")
        else:
            problems += check_page(root, page, MOST_README_LINES, beside=True)[1]
    return folders, problems


def check_docs(root):
    """Sources named in backticks, from the root, by the pages of docs."""
    named, problems = 0, []
    for page in sorted((root / "docs").rglob("*.md")):
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for path in SOURCE.findall(line):
                named += 1
                if not (root / path).is_file():
                    problems.append(f"{page.relative_to(root)}:{number}: {path} does not exist")
    return named, problems


def check_committed(root):
    names = committed_files(root)
    if names is None:
        print("not a git checkout: committed files not looked at")
        return 0, []
    problems = []
    for name in names:
        path = root / name
        if not path.is_file():
            continue
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            for word in FOREIGN:
                if word in line:
                    problems.append(f"{name}:{number}: names {word.decode()}, which is outside the repository")
    return len(names), problems


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: architecture_paths.py ROOT")
    root = pathlib.Path(sys.argv[1]).resolve()
    named, problems = check_page(root, root / "ARCHITECTURE.md", MOST_LINES)
    folders, without = check_folders(root)
    files, foreign = check_committed(root)
    sources, missing = check_docs(root)
    problems += without + missing + foreign
    print("\n".join(problems) or f"{named} paths of ARCHITECTURE.md and {sources} of docs exist; {folders} folders "
                                 f"say what they hold; {files} committed files are clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
