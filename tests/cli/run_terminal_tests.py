#!/usr/bin/env python3
"""The terminal: progress, help, manual pages, completion, slips of the finger, files that must not be lost.

run_terminal_tests.py PATH/TO/exhume [unittest arguments]. Standard library only.
"""

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import time
import unittest

import run_cli_tests as cli
from run_cli_tests import OK, USAGE, CommandLineTest


class Screen:
    """What a terminal of so many columns shows after text with \\r, \\n and erase-to-end-of-line."""

    def __init__(self, columns):
        self.columns, self.lines, self.column = columns, [[]], 0
        self.wrapped = False

    def feed(self, text):
        for piece in re.split(r"(\x1b\[[0-9;]*[A-Za-z])", text):
            if piece.startswith("\x1b["):
                if piece.endswith("K"):
                    del self.lines[-1][self.column:]
                continue
            for c in piece:
                if c == "\r":
                    self.column = 0
                elif c == "\n":
                    self.lines.append([])
                    self.column = 0
                else:
                    if self.column >= self.columns:
                        self.wrapped = True
                        self.lines.append([])
                        self.column = 0
                    line = self.lines[-1]
                    line[self.column:self.column + 1] = [c]
                    self.column += 1

    def text(self):
        return "\n".join("".join(line) for line in self.lines)


