"""suite_names.py FILE [--methods]

Prints the test classes of a unittest file, or with --methods every test as Class.method, one per line: what CMake makes
test entries of. The file is parsed and not run.
"""

import ast
import sys


def tests_of(path):
    """Test classes of a file with their methods; a class has those of its bases in the same file too."""
    classes = {}
    for node in ast.parse(open(path, encoding="utf-8").read()).body:
        if isinstance(node, ast.ClassDef):
            own = [f.name for f in node.body if isinstance(f, ast.FunctionDef) and f.name.startswith("test_")]
            inherited = [name for base in node.bases for name in classes.get(getattr(base, "id", None), [])]
            classes[node.name] = list(dict.fromkeys(inherited + own))
    return {name: methods for name, methods in classes.items() if methods}


def main():
    for name, methods in tests_of(sys.argv[1]).items():
        print("\n".join(f"{name}.{method}" for method in methods) if "--methods" in sys.argv else name)


if __name__ == "__main__":
    main()
