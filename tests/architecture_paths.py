"""architecture_paths.py ROOT

Checks that every path which ARCHITECTURE.md names exists: those in backticks with a '/' in them, and every line
of the annotated tree (the fenced block opened by ```tree; two spaces of indent a level, the name, then two
spaces or more and the note). Also checks that no committed file names a place outside the repository.
"""

import pathlib
import re
import subprocess
import sys

# Written in two halves, so that this file does not name them.
FOREIGN = [b"/wo" + b"rk/", b"../sha" + b"red"]


def tree_paths(lines):
    """(line number, path) for every line of the annotated tree."""
    folders = []
    for number, line in lines:
        if not line.strip():
            continue
        match = re.fullmatch(r"((?:  )*)(\S+)(?:\s{2,}.*)?", line)
        if match is None:
            yield number, None
            continue
        depth, name = len(match[1]) // 2, match[2]
        del folders[depth:]
        yield number, "/".join(folders + [name.rstrip("/")]) + ("/" if name.endswith("/") else "")
        folders.append(name.rstrip("/"))


def check_architecture(root):
    problems, named, tree, fence = [], 0, [], None
    for number, line in enumerate((root / "ARCHITECTURE.md").read_text().splitlines(), 1):
        if line.startswith("```"):
            fence = line[3:].strip() if fence is None else None
        elif fence == "tree":
            tree.append((number, line))
        elif fence is None:
            for path in re.findall(r"`([^`\s]+/[^`\s]*)`", line):
                named += 1
                if not any(root.glob(path.rstrip("/"))):
                    problems.append(f"ARCHITECTURE.md:{number}: {path} does not exist")
    if not tree:
        problems.append("ARCHITECTURE.md: no block opened by ```tree")
    for number, path in tree_paths(tree):
        named += 1
        if path is None:
            problems.append(f"ARCHITECTURE.md:{number}: not a line of the form 'name  note'")
        elif not ((root / path).is_dir() if path.endswith("/") else (root / path).is_file()):
            problems.append(f"ARCHITECTURE.md:{number}: {path} does not exist")
    return named, problems


def check_committed(root):
    listing = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=root, capture_output=True)
    if listing.returncode != 0:
        print("not a git checkout: committed files not looked at")
        return 0, []
    names = [name.decode() for name in listing.stdout.split(b"\0") if name]
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
    root = pathlib.Path(sys.argv[1]).resolve()
    named, problems = check_architecture(root)
    files, more = check_committed(root)
    problems += more
    print("\n".join(problems) or f"{named} paths of ARCHITECTURE.md exist; {files} committed files are clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