class OnATerminal(CommandLineTest):
    def watch(self, *arguments, columns=80, code=OK, **environment):
        """Everything written to a terminal by stdout and stderr together, as (seconds, text)."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([cli.EXHUME, *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm", **environment})
        os.close(theirs)
        begin = time.monotonic()
        pieces = [(time.monotonic() - begin, piece) for piece in cli.pieces_of(ours, 120)]
        os.close(ours)
        self.assertEqual(process.wait(timeout=60), code)
        return pieces

    def text(self, pieces):
        return b"".join(piece for _, piece in pieces).decode()


class ProgressOnATerminal(OnATerminal):
    def test_nothing_is_left_of_it(self):
        self.run_exhume("generate", "-d", 12, "-k", 12, "-m", 1, "-n", 60000, "-o", "made")
        for columns in (30, 80, 100, 200):
            with self.subTest(columns=columns):
                screen = Screen(columns)
                text = self.text(self.watch("recover", "made/x.npy", "made/y.npy", columns=columns))
                self.assertIn("\r", text)
                screen.feed(text.replace("\r\n", "\n"))
                # The summary begins at the beginning of a line, and no bar is left anywhere.
                self.assertRegex(screen.text(), r"\A(Certified|Not certified)\.")
                self.assertNotIn("░", screen.text())

    def test_it_never_wraps(self):
        for columns in (30, 50, 80, 100):
            pieces = self.watch("generate", "-d", 40, "-k", 10, "-m", 10, "-n", 400000, "-o", "made", columns=columns)
            for line in re.split(r"\r|\n", self.text(pieces)):
                plain = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line)
                if "samples  " in plain:
                    self.assertLess(len(plain), columns, plain)

    def test_it_moves_while_the_work_is_silent(self):
        # A noisy problem of many units: searches that report nothing for seconds.
        self.run_exhume("generate", "-d", 6, "-k", 30, "-m", 1, "-n", 16000, "--noise-relative", 0.3, "-o", "made")
        pieces = self.watch("recover", "made/x.npy", "made/y.npy", "--budget", 8, "--threads", 1, code=cli.NOT_CERTIFIED)
        times = [at for at, _ in pieces]
        gaps = [b - a for a, b in zip(times, times[1:])]
        self.assertGreater(times[-1], 2, "the problem was too easy for this test")
        self.assertLess(max(gaps), 1.5)
        text = self.text(pieces)
        self.assertIn("search", text)
        self.assertRegex(text, r"error \d\.\de[-+]\d\d with \d+ unit")
        self.assertRegex(text, r"step ends within \d+ s")

    def test_quiet_and_dumb_terminals(self):
        arguments = ["generate", "-d", 10, "-k", 10, "-m", 3, "-n", 200000, "-o", "made"]
        self.assertEqual(self.text(self.watch(*arguments, "--quiet")), "")
        self.assertNotIn("\r ", self.text(self.watch(*arguments, TERM="dumb")).replace("\r\n", ""))


class Slips(CommandLineTest):
    def test_commands(self):
        for slip, meant in [("recvoer", "recover"), ("recove", "recover"), ("verfiy", "verify"), ("generat", "generate"),
                            ("lowest_layer", "lowest-layer"), ("memorise", "memorize"), ("rout", "routes")]:
            result = self.run_exhume(slip, "x.npy", "y.npy", code=USAGE)
            self.assert_one_sentence(result, f"no command '{slip}'", f"did you mean {meant}?")
        self.assert_one_sentence(self.run_exhume("zzz", code=USAGE), "no command 'zzz'", "exhume --help")
        self.assert_one_sentence(self.run_exhume("help", "recvoer", code=USAGE), "did you mean recover?")

    def test_options(self):
        for command, slip, meant in [("recover", "--hiden", "--hidden"), ("recover", "--rotue", "--route"),
                                     ("generate", "--smaples", "--samples"), ("generate", "--input", "--inputs"),
                                     ("verify", "--tolerence", "--tolerance"), ("recover", "--out_dir", "")]:
            result = self.run_exhume(command, "a.npy", "b.npy", slip, "4", code=USAGE)
            self.assert_one_sentence(result, f"exhume {command} has no option {slip}",
                                     f"did you mean {meant}?" if meant else f"exhume {command} --help")
        self.assert_one_sentence(self.run_exhume("recover", "a.npy", "b.npy", "--hiden=4", code=USAGE), "--hidden")

    def test_whole_numbers_as_people_write_them(self):
        for text in ("2000", "2e3", "2.0e3", "2_000"):
            self.run_exhume("generate", "-d", 2, "-k", 2, "-m", 1, "--samples", text, "-o", "made" + text)
            self.assertIn("(2000, 2)", cli.read_npy(self.folder / f"made{text}/x.npy")[0])
        for text in ("2.5", "1e99", "1e", "e3", "many", "1e3x"):
            result = self.run_exhume("generate", "-d", 2, "-k", 2, "-m", 1, "--samples", text, "-o", "o", code=USAGE)
            self.assert_one_sentence(result, text)
        self.run_exhume("generate", "-d", 2, "--layers", "3,2e0", "-m", 1, "-n", 10, "-o", "deep")


class HelpText(OnATerminal):
    def commands(self):
        listed = re.search(r"Commands:\n(.*?)\n\n", self.run_exhume("--help").stdout, re.S).group(1)
        return re.findall(r"(?m)^  ([a-z-]+) ", listed)

    def test_help_is_the_help_of_a_command(self):
        self.assertEqual(self.run_exhume("help").stdout, self.run_exhume("--help").stdout)
        self.assertGreater(len(self.commands()), 12)
        for command in self.commands():
            self.assertEqual(self.run_exhume("help", command).stdout, self.run_exhume(command, "--help").stdout)

    def test_it_fits_the_terminal(self):
        for columns in (50, 80, 100):
            for command in self.commands():
                for line in self.text(self.watch(command, "--help", columns=columns)).split("\r\n"):
                    if len(line) > columns:  # only what cannot be broken
                        self.assertNotIn(" ", line.strip(), f"{command} at {columns}: {line}")

    def test_examples_can_still_be_copied(self):
        narrow = self.text(self.watch("extract", "--help", columns=50)).replace("\r\n", "\n")
        joined = re.sub(r" \\\n +", " ", narrow)
        self.assertIn('--command "python -m exhume.serve model.onnx" --domain data.csv --out result', joined)

    def test_manual_pages(self):
        self.run_exhume("man", "--out", "man1")
        pages = self.files("man1")
        self.assertEqual(pages, sorted(["exhume.1", *(f"exhume-{command}.1" for command in self.commands())]))
        self.assertEqual(self.run_exhume("man", "recover").stdout, (self.folder / "man1/exhume-recover.1").read_text())
        for page in pages:
            text = (self.folder / "man1" / page).read_text()
            self.assertRegex(text, r"\A\.TH exhume")
            for section in ("NAME", "SYNOPSIS", "OPTIONS"):
                self.assertIn(f".SH {section}\n", text)
            if shutil.which("groff"):
                said = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-K", "utf8"], input=text, text=True,
                                      capture_output=True)
                self.assertEqual(said.stderr, "", page)
        self.assertIn("--hidden", re.sub(r"\\-", "-", (self.folder / "man1/exhume-recover.1").read_text()))
        self.assert_one_sentence(self.run_exhume("man", "recvoer", code=USAGE), "did you mean recover?")

    def test_completion(self):
        options = set(re.findall(r"--[a-z-]+", self.run_exhume("recover", "--help").stdout.split("Exit code")[0]))
        for shell in ("bash", "zsh", "fish"):
            script = self.run_exhume("completion", shell).stdout
            for command in self.commands():
                self.assertIn(command, script)
            for option in options - {"--sign", "--key"}:
                self.assertIn(option if shell != "fish" else "-l " + option[2:], script, shell)
            if shutil.which(shell):
                self.assertEqual(subprocess.run([shell, "-n"], input=script, text=True).returncode, 0, shell)
        self.assertEqual(self.run_exhume("completion").stdout, self.run_exhume("completion", "bash").stdout)
        self.assert_one_sentence(self.run_exhume("completion", "csh", code=USAGE), "csh")

    def test_bash_completes(self):
        def complete(*words):
            script = self.run_exhume("completion").stdout + "\nCOMP_WORDS=(%s)\nCOMP_CWORD=%d\n_exhume\nprintf '%%s\\n' \"${COMPREPLY[@]}\"\n" % (
                " ".join(f"'{word}'" for word in words), len(words) - 1)
            return subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout.split()

        self.assertEqual(complete("exhume", "rec"), ["recover"])
        self.assertEqual(complete("exhume", "help", "verif"), ["verify"])
        self.assertEqual(complete("exhume", "recover", "--hid"), ["--hidden"])
        self.assertIn("depth2", complete("exhume", "recover", "--route", "dep"))


class Overwriting(CommandLineTest):
    def test_the_truth_is_not_lost(self):
        self.generate("ow", n=3000)
        truth = (self.folder / "ow/network.safetensors").read_bytes()
        result = self.run_exhume("recover", "ow/x.npy", "ow/y.npy", "--out", "ow", code=USAGE)
        self.assert_one_sentence(result, "network.safetensors", "--force")
        self.assertEqual((self.folder / "ow/network.safetensors").read_bytes(), truth)
        self.assertEqual(self.files("ow"), ["network.safetensors", "x.npy", "y.npy"])
        self.run_exhume("recover", "ow/x.npy", "ow/y.npy", "--out", "ow", "--force")
        self.run_exhume("verify", "ow")

    def test_an_earlier_result_is_replaced(self):
        self.generate("made", n=3000)
        for _ in range(2):
            self.run_exhume("recover", "made/x.npy", "made/y.npy", "--out", "result")
        # A network that was exchanged afterwards is not ours any more.
        path = self.folder / "result/network.safetensors"
        path.write_bytes((self.folder / "made/network.safetensors").read_bytes())
        result = self.run_exhume("recover", "made/x.npy", "made/y.npy", "--out", "result", code=USAGE)
        self.assert_one_sentence(result, "result/network.safetensors")

    def test_a_refusal_does_not_take_it_either(self):
        self.generate("ow", n=3000)
        cli.write_safetensors(self.folder / "ow/network.safetensors", {"W": ([1, 1], [1.0])})
        self.run_exhume("recover", "ow/x.npy", "ow/y.npy", "--hidden", "1", "--out", "ow", code=USAGE)
        self.assertIn("W", cli.read_safetensors(self.folder / "ow/network.safetensors"))

    def test_rows_of_the_user(self):
        self.generate("made", d=3, k=2, m=1, n=6)
        (self.folder / "made/x.npy").rename(self.folder / "inputs.npy")
        (self.folder / "made/y.npy").rename(self.folder / "labels.npy")
        before = (self.folder / "inputs.npy").read_bytes()
        result = self.run_exhume("memorize", "inputs.npy", "labels.npy", "--perturb", "0.1", "--out", ".", code=USAGE)
        self.assert_one_sentence(result, "inputs.npy", "--force")
        self.assertEqual((self.folder / "inputs.npy").read_bytes(), before)

    def test_samples_do_not_replace_a_result(self):
        self.generate("made", n=3000)
        self.generate("made", n=3000)  # samples may be made again
        self.run_exhume("recover", "made/x.npy", "made/y.npy", "--out", "result")
        self.assert_one_sentence(self.generate("result", code=USAGE), "certificate.json", "--force")
        self.run_exhume("verify", "result")
        self.generate("result", "--force")


class WhatFailed(CommandLineTest):
    def test_the_headline_names_it(self):
        self.generate("made", n=3000)
        self.run_exhume("recover", "made/x.npy", "made/y.npy", "--out", "result")
        self.assertRegex(self.run_exhume("verify", "result").stdout, r"\AAgrees on 3,000 rows: ")
        path = self.folder / "result/certificate.json"
        whole = path.read_text()
        path.write_text(whole.replace('"seed": 0', '"seed": 1'))
        first = self.run_exhume("verify", "result", code=cli.NOT_CERTIFIED).stdout.split("\n")
        self.assertRegex(first[0], r"\ADoes not agree: certificate: its digest")
        self.assertRegex(first[1], r"\AThe rows themselves: on 3,000 rows: relative mse")
        path.write_text(whole)
        x = self.folder / "made/x.npy"
        data = x.read_bytes()
        x.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
        self.assertRegex(self.run_exhume("verify", "result", code=cli.NOT_CERTIFIED).stdout, r"\ADoes not agree: inputs: ")

    def test_rows_beyond_a_tolerance(self):
        self.generate("made", "--noise", "0.1", n=3000)
        said = self.run_exhume("verify", "made/network.safetensors", "made/x.npy", "made/y.npy", code=cli.NOT_CERTIFIED)
        self.assertRegex(said.stdout, r"\ADoes not agree on 3,000 rows: .*; at most 1e-12 is accepted\.")


if __name__ == "__main__":
    cli.EXHUME = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
