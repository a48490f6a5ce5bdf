"""words.py ROOT

Fails on lines of C++ over MOST_COLUMNS columns, and on words of tests/words.txt in C++ files, pages, notebooks and the Python
package. CHANGELOG.md, which tells what was, may use any word; so may a line that names a file of an earlier version.
"""

import pathlib
import re
import subprocess
import sys

MOST_COLUMNS = 110
CODE = (".h", ".cc", ".cu")
PAGES = (".md", ".ipynb")
PACKAGES = ("python/", "scripts/")  # .py there: docstrings, messages, names
FREE = {"CHANGELOG.md"}
KEPT = "questions.log"  # what the version before wrote


def files_of(root):
    """Files that are committed or would be; without git those on disk, but for hidden folders and builds."""
    listing = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             cwd=root, capture_output=True)
    if listing.returncode == 0 and listing.stdout:
        return [root / name.decode() for name in listing.stdout.split(b"\0") if name]
    paths = (p.relative_to(root) for p in root.rglob("*"))
    return [root / p for p in paths if p.parts[0] not in ("build", "dist") and not any(q.startswith(".") for q in p.parts)]


def read_words(path):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [(re.compile(pattern, re.IGNORECASE), remedy) for pattern, remedy in (line.split("\t") for line in lines)]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    words = read_words(pathlib.Path(__file__).resolve().parent / "words.txt")
    problems, looked_at = [], 0
    for path in sorted(files_of(root)):
        name = str(path.relative_to(root))
        package = path.suffix == ".py" and name.startswith(PACKAGES)
        if not (package or path.suffix in CODE + PAGES) or not path.is_file() or name in FREE:
            continue
        looked_at += 1
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            where = f"{path.relative_to(root)}:{number}"
            if path.suffix in CODE and len(line) > MOST_COLUMNS:
                problems.append(f"{where}: {len(line)} columns, at most {MOST_COLUMNS}")
            for pattern, remedy in words:
                if (found := pattern.search(line)) and KEPT not in line:
                    problems.append(f"{where}: '{found[0]}'; say: {remedy}")
    print("\n".join(problems) or f"{looked_at} files: no line over {MOST_COLUMNS} columns, no word of tests/words.txt")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
