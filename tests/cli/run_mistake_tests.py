#!/usr/bin/env python3
"""What a new user does wrong, and the one helpful sentence that answers it.

run_mistake_tests.py PATH/TO/exhume [unittest arguments]. Standard library only.
"""

import os
import random
import struct
import sys
import unittest

import run_cli_tests as cli
from run_cli_tests import BAD_DATA, USAGE, CommandLineTest


def table(rows, columns, seed=1):
    numbers = random.Random(seed)
    return [[numbers.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]


def text(rows, header=None):
    lines = [",".join(header)] if header else []
    return "\n".join(lines + [",".join(repr(value) for value in row) for row in rows]) + "\n"


def strings_npy(rows):
    header = "{'descr': '<U3', 'fortran_order': False, 'shape': (%d,), }" % rows
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + "yes".encode("utf-32-le") * rows


class Mistakes(CommandLineTest):
    def setUp(self):
        super().setUp()
        x, y = table(400, 3), table(400, 1, seed=2)
        self.x, self.y = x, y
        self.write("x.csv", text(x))
        self.write("y.csv", text(y))

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content)

    def changed(self, row, column, cell):
        lines = text(self.x).splitlines()
        cells = lines[row].split(",")
        cells[column] = cell
        lines[row] = ",".join(cells)
        return "\n".join(lines) + "\n"

    def recover(self, *arguments):
        return ["recover", *(arguments or ["bad.csv", "y.csv"])]

    def test_each_is_answered_by_one_sentence(self):
        three = self.recover("x.csv", "y.csv")
        wide = text([row + [7.0] for row in self.x])
        twice = text([row + [2 * row[0]] for row in self.x])
        mistakes = [
            # what, files, command, exit code, words of the answer
            ("a slip in the command", {}, ["recvoer", "x.csv", "y.csv"], USAGE, ["did you mean recover?"]),
            ("a slip in an option", {}, [*three, "--hiden", "4"], USAGE, ["did you mean --hidden?"]),
            ("a slip in a route", {}, [*three, "--route", "detph2"], USAGE, ["detph2", "depth2"]),
            ("a number in words", {}, [*three, "--hidden", "few"], USAGE, ["few", "whole number"]),
            ("no outputs", {"x.npy": cli.npy_bytes([1.0] * 30, 10, 3)}, self.recover("x.npy"), USAGE, ["x.npy", "outputs"]),
            ("a target that is no column", {"h.csv": text(self.x, ["a", "b", "c"])}, [*self.recover("h.csv"), "--target", "y"], BAD_DATA,
             ["'y'", "a, b, c"]),
            ("three files", {}, self.recover("x.csv", "y.csv", "x.csv"), USAGE, []),
            ("a file that is not there", {}, self.recover("z.csv", "y.csv"), BAD_DATA, ["z.csv", "does not exist"]),
            ("a folder for a file", {}, self.recover(".", "y.csv"), BAD_DATA, ["folder"]),
            ("an ending that says nothing", {"x.dat": text(self.x)}, self.recover("x.dat", "y.csv"), BAD_DATA, [".dat"]),
            ("a workbook", {"x.xlsx": b"PK\x03\x04"}, self.recover("x.xlsx", "y.csv"), BAD_DATA, [".xlsx", ".csv"]),
            ("an empty file", {"bad.csv": ""}, self.recover(), BAD_DATA, ["bad.csv", "empty"]),
            ("a header alone", {"bad.csv": "a,b,c\n"}, self.recover(), BAD_DATA, ["bad.csv", "no rows"]),
            ("a header over one file only", {"bad.csv": text(self.x[:-1], ["a", "b", "c"])}, self.recover(), BAD_DATA,
             ["399", "400"]),
            ("nan", {"bad.csv": self.changed(4, 1, "nan")}, self.recover(), BAD_DATA, ["line 5, column 2", "nan"]),
            ("an empty cell", {"bad.csv": self.changed(4, 1, "")}, self.recover(), BAD_DATA, ["line 5, column 2", "empty"]),
            ("a word in a cell", {"bad.csv": self.changed(4, 1, "n/a")}, self.recover(), BAD_DATA, ["line 5, column 2"]),
            ("a row that is too short", {"bad.csv": text(self.x) + "1,2\n"}, self.recover(), BAD_DATA, ["line 401"]),
            ("decimal commas", {"bad.csv": "1,5;2,5\n" * 400}, self.recover(), BAD_DATA, ["point"]),
            ("UTF-16", {"bad.csv": text(self.x).encode("utf-16")}, self.recover(), BAD_DATA, ["UTF-8"]),
            ("labels as words", {"y.npy": strings_npy(400)}, self.recover("x.csv", "y.npy"), BAD_DATA, ["y.npy"]),
            ("a .npy that was cut off", {"x.npy": cli.npy_bytes([1.0] * 30, 10, 3)[:-9]}, self.recover("x.npy", "y.csv"),
             BAD_DATA, ["x.npy"]),
            ("a constant input", {"bad.csv": wide}, self.recover(), BAD_DATA, ["constant"]),
            ("an input twice", {"bad.csv": twice}, self.recover(), BAD_DATA, []),
            ("a constant output", {"y2.csv": "3\n" * 400}, self.recover("x.csv", "y2.csv"), BAD_DATA, []),
            ("a single row", {"bad.csv": "1,2,3\n", "y2.csv": "1\n"}, self.recover("bad.csv", "y2.csv"), BAD_DATA, []),
            ("samples in place of a network", {}, ["compare", "x.csv", "y.csv"], BAD_DATA, ["x.csv"]),
            ("verify without a certificate", {}, ["verify", "."], BAD_DATA, ["certificate.json"]),
            ("huge", {}, ["generate", "-d", "100", "-k", "9", "-m", "9", "-n", "1e13", "-o", "o"], cli.RESOURCE, ["GiB"]),
        ]
        self.assertGreaterEqual(len(mistakes), 25)
        for what, files, command, code, words in mistakes:
            with self.subTest(what):
                for name, content in files.items():
                    self.write(name, content)
                self.assert_one_sentence(self.run_exhume(*command, code=code), *words)

    def test_what_is_no_mistake_but_worth_a_word(self):
        """inspect points out what recover would take as it is."""
        numbered = text([[float(i), *row] for i, row in enumerate(self.x)])
        labels = text([[float(row[0] > 0)] for row in self.y])
        for what, files, words in [
            ("an index column", {"n.csv": numbered}, ["n.csv", "y.csv", "input 1 counts the rows"]),
            ("labels", {"l.csv": labels}, ["x.csv", "l.csv", "whole numbers"]),
            ("files exchanged", {"w.csv": text(table(400, 9))}, ["y.csv", "w.csv", "exchanged"]),
        ]:
            with self.subTest(what):
                for name, content in files.items():
                    self.write(name, content)
                said = " ".join(self.run_exhume("inspect", words[0], words[1]).stdout.split())
                self.assertIn(words[2], said)


if __name__ == "__main__":
    cli.EXHUME = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
