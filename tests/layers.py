"""layers.py ROOT

Reads every #include of include/exhume and src and fails on an include that points upwards or on a cycle. A module is
a path without its ending: src/fit/polish.h and src/fit/polish.cc are fit/polish, include/exhume/recover.h is
exhume/recover. The layers are the lines of the block opened by ```layers in ARCHITECTURE.md, uppermost first: folders and
modules with commas between them, two spaces, a note. What is named by itself is not in the layer of its folder.
"""

import pathlib
import re
import sys


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    picture = re.search(r"```layers\n(.*?)```", (root / "ARCHITECTURE.md").read_text(), re.DOTALL)[1]
    order = [re.split(r"\s{2,}", line)[0].split(", ") for line in picture.splitlines() if line.strip()]
    height = {name.rstrip("/"): len(order) - i for i, names in enumerate(order) for name in names}

    def layer(module):
        return height.get(module, height.get(module.split("/")[0]))

    edges, problems = {}, []
    for base in (root / "include/exhume", root / "src"):
        for path in sorted(base.rglob("*")):
            if path.suffix not in (".h", ".cc", ".in", ".cu"):
                continue
            module = re.sub(r"\.(h|cc|cu|h\.in)$", "", str(path.relative_to(base.parent if base.name == "exhume" else base)))
            if layer(module) is None:
                problems.append(f"{module} is in no layer of ARCHITECTURE.md")
            for line in re.findall(r'#include "([^"]+)"', path.read_text()):
                target = re.sub(r"\.h$", "", line)
                if target != module:
                    edges.setdefault(module, set()).add(target)
    for module, targets in edges.items():
        for target in targets:
            if layer(target) is not None and layer(module) is not None and layer(target) > layer(module):
                problems.append(f"{module} includes {target}, which lies above it")
    done, trail = set(), []

    def visit(module):
        if module in trail:
            problems.append("cycle: " + " -> ".join(trail[trail.index(module):] + [module]))
        elif module not in done:
            trail.append(module)
            for target in sorted(edges.get(module, ())):
                visit(target)
            done.add(trail.pop())

    for module in sorted(edges):
        visit(module)
    print("\n".join(problems) or f"{len(edges)} modules in {len(order)} layers, no include points upwards, no cycle")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
