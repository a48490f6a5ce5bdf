#!/usr/bin/env python3
"""One table with inputs and outputs: targets, names of columns, standard input; the true network and errors in the result.

run_table_tests.py PATH/TO/exhume [unittest arguments]. Standard library only.
"""

import json
import os
import subprocess
import sys
import unittest

import run_cli_tests as cli
from run_cli_tests import BAD_DATA, NOT_CERTIFIED, OK, USAGE, CommandLineTest

NAMES = ["age, years", "größe", 'say "hi"', "d"]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


class Tables(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.run_exhume("generate", "-d", 4, "-k", 3, "-m", 2, "-n", 2000, "--seed", 31, "-o", "made", "-q")
        self.x, self.y = (cli.read_npy(self.folder / "made" / f"{name}.npy")[1] for name in "xy")
        self.rows = [[*self.x[4 * i:4 * i + 4], *self.y[2 * i:2 * i + 2]] for i in range(2000)]

    def write(self, name, header=None, rows=None, end="\n", mark=""):
        lines = [",".join(header)] if header else []
        lines += [",".join(repr(value) for value in row) for row in (rows or self.rows)]
        (self.folder / name).write_bytes((mark + end.join(lines) + end).encode())

    def certificate(self, folder):
        return json.loads((self.folder / folder / "certificate.json").read_text())

    def test_one_table_gives_the_same_network_as_two_files(self):
        self.run_exhume("recover", "made/x.npy", "made/y.npy", "-o", "two", "-q")
        header = [*map(quoted, NAMES), "y1", "y2"]
        self.write("plain.csv", header)
        self.write("windows.csv", header, end="\r\n", mark="\ufeff")
        self.write("moved.csv", ["y2", *map(quoted, NAMES), "y1"], [[r[5], *r[:5]] for r in self.rows])
        self.write("none.csv")
        wanted = (self.folder / "two/network.safetensors").read_bytes()
        for name, target in [("plain", "y1,y2"), ("windows", "y1, y2"), ("moved", "y1,y2"), ("none", "5,6")]:
            with self.subTest(name):
                said = self.run_exhume("recover", f"{name}.csv", "--target", target, "-o", name).stdout
                self.assertEqual((self.folder / name / "network.safetensors").read_bytes(), wanted)
                stated = self.certificate(name)
                if name == "none":
                    self.assertNotIn("input_names", stated)
                    self.assertIn("columns 5, 6 of the table", said)
                else:
                    self.assertEqual(stated["input_names"], NAMES)
                    self.assertEqual(stated["output_names"], ["y1", "y2"])
                    self.assertIn("'age, years', größe", said)
                    page = (self.folder / name / "report.html").read_text()
                    self.assertIn("say &quot;hi&quot;", page)
                    onnx = (self.folder / name / "network.onnx").read_bytes()
                    self.assertIn(json.dumps(NAMES, ensure_ascii=False, separators=(",", ":")).encode(), onnx)
                self.run_exhume("verify", name)

    def test_the_last_column_where_nothing_is_said(self):
        self.write("t.csv", ["a", "b", "c", "d", "y"], [r[:5] for r in self.rows])
        said = self.run_exhume("recover", "t.csv", "-o", "last").stdout
        stated = self.certificate("last")
        self.assertEqual((stated["output_names"], stated["target"], stated["inputs"]), (["y"], [4], 4))
        self.assertRegex(said, r"outputs +y\n")
        self.assertEqual(self.certificate("last")["status"], "certified")
        self.run_exhume("verify", "last")
        # Names that are not those of the file are found.
        path = self.folder / "t.csv"
        path.write_text(path.read_text().replace("a,b,c", "b,a,c", 1))
        self.assertIn("not the file", self.run_exhume("verify", "last", code=NOT_CERTIFIED).stdout)

    def test_standard_input(self):
        self.write("t.csv", ["a", "b", "c", "d", "y1", "y2"])
        table = (self.folder / "t.csv").read_bytes()

        def piped(*arguments, code=OK, table=table):
            done = subprocess.run([cli.EXHUME, *map(str, arguments)], cwd=self.folder, input=table, capture_output=True, timeout=300,
                                  env={**os.environ, "TMPDIR": str(self.folder)})
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual([name for name in self.files() if "exhume-" in name], [], "a copy was left")
            return done

        piped("recover", "-", "--target", "y1,y2", "-o", "piped")
        stated = self.certificate("piped")
        self.assertEqual(stated["files"][0]["path"], "-")
        self.assertEqual(stated["input_names"], ["a", "b", "c", "d"])
        self.run_exhume("verify", "piped", "t.csv")
        self.assert_one_sentence(self.run_exhume("verify", "piped", code=BAD_DATA), "standard input", "in a file")
        self.assertIn(b"Can be tried", piped("inspect", "-", "--target", "y1,y2").stdout)
        for data, words in [(b"", b"empty"), (b"\x93NUMPY\x01\x00", b".npy"), (b"a,b\n1,x\n", b"standard input: line 2, column 2")]:
            self.assertIn(words, piped("recover", "-", code=BAD_DATA, table=data).stderr)
        self.assertIn(b"twice", piped("recover", "-", "-", code=USAGE).stderr)

    def test_other_commands_take_targets(self):
        self.write("moved.csv", ["y2", "a", "b", "c", "d", "y1"], [[r[5], *r[:5]] for r in self.rows])
        self.write("few.csv", ["y2", "a", "b", "c", "d", "y1"], [[r[5], *r[:5]] for r in self.rows[:8]])
        self.write("last.csv", ["a", "b", "c", "d", "y1", "y2"], self.rows[:8])
        networks = []
        for name in ["few", "last"]:
            self.run_exhume("memorize", f"{name}.csv", "--target", "y1,y2", "-o", name)
            networks.append((self.folder / name / "network.safetensors").read_bytes())
        self.assertEqual(*networks)
        said = json.loads(self.run_exhume("diagnose", "moved.csv", "--target", "y1,y2", "--json", code=None).stdout)
        self.assertIn("samples_needed", said["diagnosis"] if "diagnosis" in said else said)
        for command in ["halfspaces", "lowest-layer", "memorize", "diagnose"]:
            said = self.run_exhume(command, "few.csv", "--target", "z", code=BAD_DATA)
            self.assert_one_sentence(said, "target 'z' is no column")

    def test_an_index_column_is_pointed_out(self):
        self.write("t.csv", ["", "a", "b", "c", "d", "y1", "y2"], [[i, *r] for i, r in enumerate(self.rows)])
        said = self.run_exhume("recover", "t.csv", "--target", "y1,y2", "--budget", 2, "-o", "o", code=None).stdout
        self.assertIn("input 1 ('column 1') counts the rows", " ".join(said.split()))
        self.assertIn("counts the rows", self.certificate("o")["remarks"][0])
        self.assertIn("counts the rows", (self.folder / "o/report.html").read_text())

    def test_an_index_with_gaps_is_pointed_out(self):
        self.write("t.csv", ["", "a", "b", "c", "d", "y1", "y2"], [[3 * i + i % 2, *r] for i, r in enumerate(self.rows)])
        said = self.run_exhume("recover", "t.csv", "--target", "y1,y2", "--budget", 2, "-o", "o", code=None).stdout
        self.assertIn("input 1 ('column 1') holds whole numbers that increase from row to row", " ".join(said.split()))

    def test_columns_that_are_refused_are_named(self):
        self.write("t.csv", ["a", "b", "c", "still", "y1", "y2"], [[*r[:3], 7.0, *r[4:]] for r in self.rows])
        self.assert_one_sentence(self.run_exhume("recover", "t.csv", "--target", "y1,y2", code=BAD_DATA), "'still'", "constant")

    def test_mistakes_are_one_sentence(self):
        self.write("t.csv", ["a", "a", "c", "d", "y1", "y2"])
        self.write("h.csv")
        (self.folder / "t.parquet").write_bytes(b"PAR1")
        for arguments, code, words in [
            (["t.csv", "--target", "z"], BAD_DATA, ["target 'z' is no column", "a, a, c, d, y1, y2"]),
            (["t.csv", "--target", ""], USAGE, ["target is ''"]),
            (["t.csv", "--target", "y1,"], USAGE, ["y1,y2"]),
            (["t.csv", "--target", "a"], BAD_DATA, ["several columns"]),
            (["t.csv", "--target", "y1,y1"], BAD_DATA, ["twice"]),
            (["h.csv", "--target", "y"], BAD_DATA, ["no header", "from 1 to 6"]),
            (["t.csv", "t.csv", "--target", "y1"], USAGE, ["one table"]),
            (["made/x.npy"], USAGE, ["holds the inputs only", "target"]),
            (["t.parquet", "--target", "y"], BAD_DATA, ["Parquet", "Python"]),
            (["made/x.npy", "made/y.npy", "--shape", "3x3"], USAGE, ["3x3", "4 inputs"]),
            (["made/x.npy", "made/y.npy", "--shape", "big"], USAGE, ["big", "8x8"]),
            (["made/x.npy", "made/y.npy", "--truth", "made/none.safetensors"], BAD_DATA, ["none.safetensors"]),
        ]:
            with self.subTest(arguments):
                self.assert_one_sentence(self.run_exhume("recover", *arguments, code=code), *words)


class Results(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.run_exhume("generate", "-d", 4, "-k", 3, "-m", 2, "-n", 8000, "--seed", 32, "--noise-relative", 0.05, "-o", "made", "-q")

    def test_errors_lie_beside_an_estimate(self):
        self.run_exhume("recover", "made/x.npy", "made/y.npy", "-o", "result", "-q")
        weights, errors = (cli.read_safetensors(self.folder / "result" / name) for name in ("network.safetensors", "errors.safetensors"))
        self.assertEqual({name: shape for name, (shape, _) in weights.items()}, {name: shape for name, (shape, _) in errors.items()})
        largest = max(max(values) for _, values in errors.values())
        stated = json.loads((self.folder / "result/certificate.json").read_text())
        self.assertAlmostEqual(largest / stated["max_standard_error"], 1, places=6)
        self.assertIn("Weights with intervals", (self.folder / "result/report.html").read_text())
        # A certified result in the same folder leaves none.
        self.run_exhume("generate", "-d", 4, "-k", 3, "-m", 2, "-n", 2000, "-o", "exact", "-q")
        self.run_exhume("recover", "exact/x.npy", "exact/y.npy", "-o", "result", "-q")
        self.assertNotIn("errors.safetensors", self.files("result"))

    def test_truth_in_the_report(self):
        said = self.run_exhume("recover", "made/x.npy", "made/y.npy", "--truth", "made/network.safetensors", "-o", "result").stdout
        self.assertRegex(said, r"truth +worst parameter \d\.\d\de-\d\d off")
        found = json.loads(self.run_exhume("compare", "result/network.safetensors", "made/network.safetensors", "--json").stdout)
        stated = json.loads((self.folder / "result/certificate.json").read_text())["truth"]
        self.assertAlmostEqual(stated["worst_error"] / found["worst_error"], 1, places=5)
        self.assertIn("True against recovered", (self.folder / "result/report.html").read_text())
        self.assertIn("differs as stated", self.run_exhume("verify", "result").stdout)
        (self.folder / "made/network.safetensors").unlink()
        self.assertIn("was not made again", self.run_exhume("verify", "result").stdout)

    def test_a_view_is_another_page(self):
        self.run_exhume("recover", "made/x.npy", "made/y.npy", "-o", "result", "-q")
        before = (self.folder / "result/report.html").read_bytes()
        self.run_exhume("report", "result", "--truth", "made/network.safetensors", "--shape", "2x2")
        self.assertEqual((self.folder / "result/report.html").read_bytes(), before)
        page = (self.folder / "result/view.html").read_text()
        self.assertIn("True against recovered", page)
        self.assertIn("Units as images", page)
        self.run_exhume("verify", "result")
        self.assert_one_sentence(self.run_exhume("report", "result", "--shape", "3x3", code=USAGE), "4 inputs")

    def test_what_to_do_next_is_said(self):
        self.run_exhume("generate", "-d", 6, "-k", 20, "-m", 1, "-n", 3000, "--noise-relative", 0.3, "-o", "hard", "-q")
        said = self.run_exhume("recover", "hard/x.npy", "hard/y.npy", "--budget", 2, "-o", "o", code=NOT_CERTIFIED).stdout
        self.assertRegex(said, r"\n  next +- \w")
        self.assertIn("- Run inspect", said)
        self.assertIn("What failed, and what to do next", (self.folder / "o/report.html").read_text())


if __name__ == "__main__":
    cli.EXHUME = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
