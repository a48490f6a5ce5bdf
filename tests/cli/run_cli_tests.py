#!/usr/bin/env python3
"""Tests of the command line as a user meets it: run_cli_tests.py PATH/TO/exhume [unittest arguments].

Standard library only. Every test works in a folder of its own.
"""

import array
import hashlib
import json
import os
import pathlib
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

EXHUME = None  # path of the program, from the command line

OK, INTERNAL, USAGE, NOT_CERTIFIED, BAD_DATA, RESOURCE, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


def npy_bytes(values, rows, columns):
    """A '<f8' .npy file in C order."""
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, columns)
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array("d", values).tobytes()


def read_npy(path):
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    start = 10 + struct.unpack("<H", data[8:10])[0]
    values = array.array("d")
    values.frombytes(data[start:])
    return data[10:start].decode(), values


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = array.array("d")
            values.frombytes(data[8 + size + begin:8 + size + end])
            tensors[name] = (entry["shape"], values)
    return tensors


def write_safetensors(path, tensors):
    header, buffer = {}, b""
    for name, (shape, values) in tensors.items():
        raw = array.array("d", values).tobytes()
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [len(buffer), len(buffer) + len(raw)]}
        buffer += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + buffer)


def pieces_of(terminal, seconds):
    """What appears on a terminal, piece by piece, until its other side is closed or is silent for so long."""
    while True:
        ready, _, _ = select.select([terminal], [], [], seconds)
        try:
            piece = os.read(terminal, 65536) if ready else b""
        except OSError:  # the other side is closed
            piece = b""
        if not piece:
            return
        yield piece


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def run_exhume(self, *arguments, code=OK, **options):
        arguments = [a if isinstance(a, bytes) else str(a) for a in arguments]
        result = subprocess.run([EXHUME, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=300, **options)
        if code is not None:
            self.assertEqual(result.returncode, code, f"{arguments}\nstdout: {result.stdout}\nstderr: {result.stderr}")
        return result

    def assert_one_sentence(self, result, *words):
        """Nothing on stdout, one line `exhume: ... .` on stderr that holds these words."""
        self.assertEqual(result.stdout, "")
        said = re.sub(r"(?m)^==\d+==WARNING: (Address|Thread)Sanitizer.*\n", "", result.stderr)  # its own remark, not ours
        self.assertRegex(said, r"\Aexhume: [^\n]+[.?!]\n\Z")
        for word in words:
            self.assertIn(word, result.stderr)

    def generate(self, out, *arguments, d=4, k=5, m=6, n=500, **options):
        return self.run_exhume("generate", "--inputs", d, "--hidden", k, "--outputs", m, "--samples", n, "--out", out,
                               *arguments, **options)

    def files(self, folder="."):
        return sorted(str(path.relative_to(self.folder / folder)) for path in (self.folder / folder).rglob("*"))


class Usage(CommandLineTest):
    def test_version_and_help_go_to_stdout(self):
        self.assertRegex(self.run_exhume("--version").stdout, r"\Aexhume \d+\.\d+\.\d+\n\Z")
        self.assertIn("Examples:", self.run_exhume("--help").stdout)
        for command in ["generate", "recover", "compare", "verify", "report", "routes", "keys"]:
            result = self.run_exhume(command, "--help")
            self.assertIn("Examples:\n  exhume " + command, result.stdout)
            self.assertEqual(result.stderr, "")

    def test_mistakes_are_one_sentence_and_code_2(self):
        for arguments in [
            [], ["nonsense"], ["generate"], ["generate", "--samples", "many", "--out", "o"], ["compare", "a"],
            ["recover"], ["recover", "a.npy"], ["recover", "a", "b", "c"], ["verify", "n"],
            ["recover", "a.npy", "b.npy", "--hidden", "0"], ["recover", "a.npy", "b.npy", "--hidden", "few"],
            ["recover", "a.npy", "b.npy", "--layers", "0"], ["recover", "a.npy", "b.npy", "--layers", "many"],
            ["recover", "a.npy", "b.npy", "--layers", "9"], ["recover", "a.npy", "b.npy", "--hidden", "3,x"],
            ["recover", "a.npy", "b.npy", "--hidden", "3,auto"],
            ["recover", "a.npy", "b.npy", "--budget", "-1"], ["recover", "a.npy", "b.npy", "--route", "no such route"],
            ["generate", "-d", "2", "-k", "2", "-m", "1", "-n", "0", "-o", "o"],
            ["generate", "-d", "0", "-k", "2", "-m", "1", "-n", "9", "-o", "o"],
            ["generate", "-d", "2", "-k", "2", "-m", "1", "-n", "9", "--noise", "-1", "-o", "o"],
            ["generate", "-d", "2", "-k", "2", "-m", "1", "-n", "9", "--noise", "nan", "-o", "o"],
            ["generate", "-d", "1", "-k", "2", "-m", "1", "-n", "9", "--condition", "4", "-o", "o"],
            ["generate", "-d", "2", "-k", "2", "-m", "1", "-n", "9", "--distribution", "cauchy", "-o", "o"],
            ["generate", "-d", "2", "-n", "9", "-o", "o"],
            ["generate", "-d", "2", "--network", "n.safetensors", "-n", "9", "-o", "o"],
            ["generate", "-d", "2", "-k", "2", "-m", "1", "-n", "9", "-o", "o", "--threads", "-1"],
            ["generate", "-d", "2", "-k", "2", "--layers", "3,3", "-m", "1", "-n", "9", "-o", "o"],
            ["generate", "-d", "2", "--layers", "3,0", "-m", "1", "-n", "9", "-o", "o"],
            ["generate", "-d", "2", "--layers", "3,many", "-m", "1", "-n", "9", "-o", "o"],
            ["generate", "-d", "2", "--layers", "3,3", "-m", "1", "-n", "9", "--leak", "0.1", "-o", "o"],
            ["generate", "-d", "2", "--layers", "3,3", "-m", "1", "-n", "9", "--perturb", "0.1", "-o", "o"],
            ["generate", "-d", "2", "--layers", "3,3", "-m", "1", "-n", "9", "--model", "threshold", "-o", "o"],
            ["generate", "--layers", "3,3", "-m", "1", "-n", "9", "-o", "o"],
            ["generate", "--layers", "3,3", "--network", "n.safetensors", "-n", "9", "-o", "o"],
        ]:
            with self.subTest(arguments=arguments):
                self.assert_one_sentence(self.run_exhume(*arguments, code=USAGE))
                self.assertEqual(self.files(), [])


class Generate(CommandLineTest):
    def test_writes_samples_of_the_network(self):
        self.generate("made")
        self.assertEqual(self.files("made"), ["network.safetensors", "x.npy", "y.npy"])
        header, x = read_npy(self.folder / "made/x.npy")
        self.assertIn("(500, 4)", header)
        self.assertEqual(len(x), 2000)
        _, y = read_npy(self.folder / "made/y.npy")
        network = read_safetensors(self.folder / "made/network.safetensors")
        (k, d), w = network["W"]
        (m, _), a = network["A"]
        self.assertEqual((d, k, m), (4, 5, 6))
        for row in range(0, 500, 50):  # y = A max(Wx + b, 0) + c by hand
            hidden = [max(network["b"][1][i] + sum(w[i * d + j] * x[row * d + j] for j in range(d)), 0) for i in range(k)]
            for o in range(m):
                f = network["c"][1][o] + sum(a[o * k + i] * hidden[i] for i in range(k))
                self.assertAlmostEqual(f, y[row * m + o], delta=1e-13)

    def test_bytes_do_not_depend_on_threads(self):
        arguments = ["--noise-relative", "0.1", "--condition", "5", "--mean", "1", "--seed", "9"]
        self.generate("one", *arguments, "--threads", 1, n=20001)
        self.generate("two", *arguments, "--threads", 2, n=20001)
        self.generate("again", *arguments, "--threads", 2, n=20001)
        for name in ["x.npy", "y.npy", "network.safetensors"]:
            self.assertEqual((self.folder / "one" / name).read_bytes(), (self.folder / "two" / name).read_bytes())
            self.assertEqual((self.folder / "one" / name).read_bytes(), (self.folder / "again" / name).read_bytes())

    def test_a_longer_run_begins_with_a_shorter_one(self):
        self.generate("short", n=100)
        self.generate("long", n=5000)
        self.assertEqual(read_npy(self.folder / "short/x.npy")[1], read_npy(self.folder / "long/x.npy")[1][:400])

    def test_samples_a_given_network(self):
        self.generate("made")
        self.run_exhume("generate", "--network", "made/network.safetensors", "--samples", 50, "--seed", 3, "--out", "more")
        self.run_exhume("verify", "made/network.safetensors", "more/x.npy", "more/y.npy")
        self.assertEqual((self.folder / "made/network.safetensors").read_bytes(),
                         (self.folder / "more/network.safetensors").read_bytes())

    def test_json_is_one_document(self):
        result = self.generate("made", "--json")
        self.assertEqual(json.loads(result.stdout)["hidden_units"], 5)
        self.assertEqual(result.stderr, "")

    def test_quiet_is_quiet(self):
        result = self.generate("made", "--quiet")
        self.assertEqual(result.stdout + result.stderr, "")

    def test_a_formula_as_an_instance(self):
        (self.folder / "six.cnf").write_text("c six variables\np cnf 6 1\n1 -2 3 -4 5 6 0\n")
        self.run_exhume("generate", "--cnf", "six.cnf", "--out", "hard")
        header = (self.folder / "hard/x.npy").read_bytes()[:128]
        self.assertIn(b"(19, 8)", header)  # a clause and its complement, twelve +-e, five for the last two
        (self.folder / "bad.cnf").write_text("p cnf 6 1\n1 2 3 0\n")
        self.assert_one_sentence(self.run_exhume("generate", "--cnf", "bad.cnf", "--out", "no", code=BAD_DATA), "bad.cnf")
        self.assert_one_sentence(self.run_exhume("generate", "--cnf", "none.cnf", "--out", "no", code=BAD_DATA), "none.cnf")

    def test_too_large_for_the_disk(self):
        self.assert_one_sentence(self.generate("made", n=10**15, code=RESOURCE), "GiB")
        self.assert_one_sentence(self.generate("made", k=10**13, code=RESOURCE), "memory")
        self.assertEqual(self.files(), [])

    def test_folder_that_is_a_file(self):
        (self.folder / "file").write_text("here")
        self.assert_one_sentence(self.generate("file", code=BAD_DATA), "file")
        self.assert_one_sentence(self.generate("file/below", code=BAD_DATA), "file")
        self.assertEqual((self.folder / "file").read_text(), "here")

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_folder_without_permission(self):
        (self.folder / "locked").mkdir(mode=0o500)
        self.assert_one_sentence(self.generate("locked", code=BAD_DATA), "locked")
        self.assertEqual(self.files("locked"), [])

    def test_folder_that_no_one_may_write(self):
        self.assert_one_sentence(self.generate("/proc/exhume-test", code=BAD_DATA), "/proc/exhume-test")

    def test_ctrl_c_leaves_nothing(self):
        for name, threads in [("made", 1), ("made", 2)]:
            process = subprocess.Popen([EXHUME, "generate", "-d", "50", "-k", "50", "-m", "5", "-n", "20000000", "-o", name,
                                        "--threads", str(threads)], cwd=self.folder, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            deadline = time.monotonic() + 30
            while not self.files() and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, INTERRUPTED, err)
            self.assertEqual(out, "")
            self.assertRegex(err, r"\Aexhume: interrupted[^\n]*\n\Z")
            self.assertEqual(self.files(), [])

    def test_an_old_file_survives_ctrl_c(self):
        self.generate("made", n=10)
        before = {name: (self.folder / "made" / name).read_bytes() for name in self.files("made")}
        process = subprocess.Popen([EXHUME, "generate", "-d", "50", "-k", "50", "-m", "5", "-n", "20000000", "-o", "made"],
                                   cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while len(self.files("made")) == len(before) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=30), INTERRUPTED)
        after = {name: (self.folder / "made" / name).read_bytes() for name in self.files("made")}
        self.assertEqual(before, after)


