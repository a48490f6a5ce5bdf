#!/usr/bin/env bash
# routes_page.sh EXHUME [FILE]
#
# Writes docs/routes.md (or FILE) from the table of routes that the program EXHUME prints. A route links to the page of its
# paper or method; one that this script does not know links to docs/how.md.
set -euo pipefail
cd "$(dirname "$0")/.."
"${1:?usage: scripts/routes_page.sh path/to/exhume [FILE]}" routes --json | python3 -c '
import json, sys
PAPERS = {
    "depth2": ("https://proceedings.neurips.cc/paper/2021/hash/700fdb2ba62d4554dc268c65add4b16e-Abstract.html",
               "Awasthi, Tang and Vijayaraghavan, *Efficient algorithms for learning depth-2 neural networks with general ReLU "
               "activations*, NeurIPS 2021"),
    "symmetric": ("https://arxiv.org/abs/1810.06793",
                  "Ge, Kuditipudi, Li and Wang, *Learning two-layer neural networks with symmetric inputs*, ICLR 2019"),
    "rectified": ("https://arxiv.org/abs/1811.01885",
                  "Bakshi, Jayaram and Woodruff, *Learning two layer rectified neural networks in polynomial time*, COLT 2019"),
    "threshold": ("https://arxiv.org/abs/1903.09231",
                  "Goel and Panigrahy, *Recovering the lowest layer of deep networks with high threshold activations*, 2019"),
}
METHODS = {"any_inputs": "how.md#when-the-inputs-are-not-gaussian", "smooth": "activations.md", "deep": "method/deep.md"}
def page(name):
    paper = name.split("-")[0]
    return paper + ".md" if paper in PAPERS else METHODS.get(name, "how.md")
rows = json.load(sys.stdin)
print("# Routes\n")
print("A route is a method that gets from samples to a network under one assumption on the data. `recover` tries the routes")
print("marked *auto*, in this order, as far as their condition holds; `--route NAME` takes one by name. Names that begin with")
print("`depth2`, `symmetric`, `rectified` or `threshold` are algorithms of a paper, listed below the table; every name links to")
print("the page that explains it. (Made from `exhume routes` by `scripts/routes_page.sh`.)\n")
print("| route | what it does | condition | finds | |")
print("| --- | --- | --- | --- | --- |")
for r in rows:
    name = "[`" + r["name"] + "`](" + page(r["name"]) + ")" + (" (also `" + r["group"] + "`)" if r["group"] else "")
    reads = ", ".join("`" + o + "`" for o in r["options"])
    marks = [*(["auto"] if r["automatic"] else []), *(["reads " + reads] if reads else [])]
    print("| " + " | ".join([name, r["about"], r["condition"], r["finds"], "; ".join(marks)]) + " |")
print("\n## The papers\n")
for name, (address, words) in PAPERS.items():
    print("- [" + name + "](" + name + ".md): " + words + " ([paper](" + address + "))")
' >"${2:-docs/routes.md}"
