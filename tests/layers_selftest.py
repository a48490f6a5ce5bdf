"""layers_selftest.py

Shows that layers.py passes on a small tree in order, and fails, with the right words, on an include that points
upwards, on a cycle, and on a file in no layer.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

LAYERS = pathlib.Path(__file__).resolve().parent / "layers.py"

ARCHITECTURE = """# A small project

```layers
front, exhume/front  the way in
shapes/         circles and squares
base/           numbers
exhume/         what all share
```
"""

GOOD = {
    "ARCHITECTURE.md": ARCHITECTURE,
    "include/exhume/front.h": '#pragma once\n#include "exhume/types.h"\n',
    "include/exhume/types.h": "",
    "src/front.cc": '#include "exhume/front.h"\n#include <vector>\n#include "shapes/corner.h"\n',
    "src/shapes/circle.h": '#include "base/number.h"\n',
    "src/shapes/square.h": '#include "shapes/circle.h"\n',
    "src/shapes/corner.h": '#include "base/number.h"\n',
    "src/shapes/square.cc": '#include "shapes/square.h"\n#include "shapes/corner.h"\n',
    "src/base/number.h": '#include "exhume/types.h"\n',
}


class Layers(unittest.TestCase):
    def run_on(self, files=None):
        """Exit status and output of layers.py on the good tree with some files added or changed."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**GOOD, **(files or {})}.items():
                if text is None:
                    continue
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = subprocess.run([sys.executable, str(LAYERS), folder], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

    def refuse(self, files, *words):
        code, output = self.run_on(files)
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)
        self.assertNotIn("Traceback", output)
        return output

    def test_a_tree_in_order_passes(self):
        code, output = self.run_on()
        self.assertEqual(code, 0, output)
        self.assertIn("in 4 layers", output)

    def test_an_include_in_a_header_that_points_upwards(self):
        output = self.refuse({"src/base/number.h": '#include "shapes/circle.h"\n'},
                             "base/number includes shapes/circle, which lies above it")
        self.assertIn("cycle", output)  # circle includes number

    def test_an_include_in_a_source_that_points_upwards(self):
        output = self.refuse({"src/base/number.cc": '#include "base/number.h"\n#include "shapes/square.h"\n'},
                             "base/number includes shapes/square, which lies above it")
        self.assertIn("shapes/square", output)

    def test_an_upward_include_of_a_private_header(self):
        output = self.refuse({"src/base/words.cc": '#include "shapes/corner.h"\n'},
                             "base/words includes shapes/corner, which lies above it")
        self.assertNotIn("cycle", output)

    def test_a_public_header_that_is_named_is_in_that_layer(self):
        code, output = self.run_on({"src/base/words.cc": '#include "exhume/types.h"\n'})
        self.assertEqual(code, 0, output)
        self.refuse({"src/base/words.cc": '#include "exhume/front.h"\n'},
                    "base/words includes exhume/front, which lies above it")

    def test_a_cycle_within_a_layer(self):
        self.refuse({"src/shapes/circle.h": '#include "shapes/square.h"\n'},
                    "cycle: shapes/circle -> shapes/square -> shapes/circle")

    def test_a_cycle_through_a_source(self):
        # circle.cc belongs to the module of circle.h, so it may not lean on what includes circle.h.
        self.refuse({"src/shapes/circle.cc": '#include "shapes/square.h"\n'},
                    "cycle: shapes/circle -> shapes/square -> shapes/circle")

    def test_a_file_in_no_layer(self):
        self.refuse({"src/colours/red.cc": "#include <cmath>\n"}, "colours/red is in no layer of ARCHITECTURE.md")
        self.refuse({"src/back.cc": ""}, "back is in no layer of ARCHITECTURE.md")

    def test_all_problems_are_named_at_once(self):
        output = self.refuse({"src/colours/red.cc": "", "src/base/words.cc": '#include "exhume/front.h"\n'})
        self.assertIn("colours/red", output)
        self.assertIn("base/words includes exhume/front", output)


if __name__ == "__main__":
    unittest.main()
