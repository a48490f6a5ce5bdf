"""architecture_paths.py ROOT

Checks that every path which ARCHITECTURE.md names exists: those in backticks with a '/' in them, and every line
of the annotated tree (the fenced block opened by ```tree; two spaces of indent a level, the name, then two
spaces or more and the note). Also checks that no committed file names a place outside the repository.

And the other way round: every committed file below the folders of COVERED is named in the tree, a source by its header, or
the folder that directly holds it has a line whose note ends in "(all files)". Without git, as in a source archive, every
file of the file system counts as committed, but for hidden ones and Python's caches.
"""

import pathlib
import re
import subprocess
import sys

# Written in two halves, so that this file does not name them.
FOREIGN = [b"/wo" + b"rk/", b"../sha" + b"red"]
# Below these every file has its place in the tree.
COVERED = ["include", "src", "apps", "experiments", "battery", "bench", "scripts", "python/src", "python/package",
           "tests", "fuzz"]
ALL_FILES = "(all files)"


def tree_paths(lines):
    """(line number, path, note) for every line of the annotated tree; the path of a folder ends in '/'."""
    folders = []
    for number, line in lines:
        if not line.strip():
            continue
        match = re.fullmatch(r"((?:  )*)(\S+)(?:\s{2,}(.*))?", line)
        if match is None:
            yield number, None, ""
            continue
        depth, name = len(match[1]) // 2, match[2]
        del folders[depth:]
        path = "/".join(folders + [name.rstrip("/")]) + ("/" if name.endswith("/") else "")
        yield number, path, (match[3] or "").strip()
        folders.append(name.rstrip("/"))


def read_tree(root):
    """The numbered lines of the annotated tree, and those of the prose."""
    tree, prose, fence = [], [], None
    for number, line in enumerate((root / "ARCHITECTURE.md").read_text().splitlines(), 1):
        if line.startswith("```"):
            fence = line[3:].strip() if fence is None else None
        elif fence == "tree":
            tree.append((number, line))
        elif fence is None:
            prose.append((number, line))
    return tree, prose


def check_architecture(root):
    problems, named = [], 0
    tree, prose = read_tree(root)
    for number, line in prose:
        for path in re.findall(r"`([^`\s]+/[^`\s]*)`", line):
            named += 1
            if not any(root.glob(path.rstrip("/"))):
                problems.append(f"ARCHITECTURE.md:{number}: {path} does not exist")
    if not tree:
        problems.append("ARCHITECTURE.md: no block opened by ```tree")
    for number, path, _ in tree_paths(tree):
        named += 1
        if path is None:
            problems.append(f"ARCHITECTURE.md:{number}: not a line of the form 'name  note'")
        elif not ((root / path).is_dir() if path.endswith("/") else (root / path).is_file()):
            problems.append(f"ARCHITECTURE.md:{number}: {path} does not exist")
    return named, problems


def committed_files(root):
    """Names of the committed files, or None where there is no git checkout."""
    try:
        listing = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=root, capture_output=True)
    except FileNotFoundError:  # no git on this machine
        return None
    names = [name.decode() for name in listing.stdout.split(b"\0") if name]
    return names if listing.returncode == 0 and names else None


def files_on_disk(root):
    """Names of the files below the folders of COVERED, but for hidden ones and Python's caches."""
    for folder in COVERED:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            if path.is_file() and "__pycache__" not in parts and not any(part.startswith(".") for part in parts):
                yield "/".join(parts)


def stands_in(name, named):
    """Whether the tree names the file, or, of a source, its header: beside it, or among the public ones."""
    if name.endswith(".cc"):
        header = name[:-3] + ".h"
        public = re.sub("^src/", "include/exhume/", header)
        return bool(named & {name, header, public})
    return name in named


def check_coverage(root):
    """Committed files below COVERED that the tree does not name."""
    tree, _ = read_tree(root)
    named, whole = set(), set()
    for _, path, note in tree_paths(tree):
        if path is None:
            continue
        named.add(path)
        if path.endswith("/") and note.endswith(ALL_FILES):
            whole.add(path)
    names = committed_files(root)
    if names is None:
        print("not a git checkout: every file on disk counts as committed")
        names = list(files_on_disk(root))
    files, problems = 0, []
    for name in sorted(names):
        if not any(name.startswith(folder + "/") for folder in COVERED) or not (root / name).is_file():
            continue
        files += 1
        folder = name.rpartition("/")[0] + "/"
        if not stands_in(name, named) and folder not in whole:
            problems.append(f"{name} is not in the tree of ARCHITECTURE.md: "
                            f"name it, or end the note of {folder} with '{ALL_FILES}'")
    return files, problems


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
    named, problems = check_architecture(root)
    files, more = check_committed(root)
    covered, missing = check_coverage(root)
    problems += more + missing
    print("\n".join(problems) or f"{named} paths of ARCHITECTURE.md exist; {files} committed files are clean; "
                                 f"{covered} files have their place in the tree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
