"""layers.py ROOT

Reads every #include of include/exhume and src and fails on an include that points upwards or on a cycle. A module is
a path without its ending: src/fit/polish.h and src/fit/polish.cc are fit/polish. A public header belongs to the source of
its name, wherever that is: include/exhume/network.h and src/model/network.cc are model/network. The layers are the lines
of the block opened by ```layers in ARCHITECTURE.md, uppermost first: a folder, or a module that is a layer of its own.
"""

import pathlib
import re
import sys


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    picture = re.search(r"```layers\n(.*?)```", (root / "ARCHITECTURE.md").read_text(), re.DOTALL)[1]
    order = [line.split()[0].rstrip("/") for line in picture.splitlines() if line.strip()]
    height = {name: len(order) - i for i, name in enumerate(order)}

    def layer(module):
        return height.get(module, height.get(module.split("/")[0]))

    public = {}  # public header, without its ending, to module
    for path in sorted((root / "include/exhume").rglob("*.h*")):
        name = re.sub(r"\.h(\.in)?$", "", str(path.relative_to(root / "include/exhume")))
        sources = [p for p in (root / "src").rglob(f"{path.name.split('.')[0]}.cc")]
        folder = min((str(p.relative_to(root / "src"))[:-3] for p in sources), key=lambda m: (m.count("/"), m), default=name)
        public[name] = folder

    edges, problems = {}, []
    for base in (root / "include/exhume", root / "src"):
        for path in sorted(base.rglob("*")):
            if path.suffix not in (".h", ".cc", ".in", ".cu", ".def"):
                continue
            module = re.sub(r"\.(h|cc|cu|def|h\.in)$", "", str(path.relative_to(base)))
            if base.name == "exhume":
                module = public[module]
            if layer(module) is None:
                problems.append(f"{module} is in no layer of ARCHITECTURE.md")
            for line in re.findall(r'#include "([^"]+)"', path.read_text()):
                target = re.sub(r"\.(h|def)$", "", line)
                if target.startswith("exhume/"):
                    target = public.get(target[7:], target[7:])
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
