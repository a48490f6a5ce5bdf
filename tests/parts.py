"""The first part of the program (cmake/parts.cmake) needs nothing of the rest but what not_built.cc stands for.

parts.py ROOT BUILD: looks at the symbols of BUILD's objects, which has all parts.
"""

import pathlib
import re
import subprocess
import sys


def later_of(root: pathlib.Path) -> list[str]:
    text = (root / "cmake" / "parts.cmake").read_text()
    return re.search(r"set\(EXHUME_LATER\s+([^)]*)\)", text).group(1).split()


def is_later(path: str, later: list[str]) -> bool:
    return "_later_" in path or any(f"/{place}" in f"/{path}" for place in later)


def symbols(objects: list[pathlib.Path], kinds: str) -> set[str]:
    printed = subprocess.run(["nm", "-C", *map(str, objects)], capture_output=True, text=True, check=True).stdout
    return {m.group(1) for m in re.finditer(rf"^[0-9a-f ]{{16}} [{kinds}] (exhume::.*)$", printed, re.MULTILINE)}


def main(root: pathlib.Path, build: pathlib.Path) -> None:
    later = later_of(root)
    for place in later:
        assert (root / place).exists(), f"cmake/parts.cmake names {place}, which is not there"
    objects = {"first": [], "later": []}
    # Those that Ninja makes: others may lie there from an earlier build.
    for name in re.findall(r"^build (\S+\.o):", (build / "build.ninja").read_text(), re.MULTILINE):
        if name.startswith(("CMakeFiles/exhume.dir/", "apps/CMakeFiles/exhume_cli_objects.dir/")):
            objects["later" if is_later(name, later) else "first"].append(build / name)
    assert objects["first"] and objects["later"], f"no objects in {build}"
    needed = symbols(objects["first"], "U") & symbols(objects["later"], "TDBR")
    stands_for = "".join((root / place / "not_built.cc").read_text() for place in ("src", "apps/exhume"))
    missing = {name for name in needed if not re.search(rf"\b{re.escape(base_name(name))}\(", stands_for)}
    assert not missing, "the first part of the program needs of the rest: " + ", ".join(sorted(missing))
    print(f"{len(objects['first'])} objects need {len(needed)} symbols of {len(objects['later'])} others")


def base_name(symbol: str) -> str:
    """The function's own name: `exhume::cli::f(int)` is `f`."""
    return re.sub(r"\[abi:\w+\]", "", symbol).split("(")[0].split("::")[-1]


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
