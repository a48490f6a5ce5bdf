"""architecture_paths_selftest.py

Shows on small trees what architecture_paths.py refuses: paths that do not exist, folders that do not say what they hold,
pages that are too long, committed files that name places outside. Also without git, as in a source archive.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "architecture_paths.py"

GOOD = {
    "ARCHITECTURE.md": "# A small project\n\nNumbers live in `src/base/number.h`, `src/` has the rest.\n\n"
                       "```layers\nnot/a/path\n```\n",
    "include/exhume/front.h": "",
    "src/front.cc": "",
    "src/base/number.h": "",
    "src/base/README.md": "Numbers, in `src/base/number.h`.\n",
    "src/shapes/round/circle.cc": "",
    "src/shapes/README.md": "Shapes; `round/circle.cc` is one.\n",
    "docs/page.md": "As in `src/front.cc`.\n",
}


class ArchitecturePaths(unittest.TestCase):
    def run_on(self, files=None, git=True):
        """Exit status and output on the good tree with files added, changed or (None) left out."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**GOOD, **(files or {})}.items():
                if text is None:
                    continue
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            # Nothing of the machine's own configuration, and no repository above the folder.
            environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
                           "GIT_CEILING_DIRECTORIES": str(root.parent)}
            for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
                environment.pop(variable, None)
            if git:
                subprocess.run(["git", "init", "-q"], cwd=root, check=True, env=environment)
                subprocess.run(["git", "add", "-A"], cwd=root, check=True, env=environment)
            command = [sys.executable, str(SCRIPT), folder]
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            return done.returncode, done.stdout + done.stderr

    def refuse(self, *words, **how):
        code, output = self.run_on(**how)
        self.assertEqual(code, 1, output)
        self.assertNotIn("Traceback", output)
        for word in words:
            self.assertIn(word, output)

    def test_a_tree_in_order(self):
        for git, words in ((True, "8 committed files are clean"), (False, "not a git checkout")):
            code, output = self.run_on(git=git)
            self.assertEqual(code, 0, output)
            self.assertIn("2 paths of ARCHITECTURE.md and 1 of docs exist; 2 folders", output)
            self.assertIn(words, output)

    def test_a_path_that_does_not_exist(self):
        self.refuse("ARCHITECTURE.md:3: src/base/number.h does not exist",
                    "src/base/README.md:1: src/base/number.h does not exist",
                    files={"src/base/number.h": None, "src/base/other.h": ""})
        self.refuse("src/shapes/README.md:1: round/circle.cc does not exist",
                    files={"src/shapes/round/circle.cc": None, "src/shapes/square.cc": ""})

    def test_a_folder_that_does_not_say_what_it_holds(self):
        self.refuse("src/colours/ has no README.md", files={"src/colours/red.cc": ""})
        self.refuse("src/colours/ has no README.md", files={"src/colours/warm/red.h": ""}, git=False)

    def test_a_source_that_a_page_of_docs_names(self):
        self.refuse("docs/page.md:1: src/back.cc does not exist", files={"docs/page.md": "As in `src/back.cc`.\n"})

    def test_pages_that_are_too_long(self):
        self.refuse("ARCHITECTURE.md: 151 lines, at most 150", files={"ARCHITECTURE.md": "a line\n" * 151})
        self.refuse("src/base/README.md: 26 lines, at most 25", files={"src/base/README.md": "a line\n" * 26})

    def test_a_place_outside(self):
        self.refuse("docs/page.md:2: names", files={"docs/page.md": "see\n../sha" + "red/page.md\n"})


if __name__ == "__main__":
    unittest.main()
