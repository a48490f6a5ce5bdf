"""guide_example.py ROOT

Fails unless the worked example of CONTRIBUTING.md is, to the letter, the file that the tests compile.
"""

import pathlib
import re
import sys


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    shown = re.findall(r"```cpp\n(.*?)```", (root / "CONTRIBUTING.md").read_text(), re.DOTALL)
    compiled = (root / "tests/example_route/axis_route.cc").read_text()
    if shown != [compiled]:
        print("CONTRIBUTING.md does not show tests/example_route/axis_route.cc as it is")
        return 1
    print("the example of CONTRIBUTING.md is the one that is compiled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