class Terminal(CommandLineTest):
    def on_a_terminal(self, *arguments, **environment):
        """stderr (a terminal) and exit code."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([EXHUME, *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=theirs,
                                   env={**os.environ, "TERM": "xterm", **environment})
        os.close(theirs)
        text = b"".join(pieces_of(ours, 60))
        os.close(ours)
        self.assertEqual(process.wait(timeout=60), OK)
        return text.decode()

    def test_progress_on_a_terminal_is_cleared(self):
        arguments = ["generate", "-d", 10, "-k", 10, "-m", 3, "-n", 200000, "-o", "made"]
        text = self.on_a_terminal(*arguments)
        self.assertIn("samples", text)
        self.assertIn("%", text)
        self.assertTrue(text.endswith("\r\x1b[K"), repr(text[-40:]))
        self.assertEqual(self.on_a_terminal(*arguments, "--quiet"), "")
        self.assertNotIn("\x1b[36m", self.on_a_terminal(*arguments, NO_COLOR="1"))
        self.assertEqual(self.on_a_terminal(*arguments, TERM="dumb"), "")


class Extract(CommandLineTest):
    """A program that is asked: a network of four units in text mode, without NumPy."""

    PROGRAM = """
import sys
W = [[1, 0.5, -0.2], [-0.3, 0.8, 0.1], [0.2, -0.4, 0.9], [0.5, 0.5, 0.5]]
b = [0.1, -0.2, 0.3, -0.4]
a = [1.0, -2.0, 0.7, 1.5]
for line in sys.stdin:
    x = [float(t) for t in line.split(",")]
    z = [sum(w * t for w, t in zip(row, x)) + c for row, c in zip(W, b)]
    print(repr(sum(c * max(t, 0.0) for c, t in zip(a, z)) + 0.25), flush=True)
