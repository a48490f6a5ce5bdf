#!/usr/bin/env bash
# routes_page.sh EXHUME [FILE]
#
# Writes docs/routes.md (or FILE) from the table of routes that the program EXHUME prints.
set -euo pipefail
cd "$(dirname "$0")/.."
"${1:?usage: scripts/routes_page.sh path/to/exhume [FILE]}" routes --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)
print("# Routes\n")
print("What `exhume routes` prints, made by `scripts/routes_page.sh`. A route is a way from samples to a network under one")
print("assumption on the data. Where none is named, `recover` tries those marked *auto*, in this order, if their condition holds.\n")
print("| route | what it does | applies where | finds | |")
print("| --- | --- | --- | --- | --- |")
for r in rows:
    name = "`" + r["name"] + "`" + (" (also `" + r["group"] + "`)" if r["group"] else "")
    reads = ", ".join("`" + o + "`" for o in r["options"])
    marks = [*(["auto"] if r["automatic"] else []), *(["reads " + reads] if reads else [])]
    print("| " + " | ".join([name, r["about"], r["condition"], r["finds"], "; ".join(marks)]) + " |")
' >"${2:-docs/routes.md}"
