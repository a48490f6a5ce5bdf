"""public_headers.py CXX STAGE SOURCE

What users include, checked against the installed tree STAGE: at most MOST_HEADERS public headers, each of which compiles by
itself and needs nothing of ours that is not installed; recover.h brings in at most MOST_BEHIND_RECOVER others; the examples
of SOURCE/examples/cpp include public headers and the standard library only.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

MOST_HEADERS = 24
MOST_BEHIND_RECOVER = 10


def compile_flags(stage):
    """What pkg-config tells a user to compile with."""
    found = next(stage.rglob("exhume.pc"))
    done = subprocess.run(["pkg-config", "--cflags", "exhume"], env=os.environ | {"PKG_CONFIG_PATH": str(found.parent)},
                          capture_output=True, text=True, check=True)
    return ["-std=c++20", "-x", "c++", *done.stdout.split()]


def main():
    cxx, stage, source = sys.argv[1], *(pathlib.Path(a).resolve() for a in sys.argv[2:])
    include = stage / "include"
    headers = sorted(str(path.relative_to(include)) for path in (include / "exhume").rglob("*.h"))
    flags, problems = compile_flags(stage), []
    if len(headers) > MOST_HEADERS:
        problems.append(f"{len(headers)} public headers, at most {MOST_HEADERS}")

    def compile_alone(header):
        text = f'#include "{header}"\n#include "{header}"\n'
        done = subprocess.run([cxx, *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-"], input=text,
                              capture_output=True, text=True)
        return None if done.returncode == 0 else f"{header} does not compile by itself:\n{done.stderr}"

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        problems += [said for said in pool.map(compile_alone, headers) if said]

    listed = subprocess.run([cxx, *flags, "-MM", str(include / "exhume/recover.h")], capture_output=True, text=True)
    behind = {word for word in listed.stdout.split() if "/include/exhume/" in word} - {str(include / "exhume/recover.h")}
    if listed.returncode != 0 or len(behind) > MOST_BEHIND_RECOVER:
        problems.append(f"recover.h brings in {len(behind)} other headers, at most {MOST_BEHIND_RECOVER}: "
                        + " ".join(sorted(pathlib.Path(p).name for p in behind)) + listed.stderr)

    examples = sorted((source / "examples/cpp").glob("*.cc"))
    for example in examples:
        for name in re.findall(r'#include "([^"]+)"', example.read_text()):
            if name not in headers:
                problems.append(f"{example.name} includes {name}, which is not installed")
    print("\n".join(problems) or f"{len(headers)} public headers compile alone, recover.h brings in {len(behind)} others, "
                                 f"{len(examples)} examples include nothing else")
    return 1 if problems or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