"""

    def setUp(self):
        super().setUp()
        (self.folder / "oracle.py").write_text(self.PROGRAM)
        self.command = f"{sys.executable} oracle.py"

    def test_a_program_is_extracted_and_verified(self):
        self.run_exhume("extract", "--command", self.command, "--text", "--inputs", 3, "--out", "r")
        certificate = json.loads((self.folder / "r/certificate.json").read_text())
        self.assertEqual(certificate["status"], "certified")
        self.assertEqual(certificate["hidden_units"], 4)
        self.assertEqual(certificate["queries"], sum(certificate["queries_by_stage"].values()))
        self.assertIn("Agrees", self.run_exhume("verify", "r").stdout)
        log = self.folder / "r/queries.log"
        changed = bytearray(log.read_bytes())
        changed[-50] ^= 1
        log.write_bytes(bytes(changed))
        self.run_exhume("verify", "r", code=NOT_CERTIFIED)

    def test_a_network_file_and_the_limit(self):
        self.run_exhume("generate", "--inputs", 30, "--hidden", 6, "--outputs", 2, "--samples", 10, "--out", "g")
        self.run_exhume("extract", "--network", "g/network.safetensors", "--out", "r")
        self.run_exhume("compare", "g/network.safetensors", "r/network.safetensors", "--tolerance", "1e-9")
        stopped = self.run_exhume("extract", "--network", "g/network.safetensors", "--queries", 200, "--json",
                                  code=NOT_CERTIFIED)
        result = json.loads(stopped.stdout)
        self.assertEqual(result["status"], "refused")
        self.assertIn("limit of 200 queries", result["reason"])
        self.assertLessEqual(result["queries"], 200)

    def test_killed_and_resumed_asks_nothing_twice(self):
        arguments = ["extract", "--command", self.command, "--text", "--inputs", 3, "--batch", 64, "--log", "q.log"]
        self.run_exhume(*arguments, "--out", "whole")
        whole = (self.folder / "whole/network.safetensors").read_bytes()
        log = (self.folder / "q.log").read_bytes()
        questions = json.loads((self.folder / "whole/certificate.json").read_text())["queries"]
        for share in (0.1, 0.35, 0.6, 0.9):
            (self.folder / "q.log").write_bytes(log[:int(len(log) * share)])
            self.run_exhume(*arguments, "--resume", "--out", "again")
            self.assertEqual((self.folder / "again/network.safetensors").read_bytes(), whole)
            now = json.loads((self.folder / "again/certificate.json").read_text())
            self.assertLess(now["queries_this_run"], questions + 8)
            self.assertIn("answers taken from", now["resumed"])
        refused = self.run_exhume(*arguments, "--resume", "--seed", 5, code=BAD_DATA)
        self.assertIn("seed 0, now it is 5", refused.stderr)
        self.assertIn("exists", self.run_exhume(*arguments, code=BAD_DATA).stderr)

    def test_a_log_belongs_to_its_oracle(self):
        arguments = ["extract", "--command", self.command, "--text", "--inputs", 3, "--log", "q.log", "--resume"]
        self.run_exhume(*arguments)
        (self.folder / "oracle.py").write_text(self.PROGRAM.replace("1.5]", "1.4]"))
        self.assertIn("not the one that the log is of", self.run_exhume(*arguments, code=BAD_DATA).stderr)

    def test_a_log_is_one_process_s(self):
        slow = self.PROGRAM.replace("    x = [", "    import time; time.sleep(0.02)\n    x = [")
        (self.folder / "oracle.py").write_text(slow)
        arguments = ["extract", "--command", self.command, "--text", "--inputs", 3, "--log", "q.log", "--resume"]
        first = subprocess.Popen([EXHUME, *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        while not (self.folder / "q.log").exists() or (self.folder / "q.log").stat().st_size < 400:
            time.sleep(0.02)
        self.assertIn("in use by another process", self.run_exhume(*arguments, code=BAD_DATA).stderr)
        first.send_signal(signal.SIGTERM)
        self.assertEqual(first.wait(timeout=30), 130)

    def test_a_program_says_its_inputs_itself(self):
        program = "print('{\"inputs\": 3, \"outputs\": 1}', flush=True)\nimport sys\nprint('warming up', file=sys.stderr)"
        (self.folder / "oracle.py").write_text(program + self.PROGRAM)
        ran = self.run_exhume("extract", "--command", self.command, "--text", "--out", "r")
        self.assertEqual(ran.stderr.count("warming up"), 1)
        self.assertEqual(json.loads((self.folder / "r/certificate.json").read_text())["status"], "certified")
        self.run_exhume("extract", "--command", self.command, "--text", "--inputs", 3, "--force", "--out", "r")
        self.assertIn("has 3 inputs, as it says, not 4",
                      self.run_exhume("extract", "--command", self.command, "--text", "--inputs", 4, code=BAD_DATA).stderr)
        self.assertIn("inputs", self.run_exhume("extract", "--command", "sleep 9", "--timeout", 0.3, code=BAD_DATA).stderr)
        dead = self.run_exhume("extract", "--command", "echo no such model >&2; exit 1", code=BAD_DATA)
        self.assertIn("it said: no such model", dead.stderr)

    def test_answers_beyond_any_size_are_refused_before_they_come(self):
        for answer, words in (("print('{\\\"rows\\\": 6, \\\"outputs\\\": 1000000}')", "announced 1000000 outputs"),
                              ("exec('while 1: sys.stdout.write(chr(49) * 4096)')", "line of JSON")):
            command = f"{sys.executable} -c \"import sys; sys.stdin.buffer.readline(); {answer}\""
            self.assertIn(words, self.run_exhume("extract", "--command", command, "--inputs", 3, "-q", code=BAD_DATA).stderr)
        command = "echo '{\"inputs\": 200000000, \"outputs\": 1}'; cat"
        self.assertIn("announced 200000000 inputs", self.run_exhume("extract", "--command", command, "-q", code=BAD_DATA).stderr)

    def test_a_file_is_an_oracle_and_every_input_may_have_its_own_ends(self):
        self.run_exhume("generate", "--inputs", 3, "--hidden", 4, "--outputs", 1, "--samples", 10, "--out", "g")
        for form, more in (("lists", ["--low=-3,-2,1", "--high=3,2.5,4"]), ("data", ["--domain", "data.csv"])):
            with self.subTest(form):
                (self.folder / "data.csv").write_text("a,b,c\n-3,0,4\n3,2.5,1\n0,-2,2\n")
                self.run_exhume("extract", "g/network.safetensors", *more, "--out", form)
                found = json.loads((self.folder / form / "certificate.json").read_text())
                self.assertEqual((found["low"], found["high"]), ([-3, -2, 1], [3, 2.5, 4]))
                self.assertIn("between their own ends", found["conclusion"])
                self.assertIn("Agrees", self.run_exhume("verify", form).stdout)
        for low in ("1,2", "none.csv", "5"):
            self.run_exhume("extract", "g/network.safetensors", "--low", low, "--high", "2,2,2", code=USAGE)
        self.run_exhume("extract", "g/network.safetensors", "--domain", "g/y.npy", code=BAD_DATA)

    def test_ends_with_its_time_and_on_request_with_the_best_so_far(self):
        self.run_exhume("generate", "--inputs", 30, "--layers", "60,60,60", "--outputs", 1, "--samples", 10, "--out", "g")
        begin = time.monotonic()
        ran = self.run_exhume("extract", "g/network.safetensors", "--budget", 2, "--out", "r", "--json", code=NOT_CERTIFIED)
        self.assertLess(time.monotonic() - begin, 6)
        found = json.loads(ran.stdout)
        self.assertIn("the time was over", found["reason"])
        self.assertTrue(found["layers_found"])
        process = subprocess.Popen([EXHUME, "extract", "g/network.safetensors", "--out", "i"], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=25), 130)
        self.assertIn("interrupted", json.loads((self.folder / "i/certificate.json").read_text())["reason"])

    def test_a_folder_keeps_what_is_not_of_a_run(self):
        self.run_exhume("generate", "--inputs", 4, "--hidden", 3, "--outputs", 1, "--samples", 400, "--out", "g")
        self.run_exhume("memorize", "g/x.npy", "g/y.npy", "--out", "m", code=NOT_CERTIFIED)
        self.run_exhume("recover", "m/inputs.npy", "m/labels.npy", "--out", "m")
        self.assertTrue((self.folder / "m/inputs.npy").exists() and (self.folder / "m/labels.npy").exists())
        # A certificate that someone put there names what is theirs.
        (self.folder / "p").mkdir()
        planted = json.loads((self.folder / "m/certificate.json").read_text())
        for name in ("inputs.npy", "notes.txt"):
            (self.folder / "p" / name).write_bytes(b"mine")
            planted["written"].append({"role": "x", "path": name, "sha256": hashlib.sha256(b"mine").hexdigest()})
        (self.folder / "p/certificate.json").write_text(json.dumps(planted))
        self.run_exhume("recover", "g/x.npy", "g/y.npy", "--out", "p")
        for name in ("inputs.npy", "notes.txt"):
            self.assertEqual((self.folder / "p" / name).read_bytes(), b"mine")
        (self.folder / "own").mkdir()
        (self.folder / "own/report.html").write_text("mine")
        self.run_exhume("recover", "g/x.npy", "g/y.npy", "--out", "own", code=USAGE)
        self.assertEqual((self.folder / "own/report.html").read_text(), "mine")

    def test_a_result_s_log_stays_as_it_is(self):
        arguments = ["extract", "--command", self.command, "--text", "--inputs", 3]
        self.run_exhume(*arguments, "--out", "r")
        before = (self.folder / "r/queries.log").read_bytes()
        for more in (["--out", "r"], ["--out", "other"], []):
            self.run_exhume(*arguments, "--log", "r/queries.log", "--resume", *more, code=USAGE)
        self.assertEqual((self.folder / "r/queries.log").read_bytes(), before)
        self.run_exhume(*arguments, "--log", "new/queries.log", "--out", "new", code=USAGE)
        # Nor is one replaced that no result speaks of.
        (self.folder / "mine").mkdir()
        (self.folder / "mine/queries.log").write_text("mine")
        self.run_exhume(*arguments, "--out", "mine", code=USAGE)
        self.assertEqual((self.folder / "mine/queries.log").read_text(), "mine")

    def test_pipes_and_endless_files_are_refused_by_name(self):
        self.run_exhume("generate", "--inputs", 3, "--hidden", 4, "--outputs", 1, "--samples", 10, "--out", "g")
        os.mkfifo(self.folder / "pipe.onnx")
        (self.folder / "zero.nnet").symlink_to("/dev/zero")
        with open(self.folder / "sparse.log", "wb") as file:
            file.truncate(1 << 40)
        for arguments in (["pipe.onnx"], ["zero.nnet"], ["g/network.safetensors", "--log", "sparse.log", "--resume"]):
            self.assertIn(arguments[-2 if len(arguments) > 1 else 0],
                          self.run_exhume("extract", *arguments, code=BAD_DATA).stderr)

    def test_what_the_run_reads_is_not_overwritten(self):
        self.run_exhume("generate", "--inputs", 3, "--hidden", 4, "--outputs", 1, "--samples", 10, "--out", "g")
        before = (self.folder / "g/network.safetensors").read_bytes()
        ran = self.run_exhume("extract", "g/network.safetensors", "--out", "g", "--force", code=USAGE)
        self.assertIn("is read by this run", ran.stderr)
        self.assertEqual((self.folder / "g/network.safetensors").read_bytes(), before)

    def test_programs_that_fail_end_in_one_sentence(self):
        for program, words in (("exit 3", "ended with status 3"), ("sleep 9", "did not answer within 0.5 seconds"),
                               ("yes hello", "answered"), ("cat >/dev/null", "did not answer"),
                               ("head -n 3", "ended with status 0")):
            result = self.run_exhume("extract", "--command", program, "--text", "--inputs", 3, "--timeout", 0.5, "-q",
                                     code=BAD_DATA)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_mistakes(self):
        self.run_exhume("extract", code=USAGE)
        self.run_exhume("extract", "--command", "cat", "--network", "x.onnx", code=USAGE)
        self.run_exhume("extract", "--command", "cat", "--inputs", 3, "--low", 0, code=USAGE)
        self.run_exhume("extract", "--command", "cat", "--inputs", 3, "--low", 1, "--high", 0, code=USAGE)
        self.run_exhume("extract", "--command", "cat", "--inputs", 3, "--resume", code=USAGE)


class Compare(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.generate("made")
        self.network = read_safetensors(self.folder / "made/network.safetensors")

    def changed(self, name, **tensors):
        write_safetensors(self.folder / name, {**self.network, **tensors})

    def test_a_network_equals_itself_with_units_exchanged(self):
        shape, w = self.network["W"]
        k, d = shape
        a_shape, a = self.network["A"]
        m = a_shape[0]
        order = [3, 1, 4, 0, 2]
        self.changed("other.safetensors",
                     W=(shape, [2 * w[i * d + j] for i in order for j in range(d)]),
                     b=([k], [2 * self.network["b"][1][i] for i in order]),
                     A=(a_shape, [a[o * k + i] / 2 for o in range(m) for i in order]))
        result = self.run_exhume("compare", "made/network.safetensors", "other.safetensors", "--json", "--tolerance", "1e-14")
        answer = json.loads(result.stdout)
        self.assertEqual((answer["verdict"], answer["within_tolerance"]), ("same_network", True))
        self.assertTrue(answer["comparable"])
        self.assertLess(answer["worst_error"], 1e-14)
        self.assertEqual(answer["units"], {"matched": 5, "changed": [], "missing": [], "extra": []})
        self.assertLess(answer["bound"]["upper"], 1e-13)

    def test_tolerance_decides_the_exit_code(self):
        b = list(self.network["b"][1])
        b[2] += 0.25
        self.changed("other.safetensors", b=([5], b))
        files = ["made/network.safetensors", "other.safetensors"]
        said = self.run_exhume("compare", *files, code=NOT_CERTIFIED).stdout
        self.assertRegex(said, "^Different by .* 1 of them has other weights .unit 3 of layer 1.")
        self.assertIn("2.500e-01", said)
        answer = json.loads(self.run_exhume("compare", *files, "--json", code=NOT_CERTIFIED).stdout)
        self.assertEqual(answer["verdict"], "different")
        self.assertNotIn("within_tolerance", answer)
        changed = answer["units"]["changed"]
        self.assertEqual([(u["layer"], u["first_row"], u["second_row"], u["weight"]) for u in changed], [(1, 3, 3, "bias")])
        self.assertAlmostEqual(changed[0]["second_weight"] - changed[0]["first_weight"], 0.25)
        lower, upper = answer["bound"]["lower"], answer["bound"]["upper"]
        self.assertLessEqual(lower, answer["worst_difference"])
        self.assertGreaterEqual(upper, answer["worst_difference"])
        self.assertLess(upper, 1.2 * lower)
        answer = json.loads(self.run_exhume("compare", *files, "--tolerance", 1.01 * upper, "--json").stdout)
        self.assertEqual((answer["verdict"], answer["within_tolerance"]), ("same_function", True))
        answer = json.loads(self.run_exhume("compare", *files, "--tolerance", lower / 2, "--json", code=NOT_CERTIFIED).stdout)
        self.assertEqual((answer["verdict"], answer["within_tolerance"]), ("different", False))

    def test_a_unit_that_is_almost_never_on_is_named(self):
        d, m = 4, 6
        rows, outputs = list(self.network["W"][1]), list(self.network["A"][1])
        self.changed("other.safetensors", W=([6, d], rows + [1.0] * d), b=([6], list(self.network["b"][1]) + [-3.9]),
                     A=([m, 6], [v for o in range(m) for v in outputs[5 * o:5 * o + 5] + [3.0]]))
        files = ["made/network.safetensors", "other.safetensors"]
        answer = json.loads(self.run_exhume("compare", *files, "--json", code=NOT_CERTIFIED).stdout)
        self.assertEqual((answer["verdict"], answer["units"]["matched"]), ("different", 5))
        [extra] = answer["units"]["extra"]
        self.assertEqual((extra["layer"], extra["first_row"], extra["second_row"], extra["acts"]), (1, None, 6, True))
        self.assertGreater(sum(extra["input"]), 3.9)
        self.assertAlmostEqual(answer["worst_difference"], 0.3, places=9)
        # Where it is never on, the functions are the same; and the unit is still named.
        answer = json.loads(self.run_exhume("compare", *files, "--low", -0.9, "--high", 0.9, "--json").stdout)
        self.assertEqual((answer["verdict"], answer["units"]["extra"][0]["acts"]), ("same_function", False))

    def test_a_folder_that_verify_checks(self):
        b = list(self.network["b"][1])
        b[2] += 1e-4
        self.changed("other.safetensors", b=([5], b))
        files = ["made/network.safetensors", "other.safetensors"]
        self.run_exhume("compare", *files, "--tolerance", "0.01", "--out", "audit")
        self.assertEqual(set(self.files("audit")), {"certificate.json", "report.html", "boxes.txt"})
        self.assertIn("max |f - g|", self.run_exhume("verify", "audit").stdout)
        boxes = (self.folder / "audit/boxes.txt").read_text()
        for forged in ("0 .\n", "", ". .\n", "7 . .\n", "-1 . .\n", "0 . x\n"):
            (self.folder / "audit/boxes.txt").write_text(forged)
            self.run_exhume("verify", "audit", code=NOT_CERTIFIED)
        (self.folder / "audit/boxes.txt").write_text(boxes)
        certificate = self.folder / "audit/certificate.json"
        sealed = certificate.read_text()
        stated = json.loads(sealed)

        def verified(**changes):
            certificate.write_text(json.dumps({**stated, **changes}))
            return self.run_exhume("verify", "audit", code=NOT_CERTIFIED).stdout

        bound = stated["bound"]
        self.assertIn("they prove max |f - g| <=", verified(bound={**bound, "upper": bound["lower"]}))
        self.assertIn("less than the", verified(bound={**bound, "lower": 2 * bound["upper"]}))
        for verdict in ("same_network", "rounding", "fine"):
            self.assertIn(f"{verdict} is not what", verified(comparison=verdict))
        certificate.write_text(sealed)
        self.run_exhume("verify", "audit")

    def test_the_keys_of_the_document(self):
        b = list(self.network["b"][1])
        b[2] += 1e-4
        self.changed("other.safetensors", b=([5], b))
        answer = json.loads(self.run_exhume("compare", "made/network.safetensors", "other.safetensors", "--json",
                                            code=NOT_CERTIFIED).stdout)
        self.assertLessEqual({"verdict", "worst_difference", "worst_input", "bound", "units", "queries", "confidence"},
                             set(answer))
        self.assertEqual(set(answer["bound"]), {"lower", "upper"})
        self.assertEqual(set(answer["units"]), {"matched", "changed", "missing", "extra"})
        self.assertNotIn("within_tolerance", answer)
        [unit] = answer["units"]["changed"]
        self.assertEqual((unit["layer"], unit["first_row"], unit["weight"]), (1, 3, "bias"))
        self.assertIn("the middle of the domain", answer["simple_words"])

    def test_a_black_box(self):
        (self.folder / "serve.py").write_text(
            "import sys\n"
            "for line in sys.stdin:\n"
            "    x = [float(v) for v in line.split(',')]\n"
            "    ball = sum((v - 0.3) ** 2 for v in x) < 1e-4\n"
            "    print(max(x[0] - 0.5 * x[1] + 0.1, 0) + (1 if ball else 0), flush=True)\n")
        write_safetensors(self.folder / "file.safetensors",
                          {"W": ([1, 2], [1.0, -0.5]), "b": ([1], [0.1]), "A": ([1, 1], [1.0]), "c": ([1], [0.0])})
        asked = ["compare", "file.safetensors", "--command", f"{sys.executable} serve.py", "--text", "--queries", 2000, "--json"]
        answer = json.loads(self.run_exhume(*asked).stdout)
        self.assertEqual((answer["verdict"], answer["confidence"]), ("same_function", 0.95))
        self.assertLessEqual(answer["queries"], 2000)
        # The ball takes 8e-5 of the domain: it was missed, and the share that may be is said.
        self.assertGreater(answer["unseen_share"], 8e-5)
        self.assertIn("a small ball", " ".join(answer["remarks"]))
        write_safetensors(self.folder / "file.safetensors",
                          {"W": ([1, 2], [1.0, -0.513]), "b": ([1], [0.1]), "A": ([1, 1], [1.0]), "c": ([1], [0.0])})
        answer = json.loads(self.run_exhume(*asked, code=NOT_CERTIFIED).stdout)
        self.assertEqual(answer["verdict"], "different")

    def test_other_shapes_are_matched_as_far_as_they_go(self):
        self.generate("larger", k=7)
        files = ["made/network.safetensors", "larger/network.safetensors"]
        answer = json.loads(self.run_exhume("compare", *files, "--json", code=NOT_CERTIFIED).stdout)
        self.assertEqual((answer["verdict"], answer["worst_error"]), ("different", None))
        units = answer["units"]
        self.assertEqual(units["matched"] + len(units["missing"]), 5)
        self.assertEqual(units["matched"] + len(units["extra"]), 7)

    def test_bad_files(self):
        self.assert_one_sentence(self.run_exhume("compare", "made/network.safetensors", "none.safetensors", code=BAD_DATA),
                                 "none.safetensors")
        (self.folder / "bad.safetensors").write_bytes(b"\xff" * 100)
        self.assert_one_sentence(self.run_exhume("compare", "bad.safetensors", "made/network.safetensors", code=BAD_DATA),
                                 "bad.safetensors")


class SeveralLayers(CommandLineTest):
    """Networks of more than one hidden layer: generate, compare, verify, and files of other programs."""

    def plant(self, out, *arguments, layers="5,3", seed=1, **options):
        return self.run_exhume("generate", "-d", 4, "--layers", layers, "-m", 2, "-n", 5000, "--seed", seed, "--out", out,
                               *arguments, **options)

    def setUp(self):
        super().setUp()
        self.plant("deep")
        self.network = read_safetensors(self.folder / "deep/network.safetensors")

    def test_samples_are_those_of_the_network(self):
        self.assertEqual(list(self.network), ["layers.0.W", "layers.0.b", "layers.1.W", "layers.1.b", "A", "c"])
        _, x = read_npy(self.folder / "deep/x.npy")
        _, y = read_npy(self.folder / "deep/y.npy")
        for row in range(0, 5000, 500):
            below = x[row * 4:row * 4 + 4]
            for w, b in (("layers.0.W", "layers.0.b"), ("layers.1.W", "layers.1.b"), ("A", "c")):
                (k, p), weights = self.network[w]
                z = [self.network[b][1][i] + sum(weights[i * p + j] * below[j] for j in range(p)) for i in range(k)]
                below = [max(value, 0) for value in z]
            for o in range(2):
                self.assertAlmostEqual(z[o], y[row * 2 + o], delta=1e-12)

    def test_bytes_do_not_depend_on_threads(self):
        self.plant("one", "--threads", 1, "--noise-relative", "0.1")
        self.plant("two", "--threads", 2, "--noise-relative", "0.1")
        self.assertEqual((self.folder / "one/y.npy").read_bytes(), (self.folder / "two/y.npy").read_bytes())

    def test_one_layer_is_written_as_one(self):
        self.plant("one", layers="5")
        self.assertEqual(list(read_safetensors(self.folder / "one/network.safetensors")), ["W", "b", "A", "c"])

    def test_json_lists_the_layers(self):
        self.assertEqual(json.loads(self.plant("more", "--json").stdout)["hidden_units"], [5, 3])

    def test_verify(self):
        files = ["verify", "deep/network.safetensors", "deep/x.npy", "deep/y.npy"]
        self.assertLess(json.loads(self.run_exhume(*files, "--json").stdout)["relative_mse"], 1e-28)
        self.network["layers.1.W"][1][4] += 1e-3
        write_safetensors(self.folder / "deep/network.safetensors", self.network)
        self.assertIn("Does not agree", self.run_exhume(*files, code=NOT_CERTIFIED).stdout)

    def test_recover(self):
        files = ["deep/x.npy", "deep/y.npy"]
        answer = json.loads(self.run_exhume("recover", *files, "--layers", 2, "--out", "found", "--json").stdout)
        self.assertEqual((answer["status"], answer["hidden_units"], answer["kind"]), ("certified", [5, 3], "deep network"))
        self.assertLess(answer["heldout_relative_mse"], 1e-24)
        self.run_exhume("compare", "found/network.safetensors", "deep/network.safetensors", "--tolerance", "1e-9")
        self.run_exhume("verify", "found")
        page = (self.folder / "found/report.html").read_text()
        self.assertIn("Layers", page)
        certificate = json.loads((self.folder / "found/certificate.json").read_text())
        self.assertFalse(certificate["skip_terms"])
        # The same bytes on one thread.
        self.run_exhume("recover", *files, "--layers", 2, "--out", "again", "--threads", 1)
        self.assertEqual((self.folder / "found/network.safetensors").read_bytes(),
                         (self.folder / "again/network.safetensors").read_bytes())
        # A network that was changed is not the one that was certified.
        self.network["layers.1.b"][1][1] += 0.25
        write_safetensors(self.folder / "found/network.safetensors", self.network)
        self.run_exhume("verify", "found", code=NOT_CERTIFIED)

    def test_recover_on_a_first_layer(self):
        (k, p), weights = self.network["layers.0.W"]
        turned = [(-1) ** i * (i + 0.5) for i in range(k)]
        units = {"W": ([k, p], [turned[i] * weights[i * p + j] for i in range(k) for j in range(p)]),
                 "b": ([k], [turned[i] * self.network["layers.0.b"][1][i] for i in range(k)])}
        write_safetensors(self.folder / "units.safetensors", units)
        arguments = ["recover", "deep/x.npy", "deep/y.npy", "--first-layer", "units.safetensors"]
        answer = json.loads(self.run_exhume(*arguments, "--json").stdout)
        self.assertEqual((answer["status"], answer["hidden_units"]), ("certified", [5, 3]))
        units["W"] = ([k, p - 1], units["W"][1][:k * (p - 1)])
        write_safetensors(self.folder / "units.safetensors", units)
        self.assert_one_sentence(self.run_exhume(*arguments, code=USAGE), "first layer has units of 3 inputs")
        self.assert_one_sentence(self.run_exhume(*arguments[:-1], "none.safetensors", code=BAD_DATA), "none.safetensors")

    def test_depth_is_found(self):
        deep = json.loads(self.run_exhume("recover", "deep/x.npy", "deep/y.npy", "--layers", "auto", "--json").stdout)
        self.assertEqual((deep["status"], deep["hidden_units"]), ("certified", [5, 3]))
        self.plant("flat", layers="4")
        flat = json.loads(self.run_exhume("recover", "flat/x.npy", "flat/y.npy", "--layers", "auto", "--json").stdout)
        self.assertEqual((flat["status"], flat["hidden_units"], flat["kind"]), ("certified", 4, "network"))

    def exchanged(self):
        """The same function: units of both layers in another order, scaled by 2 and what stands on them by 1/2."""
        parts = {name: (shape, list(values)) for name, (shape, values) in self.network.items()}
        for (w, b), above, order in ((("layers.0.W", "layers.0.b"), "layers.1.W", [3, 1, 4, 0, 2]),
                                     (("layers.1.W", "layers.1.b"), "A", [2, 0, 1])):
            (k, p), weights = parts[w]
            parts[w] = ([k, p], [2 * weights[i * p + j] for i in order for j in range(p)])
            parts[b] = ([k], [2 * parts[b][1][i] for i in order])
            (m, _), upper = parts[above]
            parts[above] = ([m, k], [upper[o * k + i] / 2 for o in range(m) for i in order])
        return parts

    def test_compare_layer_by_layer(self):
        write_safetensors(self.folder / "same.safetensors", self.exchanged())
        files = ["compare", "deep/network.safetensors", "same.safetensors"]
        answer = json.loads(self.run_exhume(*files, "--json", "--tolerance", "1e-14").stdout)
        self.assertEqual([layer["units"] for layer in answer["layers"]], [5, 3, 2])
        self.assertEqual(answer["first_units"], [5, 3, 2])
        self.assertLess(answer["worst_error"], 1e-14)
        self.network["layers.1.b"][1][1] += 0.25
        write_safetensors(self.folder / "same.safetensors", self.network)
        said = self.run_exhume(*files, "--tolerance", "1e-9", code=NOT_CERTIFIED).stdout
        self.assertRegex(said, r"(?m)^ +1 +5 +0\.00e\+00$")
        self.assertRegex(said, r"(?m)^ outputs +2 +")

    def test_compare_says_when_widths_differ(self):
        self.plant("other", layers="5,4")
        self.generate("shallow", d=4, k=5, m=2)
        for other, shape in (("other", "4 → 5 → 4 → 2"), ("shallow", "4 → 5 → 2")):
            files = ["compare", "deep/network.safetensors", f"{other}/network.safetensors"]
            said = self.run_exhume(*files, code=NOT_CERTIFIED).stdout
            self.assertIn("4 → 5 → 3 → 2", said)
            self.assertIn(shape, said)
            self.assertTrue(said.startswith("Different"))
            self.assertEqual(json.loads(self.run_exhume(*files, "--json", code=NOT_CERTIFIED).stdout)["layers"], [])

    def test_names_of_other_programs(self):
        mine = ["layers.0.W", "layers.0.b", "layers.1.W", "layers.1.b", "A", "c"]
        for theirs in (["0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"],
                       ["W1", "b1", "W2", "b2", "W3", "b3"]):
            write_safetensors(self.folder / "other.safetensors", {t: self.network[m] for m, t in zip(mine, theirs)})
            self.run_exhume("generate", "--network", "other.safetensors", "-n", 5000, "--seed", 1, "--out", "again")
            for name in ("x.npy", "y.npy", "network.safetensors"):
                self.assertEqual((self.folder / "again" / name).read_bytes(), (self.folder / "deep" / name).read_bytes())
        write_safetensors(self.folder / "other.safetensors", {"a.weight": self.network["A"]})
        self.assert_one_sentence(self.run_exhume("generate", "--network", "other.safetensors", "-n", 9, "--out", "bad",
                                                 code=BAD_DATA), "other.safetensors", "a.weight")
        (self.folder / "bad.onnx").write_bytes(b"\x08\x07")
        self.assert_one_sentence(self.run_exhume("generate", "--network", "bad.onnx", "-n", 9, "--out", "bad", code=BAD_DATA),
                                 "bad.onnx", "not an ONNX model")


class Verify(CommandLineTest):
    def test_agrees_and_finds_tampering(self):
        self.generate("made", n=10000)
        arguments = ["verify", "made/network.safetensors", "made/x.npy", "made/y.npy"]
        answer = json.loads(self.run_exhume(*arguments, "--json").stdout)
        self.assertEqual(answer["rows"], 10000)
        self.assertLess(answer["relative_mse"], 1e-28)
        network = read_safetensors(self.folder / "made/network.safetensors")
        network["A"][1][3] += 1e-3
        write_safetensors(self.folder / "made/network.safetensors", network)
        answer = json.loads(self.run_exhume(*arguments, "--json", code=NOT_CERTIFIED).stdout)
        self.assertFalse(answer["verified"])
        self.assertIn("Does not agree", self.run_exhume(*arguments, code=NOT_CERTIFIED).stdout)
        self.run_exhume(*arguments, "--tolerance", "0.01")

    def test_a_certificate_and_what_was_changed(self):
        for noise in ([], ["--noise-relative", "0.1"]):
            self.run_exhume("generate", "-d", 5, "-k", 4, "-m", 2, "-n", 8000, "--seed", 5, *noise, "--out", "made")
            self.run_exhume("recover", "made/x.npy", "made/y.npy", "--out", "result")
            whole = self.run_exhume("verify", "result").stdout
            self.assertNotIn("✗", whole)
            self.run_exhume("verify", "result/network.safetensors", "made/x.npy", "made/y.npy")
            for name, part in [("result/network.safetensors", "network"), ("made/x.npy", "inputs"),
                               ("made/y.npy", "outputs")]:
                path = self.folder / name
                before = path.read_bytes()
                path.write_bytes(before[:-2] + bytes([before[-2] ^ 1]) + before[-1:])
                answer = json.loads(self.run_exhume("verify", "result", "--json", code=NOT_CERTIFIED).stdout)
                self.assertIn(part, [f["part"] for f in answer["findings"] if not f["good"]])
                path.write_bytes(before)
            path = self.folder / "result/certificate.json"
            before = path.read_text()
            status = '"status": "estimated"' if noise else '"status": "certified"'
            for old, new in [('"hidden_units": 4', '"hidden_units": 5'), (status, '"status": "refused"'),
                             ('"seed": 0', '"seed": 1')]:
                self.assertIn(old, before)
                path.write_text(before.replace(old, new))
                for arguments in (["result"], ["result/network.safetensors", "made/x.npy", "made/y.npy"]):
                    answer = json.loads(self.run_exhume("verify", *arguments, "--json", code=NOT_CERTIFIED).stdout)
                    self.assertIn("certificate", [f["part"] for f in answer["findings"] if not f["good"]])
            path.write_text(before)
            self.run_exhume("verify", "result")

    def test_fresh_samples_need_no_certificate(self):
        self.generate("made", d=4, k=3, m=3, n=3000)
        self.run_exhume("recover", "made/x.npy", "made/y.npy", "--out", "result")
        self.run_exhume("generate", "--network", "made/network.safetensors", "-n", 1000, "--seed", 9, "--out", "fresh")
        fresh = ["verify", "result/network.safetensors", "fresh/x.npy", "fresh/y.npy"]
        self.run_exhume(*fresh, code=NOT_CERTIFIED)
        self.run_exhume(*fresh, "--network-only")

    def test_samples_of_another_shape(self):
        self.generate("made")
        self.generate("other", d=3)
        self.assert_one_sentence(
            self.run_exhume("verify", "made/network.safetensors", "other/x.npy", "other/y.npy", code=BAD_DATA), "inputs")


class Signatures(CommandLineTest):
    # Of the curve P-256, made for this test.
    OTHER_KIND = """-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4MzADPGdhXwW3Fjiq8dtUH8gfLAE
