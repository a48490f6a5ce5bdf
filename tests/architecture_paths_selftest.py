"""architecture_paths_selftest.py

Shows on small trees that architecture_paths.py finds paths that do not exist and files that the tree does not
name: in a git checkout and in a source archive without git.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "architecture_paths.py"

ARCHITECTURE = """# A small project

Numbers live in `include/exhume/base/number.h`, and `src/` has the rest.

```tree
include/exhume/      the interface
  front.h            the way in
  base/              numbers
    number.h
src/                 one a header
  front.cc
  shapes/            one file a shape (all files)
tests/               one a module (all files)
docs/
  page.md
```
"""

GOOD = {
    "ARCHITECTURE.md": ARCHITECTURE,
    "include/exhume/front.h": "",
    "include/exhume/base/number.h": "",
    "src/front.cc": "",
    "src/shapes/circle.cc": "",
    "src/shapes/square.cc": "",
    "tests/front_test.cc": "",
    "docs/page.md": "",
    "docs/other.md": "",  # below none of the folders that are covered
    "README.md": "",
}


class ArchitecturePaths(unittest.TestCase):
    def run_on(self, files=None, git=True, untracked=()):
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
            for name in untracked:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("")
            command = [sys.executable, str(SCRIPT), folder]
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            return done.returncode, done.stdout + done.stderr

    def accept(self, *words, **how):
        code, output = self.run_on(**how)
        self.assertEqual(code, 0, output)
        for word in words:
            self.assertIn(word, output)

    def refuse(self, *words, **how):
        code, output = self.run_on(**how)
        self.assertEqual(code, 1, output)
        self.assertNotIn("Traceback", output)
        for word in words:
            self.assertIn(word, output)
        return output

    def test_a_tree_that_names_everything(self):
        self.accept("6 files have their place")
        self.accept("6 files have their place", "not a git checkout", git=False)

    def test_a_path_that_does_not_exist(self):
        self.refuse("ARCHITECTURE.md:7: include/exhume/front.h does not exist", files={"include/exhume/front.h": None})
        self.refuse("src/shapes/ does not exist", files={"src/shapes/circle.cc": None, "src/shapes/square.cc": None})
        # In prose and in the tree.
        output = self.refuse(files={"include/exhume/base/number.h": None, "include/exhume/base/other.h": ""})
        self.assertIn("ARCHITECTURE.md:3: include/exhume/base/number.h does not exist", output)

    def test_a_file_that_is_not_named(self):
        for git in (True, False):
            output = self.refuse("src/back.cc is not in the tree of ARCHITECTURE.md",
                                 "the note of src/ with '(all files)'", files={"src/back.cc": ""}, git=git)
            self.assertNotIn("docs/other.md", output)
            self.assertNotIn("README.md", output)

    def test_a_source_stands_with_its_header(self):
        self.accept("7 files", files={"src/base/number.cc": ""})
        self.refuse("src/number.cc is not in the tree", files={"src/number.cc": ""})

    def test_all_files_covers_its_own_folder_only(self):
        self.accept("7 files", files={"src/shapes/star.cc": ""})
        self.refuse("tests/deeper/a.py is not in the tree", "the note of tests/deeper/",
                    files={"tests/deeper/a.py": ""})
        self.refuse("include/exhume/shapes/star.h is not in the tree", files={"include/exhume/shapes/star.h": ""})

    def test_all_files_must_end_the_note(self):
        changed = ARCHITECTURE.replace("one a module (all files)", "(all files) one a module")
        self.refuse("tests/front_test.cc is not in the tree", files={"ARCHITECTURE.md": changed})

    def test_a_folder_without_the_words_covers_nothing(self):
        changed = ARCHITECTURE.replace("one a module (all files)", "one file a module")
        self.refuse("tests/front_test.cc is not in the tree", files={"ARCHITECTURE.md": changed})

    def test_files_that_are_not_committed_do_not_count(self):
        self.accept("6 files", untracked=["src/scratch.cc"])

    def test_without_git_hidden_files_and_caches_do_not_count(self):
        self.accept("6 files", git=False, untracked=["src/.swap", "src/.hidden/a.cc", "tests/__pycache__/a.pyc"])

    def test_python_is_covered_below_src_and_package_only(self):
        self.accept(files={"python/tutorial.py": ""})
        self.refuse("python/src/call.cc", files={"python/src/call.cc": ""})
        self.refuse("python/package/exhume/a.py", files={"python/package/exhume/a.py": ""})

    def test_a_page_without_a_tree(self):
        self.refuse("no block opened by ```tree", files={"ARCHITECTURE.md": "# Nothing\n"})


if __name__ == "__main__":
    unittest.main()