cuF2d+GjLgZAycwHgcSSW4bMAT/xx6vl1H0b7hPDYXG+68dr0fNc/MfLBw==
-----END PUBLIC KEY-----
"""

    def setUp(self):
        super().setUp()
        self.run_exhume("keys", "--out", "mine")
        self.generate("made", d=4, k=3, m=3, n=2000)
        self.recover = ["recover", "made/x.npy", "made/y.npy", "--out", "result"]

    def bad_parts(self, *arguments):
        answer = json.loads(self.run_exhume("verify", *arguments, "--json", code=NOT_CERTIFIED).stdout)
        return [f["part"] for f in answer["findings"] if f["checked"] and not f["good"]]

    def test_signed_and_checked(self):
        self.assertEqual((self.folder / "mine.key").stat().st_mode & 0o777, 0o600)
        self.run_exhume(*self.recover, "--sign", "mine.key")
        signature = self.folder / "result/certificate.json.sig"
        self.assertEqual(signature.stat().st_size, 64)
        self.assertIn("✓ signature", self.run_exhume("verify", "result", "--key", "mine.pub").stdout)
        self.assertIn("– signature: there is one", self.run_exhume("verify", "result").stdout)
        before = signature.read_bytes()
        for changed in (before[:-1] + bytes([before[-1] ^ 1]), before + b"x", b""):
            signature.write_bytes(changed)
            self.assertEqual(self.bad_parts("result", "--key", "mine.pub"), ["signature"])
        signature.write_bytes(before)
        path = self.folder / "result/certificate.json"
        path.write_text(path.read_text() + "\n")  # the same document in other bytes
        self.run_exhume("verify", "result")
        self.assertEqual(self.bad_parts("result", "--key", "mine.pub"), ["signature"])
        # A signature goes with the result that it was made for.
        self.run_exhume(*self.recover)
        self.assertFalse(signature.exists())
        self.assertEqual(self.bad_parts("result", "--key", "mine.pub"), ["signature"])

    def test_every_command_that_certifies_signs(self):
        self.generate("few", d=10, k=2, m=1, n=40)
        self.run_exhume("memorize", "few/x.npy", "few/y.npy", "--out", "memory", "--sign", "mine.key")
        self.run_exhume("verify", "memory", "--key", "mine.pub")
        for command in ["lowest-layer", "halfspaces", "recover", "memorize"]:
            self.assertIn("--sign", self.run_exhume(command, "--help").stdout)

    def test_mistakes_are_one_sentence(self):
        before = self.files()
        (self.folder / "other.pub").write_text(self.OTHER_KIND)
        for key, *words in [("gone.key", "gone.key"), ("mine.pub", "mine.pub", "private"), ("made/x.npy", "made/x.npy")]:
            self.assert_one_sentence(self.run_exhume(*self.recover, "--sign", key, code=BAD_DATA), *words)
        self.assert_one_sentence(
            self.run_exhume("recover", "made/x.npy", "made/y.npy", "--sign", "mine.key", code=USAGE), "--out")
        self.assertEqual(self.files(), sorted(before + ["other.pub"]))
        self.run_exhume(*self.recover)
        for key, *words in [("gone.pub", "gone.pub"), ("mine.key", "mine.key", "public"), ("other.pub", "Ed25519"),
                            ("made/x.npy", "made/x.npy")]:
            self.assert_one_sentence(self.run_exhume("verify", "result", "--key", key, code=BAD_DATA), *words)
        self.assert_one_sentence(
            self.run_exhume("verify", "made/network.safetensors", "made/x.npy", "made/y.npy", "--key", "mine.pub",
                            code=USAGE), "--key")
        keys = (self.folder / "mine.key").read_bytes()
        self.assert_one_sentence(self.run_exhume("keys", "--out", "mine", code=BAD_DATA), "mine.key", "exists")
        self.assert_one_sentence(self.run_exhume("keys", "--out", "no/such", code=BAD_DATA), "no/such.key")
        self.assertEqual((self.folder / "mine.key").read_bytes(), keys)


class BadData(CommandLineTest):
    """Each ends in one sentence that names the file, with nothing written."""

    def refuse(self, *words, x="x.npy", y="y.npy"):
        before = self.files()
        result = self.run_exhume("recover", x, y, "--out", "result", code=BAD_DATA)
        self.assert_one_sentence(result, *words)
        self.assertEqual(self.files(), before)
        result = self.run_exhume("recover", x, y, "--json", code=BAD_DATA)
        self.assert_one_sentence(result, *words)

    def write(self, name, rows, columns, values=None):
        values = values if values is not None else [((i * 7919) % 1009) / 500 - 1 for i in range(rows * columns)]
        (self.folder / name).write_bytes(npy_bytes(values, rows, columns))

    def setUp(self):
        super().setUp()
        self.write("x.npy", 400, 3)
        self.write("y.npy", 400, 2)

    def test_missing_file(self):
        self.refuse("gone.npy", x="gone.npy")

    def test_nan_and_infinity(self):
        for bad in [float("nan"), float("inf")]:
            values = [((i * 31) % 97) / 50 for i in range(1200)]
            values[7 * 3 + 2] = bad
            self.write("x.npy", 400, 3, values)
            self.refuse("x.npy", "row 7", "column 2")

    def test_different_row_counts(self):
        self.write("y.npy", 399, 2)
        self.refuse("400", "399")

    def test_truncated_file(self):
        data = (self.folder / "x.npy").read_bytes()
        (self.folder / "x.npy").write_bytes(data[:-8])
        self.refuse("x.npy")

    def test_text_in_a_csv_cell(self):
        (self.folder / "x.csv").write_text("1,2\n3,apple\n")
        self.refuse("x.csv", "line 2", "apple", x="x.csv")

    def test_unwritable_folder_is_found_before_the_work(self):
        result = self.run_exhume("recover", "x.npy", "y.npy", "--out", "/proc/exhume-test", code=BAD_DATA)
        self.assert_one_sentence(result, "/proc/exhume-test")


class Inspect(CommandLineTest):
    def test_samples_of_a_network(self):
        self.generate("made", n=5000)
        found = json.loads(self.run_exhume("inspect", "made/x.npy", "made/y.npy", "--json").stdout)
        self.assertTrue(found["fits"])
        self.assertEqual((found["rows"], found["inputs"], found["outputs"]), (5000, 4, 6))
        self.assertEqual(found["precision"], "double precision")
        self.assertTrue({route["route"]: route["applies"] for route in found["routes"]}["any_inputs"])
        text = self.run_exhume("inspect", "made/x.npy", "made/y.npy").stdout
        self.assertTrue(text.startswith("Can be tried. 5,000 rows, 4 inputs and 6 outputs."))
        self.assertEqual(self.run_exhume("inspect", "made/x.npy", "made/y.npy", "--quiet").stdout, "")

    def test_what_recover_refuses(self):
        self.generate("made", n=300)
        lines = ["%g,7" % i ** 0.5 for i in range(300)]
        (self.folder / "x.csv").write_text("\n".join(lines))
        said = self.run_exhume("inspect", "x.csv", "made/y.npy", code=NOT_CERTIFIED).stdout
        self.assertRegex(said, r"\AWill be refused\. .*constant")
        self.assert_one_sentence(self.run_exhume("inspect", "x.csv", "none.npy", code=BAD_DATA), "none.npy")
        self.assert_one_sentence(self.run_exhume("inspect", "made/x.npy", code=USAGE), "x.npy")


class Recover(CommandLineTest):
    def test_end_to_end(self):
        self.generate("made", d=6, k=6, m=6, n=3000)
        result = self.run_exhume("recover", "made/x.npy", "made/y.npy", "--out", "result")
        self.assertIn("Certified", result.stdout)
        self.assertLess(result.stdout.count("\n"), 25)
        self.assertEqual(self.files("result"), ["certificate.json", "network.onnx", "network.safetensors", "report.html"])
        self.run_exhume("compare", "made/network.safetensors", "result/network.safetensors", "--tolerance", "1e-9")
        self.run_exhume("verify", "result/network.safetensors", "made/x.npy", "made/y.npy")
        certificate = json.loads((self.folder / "result/certificate.json").read_text())
        self.assertEqual(certificate["status"], "certified")
        self.assertEqual(certificate["hidden_units"], 6)
        self.assertEqual(certificate["command"], "exhume recover made/x.npy made/y.npy --out result")
        page = (self.folder / "result/report.html").read_bytes()
        (self.folder / "result/report.html").unlink()
        self.run_exhume("report", "result")
        self.assertEqual((self.folder / "result/report.html").read_bytes(), page)

    def test_json_is_the_certificate(self):
        self.generate("made", d=6, k=6, m=6, n=3000)
        result = self.run_exhume("recover", "made/x.npy", "made/y.npy", "--json")
        self.assertEqual(json.loads(result.stdout)["status"], "certified")
        self.assertEqual(result.stderr, "")
        self.assertEqual(self.files(), sorted(["made", "made/network.safetensors", "made/x.npy", "made/y.npy"]))

    def test_network_does_not_depend_on_threads(self):
        self.generate("made", d=6, k=6, m=6, n=9000)
        for threads in [1, 2]:
            self.run_exhume("recover", "made/x.npy", "made/y.npy", "--threads", threads, "--out", f"result{threads}")
        self.assertEqual((self.folder / "result1/network.safetensors").read_bytes(),
                         (self.folder / "result2/network.safetensors").read_bytes())


class Routes(CommandLineTest):
    def test_one_table_for_help_checks_and_completion(self):
        rows = json.loads(self.run_exhume("routes", "--json").stdout)
        names = [row["name"] for row in rows if row["finds"] == "network"]
        self.assertGreater(len(names), 10)
        helped = re.sub(r"\s+", " ", self.run_exhume("recover", "--help").stdout)
        completed = self.run_exhume("completion").stdout
        refused = self.run_exhume("recover", "x.npy", "y.npy", "--route", "magic", code=USAGE)
        for name in names:
            self.assertIn(name, helped)
            self.assertIn(name, completed)
            self.assertIn(name, refused.stderr)
        self.assertEqual(subprocess.run(["bash", "-n"], input=completed, text=True).returncode, 0)

    def test_the_page_is_made_from_the_table(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        subprocess.run([root / "scripts/routes_page.sh", EXHUME, self.folder / "routes.md"], check=True)
        self.assertEqual((self.folder / "routes.md").read_text(), (root / "docs/routes.md").read_text(),
                         "run scripts/routes_page.sh")

    def test_options_that_a_route_does_not_read_are_named(self):
        for words, arguments in [
            (["leak", "rectified-tensor"], ["--route", "rectified", "--leak", 0.1]),
            (["activation", "depth2"], ["--route", "depth2", "--activation", "square"]),
            (["--method"], ["--route", "depth2", "--method", "ica"]),
            (["rectified-magic"], ["--route", "rectified", "--method", "magic"]),
            (["tanh"], ["--route", "rectified", "--activation", "tanh"]),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_one_sentence(self.run_exhume("recover", "x.npy", "y.npy", *arguments, code=USAGE), *words)

    def test_the_methods_of_rectified(self):
        self.generate("made", "--bias", 0, "--orthonormal", d=6, k=4, m=6, n=4000)
        for method in ["tensor", "ica", "symmetric", "few-outputs"]:
            with self.subTest(method=method):
                arguments = ["made/x.npy", "made/y.npy", "--route", "rectified", "--method", method, "--out", method]
                answer = json.loads(self.run_exhume("recover", *arguments, "--json").stdout)
                self.assertEqual(answer["route"], "rectified-" + method)
                self.run_exhume("compare", "made/network.safetensors", method + "/network.safetensors", "--tolerance", 1e-9)
                self.run_exhume("verify", method)
        self.run_exhume("recover", "made/x.npy", "made/y.npy", "--route", "rectified-arbitrary-noise", code=NOT_CERTIFIED)

    def test_entries_that_were_hit_are_listed(self):
        self.generate("made", "--bias", 0, d=6, k=3, m=40, n=1500)
        header, y = read_npy(self.folder / "made/y.npy")
        source, hit = random.Random(3), set()
        while len(hit) < 300:
            hit.add((source.randrange(1500), source.randrange(40)))
        for row, output in hit:
            y[row * 40 + output] += source.gauss(0, 50)
        (self.folder / "y.npy").write_bytes(npy_bytes(y, 1500, 40))
        self.run_exhume("recover", "made/x.npy", "y.npy", "--route", "rectified", "--method", "sparse-noise", "--out", "found")
        lines = (self.folder / "found/support.csv").read_text().splitlines()
        self.assertEqual(lines[0], "row,output")
        self.assertEqual({tuple(map(int, line.split(","))) for line in lines[1:]}, hit)
        self.run_exhume("compare", "made/network.safetensors", "found/network.safetensors", "--tolerance", 1e-8)
        self.run_exhume("verify", "found")
        # Another run in the same folder leaves nothing of this one behind.
        self.run_exhume("recover", "made/x.npy", "made/y.npy", "--out", "found")
        self.assertNotIn("support.csv", self.files("found"))

    def test_units_of_another_kind_are_not_taken_for_relus(self):
        source = random.Random(8)
        w = [[source.gauss(0, 1) for _ in range(4)] for _ in range(3)]
        w = [[v / sum(u * u for u in row) ** 0.5 for v in row] for row in w]
        a = [[source.gauss(0, 1) for _ in range(3)] for _ in range(5)]
        x, y = [], []
        for _ in range(4000):
            row = [source.gauss(0, 1) for _ in range(4)]
            h = [max(sum(p * q for p, q in zip(unit, row)), 0) ** 2 for unit in w]
            x += row
            y += [sum(p * q for p, q in zip(output, h)) for output in a]
        (self.folder / "x.npy").write_bytes(npy_bytes(x, 4000, 4))
        (self.folder / "y.npy").write_bytes(npy_bytes(y, 4000, 5))
        self.run_exhume("recover", "x.npy", "y.npy", "--route", "rectified", "--activation", "square", "--out", "found")
        self.assertIn("rectified.safetensors", self.files("found"))
        self.assertNotIn("network.safetensors", self.files("found"))
        self.run_exhume("verify", "found")
        self.run_exhume("compare", "found/rectified.safetensors", "found/rectified.safetensors", "--tolerance", 0)
        self.generate("relus", d=4, k=3, m=5)
        refused = self.run_exhume("compare", "found/rectified.safetensors", "relus/network.safetensors", code=BAD_DATA)
        self.assert_one_sentence(refused, "rectified square", "relu")
        # Whatever reads ReLUs refuses it.
        refused = self.run_exhume("generate", "--network", "found/rectified.safetensors", "-n", 10, "--out", "o", code=BAD_DATA)
        self.assert_one_sentence(refused, "rectified.safetensors", "rectified square")


class EveryFolder(CommandLineTest):
    """exhume verify says the right thing of the folder of every command (the table of docs/certificate.md)."""

    def verified(self, folder, code=OK):
        answer = json.loads(self.run_exhume("verify", folder, "--json", code=code).stdout)
        self.assertEqual([f for f in answer["findings"] if f["checked"] and not f["good"]], [])
        return answer

    def spoil(self, folder, name):
        path = self.folder / folder / name
        before = path.read_bytes()
        path.write_bytes(before[:-2] + bytes([before[-2] ^ 1]) + before[-1:])
        self.run_exhume("verify", folder, code=NOT_CERTIFIED)
        path.write_bytes(before)
        self.run_exhume("verify", folder)

    def test_layers(self):
        generate = ["generate", "--model", "threshold", "-d", 5, "-k", 4, "-m", 1, "-q"]
        self.run_exhume(*generate, "-n", 80000, "--threshold", 1.8, "--out", "kinks")
        self.run_exhume("lowest-layer", "kinks/x.npy", "kinks/y.npy", "-k", 4, "--out", "kinks-found")
        self.assertNotIn("relative_mse", self.verified("kinks-found"))
        for name in ["units.safetensors", "features.npy", "report.html"]:
            self.spoil("kinks-found", name)
        self.run_exhume(*generate, "-n", 150000, "--activation", "sign", "--threshold", 1.8, "--upper", "union", "--flips",
                        0.01, "--out", "steps")
        self.run_exhume("halfspaces", "steps/x.npy", "steps/y.npy", "-k", 4, "--out", "steps-found")
        words = " ".join(f["words"] for f in self.verified("steps-found")["findings"])
        self.assertIn("share of labels met", words)
        self.run_exhume(*generate, "-n", 30000, "--activation", "sigmoid", "--threshold", 3, "--upper", "linear", "--biased",
                        "--out", "smooth")
        self.run_exhume("lowest-layer", "smooth/x.npy", "smooth/y.npy", "--activation", "sigmoid", "--biased", "-k", 4, "-o",
                        "smooth-found")
        self.assertIn("cannot be checked", " ".join(f["words"] for f in self.verified("smooth-found")["findings"]))
        # Units that are moved together with their digests: the held-out rows tell.
        path = self.folder / "steps-found/units.safetensors"
        units = read_safetensors(path)
        units["t"][1][0] += 0.5
        write_safetensors(path, units)
        answer = json.loads(self.run_exhume("verify", "steps-found", "--json", code=NOT_CERTIFIED).stdout)
        self.assertIn("units", [f["part"] for f in answer["findings"] if not f["good"]])

    def test_memorize(self):
        source = random.Random(2)
        (self.folder / "x.npy").write_bytes(npy_bytes([source.gauss(0, 1) for _ in range(600)], 50, 12))
        (self.folder / "y.npy").write_bytes(npy_bytes([source.gauss(0, 1) for _ in range(50)], 50, 1))
        self.run_exhume("memorize", "x.npy", "y.npy", "--perturb", 0.1, "--out", "found")
        self.assertLess(self.verified("found")["relative_mse"], 1e-12)
        for name in ["network.safetensors", "inputs.npy", "labels.npy"]:
            self.spoil("found", name)

    def test_not_certified_and_refused(self):
        self.generate("few", "--bias", 0, d=3, k=2, m=4, n=40)
        self.run_exhume("recover", "few/x.npy", "few/y.npy", "--route", "rectified-any", "--out", "few-found",
                        code=NOT_CERTIFIED)
        self.verified("few-found", code=NOT_CERTIFIED)
        text = self.run_exhume("verify", "few-found", code=NOT_CERTIFIED).stdout
        self.assertTrue(text.startswith("Not certified"), text)
        self.run_exhume("recover", "few/x.npy", "few/y.npy", "--route", "rectified-any", "--hidden", 3, "--out", "no",
                        code=NOT_CERTIFIED)
        self.assertEqual(self.files("no"), ["certificate.json", "report.html"])
        self.verified("no", code=NOT_CERTIFIED)
        self.assertTrue(self.run_exhume("verify", "no", code=NOT_CERTIFIED).stdout.startswith("Refused"))

    def test_paths_that_are_not_utf8(self):
        odd = os.fsencode(self.folder) + b"/caf\xe9"
        os.mkdir(odd)
        self.run_exhume("generate", "--model", "threshold", "-d", 4, "-k", 2, "-m", 1, "-n", 30000, "--threshold", 1.8,
                        "--out", odd, "-q")
        for command in ["lowest-layer", "recover"]:
            done = subprocess.run([EXHUME, command, odd + b"/x.npy", odd + b"/y.npy", "--out", odd + b"/o", "--budget", "3"]
                                  if command == "recover" else
                                  [EXHUME, command, odd + b"/x.npy", odd + b"/y.npy", "--out", odd + b"/l"],
                                  capture_output=True, timeout=300)
            self.assertIn(done.returncode, (OK, NOT_CERTIFIED), done.stderr)
            self.assertTrue(os.path.exists(odd + (b"/l" if command == "lowest-layer" else b"/o") + b"/certificate.json"))

    def test_digests_are_those_of_the_files(self):
        self.generate("made", d=4, k=3, m=3, n=3000)
        answer = json.loads(self.run_exhume("recover", "made/x.npy", "made/y.npy", "--json").stdout)
        for file in answer["files"]:
            self.assertEqual(file["sha256"], hashlib.sha256((self.folder / file["path"]).read_bytes()).hexdigest())


class Memorize(CommandLineTest):
    def data(self, n, d, labels=None):
        """Random rows x.npy and labels y.npy; whole numbers of 0..9 unless given."""
        source = random.Random(n)
        rows = [source.gauss(0, 1) for _ in range(n * d)]
        labels = labels or [source.randrange(10) for _ in range(n)]
        (self.folder / "x.npy").write_bytes(npy_bytes(rows, n, d))
        (self.folder / "y.npy").write_bytes(npy_bytes(labels, n, 1))
        return rows, labels

    def test_end_to_end_whatever_the_threads(self):
        self.data(60, 12)
        for options in ([], ["--classes"], ["--layers", 3], ["--perturb", 0.1, "--normalize"]):
            self.run_exhume("memorize", "x.npy", "y.npy", "--out", "one", "--threads", 1, *options)
            self.run_exhume("memorize", "x.npy", "y.npy", "--out", "two", "--threads", 2, *options)
            self.assertEqual(self.files("one"), ["certificate.json", "inputs.npy", "labels.npy", "network.onnx", "network.safetensors", "report.html"])
            for name in ("network.safetensors", "network.onnx", "inputs.npy"):
                self.assertEqual((self.folder / "one" / name).read_bytes(), (self.folder / "two" / name).read_bytes(), name)
            self.run_exhume("verify", "one/network.safetensors", "one/inputs.npy", "one/labels.npy", "--tolerance", 1e-18)

    def test_json_is_one_document(self):
        self.data(60, 12)
        for method in ("closed", "pgd"):
            found = json.loads(self.run_exhume("memorize", "x.npy", "y.npy", "--json", "--method", method).stdout)
            self.assertEqual(found["status"], "certified")
            self.assertTrue(found["memorized"])
            self.assertEqual(found["accuracy"], 1)
            self.assertGreater(found["general_position"]["sigma"], 0)
        self.assertTrue(found["descent"][0]["lemma1_holds"])

    def test_labels_that_disagree_are_named(self):
        rows, labels = self.data(20, 8)
        rows[13 * 8:14 * 8] = rows[4 * 8:5 * 8]
        labels[13] = labels[4] + 1
        (self.folder / "x.npy").write_bytes(npy_bytes(rows, 20, 8))
        (self.folder / "y.npy").write_bytes(npy_bytes(labels, 20, 1))
        result = self.run_exhume("memorize", "x.npy", "y.npy", "--out", "out", code=BAD_DATA)
        self.assert_one_sentence(result, "rows 4 and 13", "perturb 0.01")
        self.assertFalse((self.folder / "out").exists())

    def test_too_many_rows_name_the_way_out(self):
        self.data(37, 8)
        result = self.run_exhume("memorize", "x.npy", "y.npy", "--layers", 2, code=BAD_DATA)
        self.assert_one_sentence(result, "36", "layers 3, features 14", "power 2")
        self.run_exhume("memorize", "x.npy", "y.npy", "--layers", 3, "--features", 14, "--power", 2)

    def test_not_to_the_tolerance(self):
        self.data(30, 8)
        self.run_exhume("memorize", "x.npy", "y.npy", "--method", "pgd", "--iterations", 2, code=NOT_CERTIFIED)
        self.run_exhume("memorize", "x.npy", "y.npy", "--method", "pgd-printed", "--iterations", 5, code=NOT_CERTIFIED)
        self.run_exhume("memorize", "x.npy", "y.npy", "--hidden", 7, code=USAGE)


class LowestLayer(CommandLineTest):
    def threshold(self, out, *arguments, d=5, k=4, n=80000):
        self.run_exhume("generate", "--model", "threshold", "-d", d, "-k", k, "-m", 1, "-n", n, "--out", out, "-q", *arguments)

    def worst(self, found, made):
        """Largest distance of a true direction from the nearest one found."""
        (k, d), w = read_safetensors(self.folder / made / "units.safetensors")["W"]
        (count, _), v = read_safetensors(self.folder / found / "units.safetensors")["W"]
        return max(min(max(abs(w[i * d + c] - v[j * d + c]) for c in range(d)) for j in range(count)) for i in range(k))

    def test_end_to_end_whatever_the_threads(self):
        self.threshold("made", "--threshold", 1.8)
        for threads in (1, 2):
            result = self.run_exhume("lowest-layer", "made/x.npy", "made/y.npy", "-k", 4, "--out", f"by{threads}", "--json",
                                     "--threads", threads)
            self.assertEqual(json.loads(result.stdout)["status"], "certified")
        self.assertEqual(self.files("by1"), ["certificate.json", "features.npy", "report.html", "units.safetensors", "units.svg"])
        for name in ["features.npy", "units.safetensors", "units.svg"]:
            self.assertEqual((self.folder / "by1" / name).read_bytes(), (self.folder / "by2" / name).read_bytes())
        self.assertLess(self.worst("by1", "made"), 1e-9)
        header, features = read_npy(self.folder / "by1/features.npy")
        self.assertIn("(80000, 4)", header)
        self.assertEqual(min(features), 0)

    def test_a_threshold_of_zero_is_named(self):
        self.threshold("made", "--threshold", 0)
        result = self.run_exhume("lowest-layer", "made/x.npy", "made/y.npy", "--json", code=NOT_CERTIFIED)
        self.assertIn("threshold", json.loads(result.stdout)["reason"])  # and nothing else on stdout
        self.assertEqual(result.stderr, "")

    def test_sigmoids_from_kept_rows(self):
        self.threshold("made", "--activation", "sigmoid", "--threshold", 3, "--upper", "linear", "--biased", n=30000)
        self.run_exhume("lowest-layer", "made/x.npy", "made/y.npy", "--activation", "sigmoid", "--biased", "-k", 4, "-o", "o")
        self.assertLess(self.worst("o", "made"), 1e-9)

    def test_halfspaces(self):
        self.threshold("made", "--activation", "sign", "--threshold", 1.8, "--upper", "union", "--flips", 0.01, n=150000)
        result = self.run_exhume("halfspaces", "made/x.npy", "made/y.npy", "-k", 4, "--out", "found")
        self.assertIn("union of 4 halfspaces", result.stdout)
        self.assertLess(self.worst("found", "made"), 0.03)

    def test_refusals(self):
        self.threshold("made", n=3000)
        for words, code, arguments in [
            (["sigmoid"], USAGE, ["lowest-layer", "--biased"]),
            (["row 1 (counting from 0)", "biased"], BAD_DATA, ["lowest-layer", "--biased", "--activation", "sigmoid"]),
            (["tanh", "relu"], USAGE, ["lowest-layer", "--activation", "tanh"]),
            (["two"], BAD_DATA, ["halfspaces"]),
        ]:
            with self.subTest(arguments=arguments):
                result = self.run_exhume(*arguments, "made/x.npy", "made/y.npy", "--out", "o", code=code)
                self.assert_one_sentence(result, *words)
        self.assertFalse((self.folder / "o").exists())


class Report(CommandLineTest):
    def test_refuses_what_is_no_certificate(self):
        self.assert_one_sentence(self.run_exhume("report", "nowhere", code=BAD_DATA), "nowhere/certificate.json")
        for text in ["", "{", "[]", '{"status": "fine"}']:
            (self.folder / "certificate.json").write_text(text)
            self.assert_one_sentence(self.run_exhume("report", ".", code=BAD_DATA), "certificate.json")
        self.assertEqual(self.files(), ["certificate.json"])

    def test_a_script_tag_shows_as_text(self):
        (self.folder / "certificate.json").write_text(json.dumps({"status": "uncertified", "route": "<script>alert(1)</script>"}))
        self.run_exhume("report", ".")
        page = (self.folder / "report.html").read_text()
        self.assertNotIn("<script", page)
        self.assertIn("&lt;script&gt;", page)


if __name__ == "__main__":
    EXHUME = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
