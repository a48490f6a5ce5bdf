#!/usr/bin/env python3
"""What happens when things go wrong from outside: run_fault_tests.py PATH/TO/exhume [--kills N] [--seed S] [unittest arguments].

Kills, signals, full disks, limits, closed outputs, two writers at once, files that change while they are read. Whatever
happens, a folder holds the old result or the new one, whole, and every refusal is one sentence. Standard library only.
"""

import argparse
import array
import hashlib
import json
import math
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

EXHUME = None
KILLS = 40
SEED = 1
SANITIZED = False  # a sanitizer needs terabytes of address space

OK, INTERNAL, USAGE, NOT_CERTIFIED, BAD_DATA, RESOURCE, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
RESULT = ["certificate.json", "network.onnx", "network.safetensors", "report.html"]
MIB = 1 << 20


def network_rows(rows, seed):
    """Inputs and outputs of a small network, as lists of rows."""
    draw = random.Random(seed)
    weights = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(2)]
    xs, ys = [], []
    for _ in range(rows):
        x = [draw.gauss(0, 1) for _ in range(2)]
        xs.append(x)
        ys.append([sum(max(0.0, w[0] * x[0] + w[1] * x[1] + w[2]) * s for w, s in zip(weights, (1.0, -0.5)))])
    return xs, ys


def write_npy(path, rows):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), len(rows[0]))
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    values = array.array("d", [value for row in rows for value in row])
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())


def limited(kind, amount):
    """For preexec_fn: a resource limit."""
    return lambda: resource.setrlimit(kind, (amount, amount))


class FaultTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)
        for name, seed in [("old", 1), ("new", 2)]:
            xs, ys = network_rows(300, seed)
            write_npy(self.folder / f"{name}_x.npy", xs)
            write_npy(self.folder / f"{name}_y.npy", ys)

    def start(self, *arguments, **options):
        options = {"cwd": self.folder, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                   "text": True, **options}
        return subprocess.Popen([EXHUME, *map(str, arguments)], **options)

    def run_exhume(self, *arguments, code=OK, timeout=120, **options):
        process = self.start(*arguments, **options)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fail(f"{arguments} did not end within {timeout} s")
        if code is not None:
            self.assertEqual(process.returncode, code, f"{arguments}\nstdout: {out}\nstderr: {err}")
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def recover(self, which, out="out", **options):
        return self.run_exhume("recover", f"{which}_x.npy", f"{which}_y.npy", "--out", out, "--quiet", **options)

    def assert_one_sentence(self, result, *words):
        self.assertRegex(result.stderr, r"\Aexhume: [^\n]+[.?!]\n\Z")
        for word in words:
            self.assertIn(word, result.stderr)

    def files(self, folder="out"):
        return sorted(path.name for path in (self.folder / folder).iterdir())

    def whose(self, folder="out"):
        """Whose samples the whole result in the folder is about, by verify."""
        self.run_exhume("verify", folder)
        files = json.loads((self.folder / folder / "certificate.json").read_text())["files"]
        return files[0]["path"].split("_")[0]


class Kills(FaultTest):
    def test_killed_at_any_moment(self):
        """Random moments of a run into a folder with a result of other samples."""
        draw = random.Random(SEED)
        self.recover("old")
        begin = time.monotonic()
        self.recover("new", out="elsewhere")
        usual = time.monotonic() - begin
        before, counts, left, folder_now = "old", {"before": 0, "after": 0, "ended": 0}, 0, RESULT
        for kill in range(10 * KILLS):
            if counts["before"] + counts["after"] == KILLS:
                break
            after = "new" if before == "old" else "old"
            process = self.start("recover", f"{after}_x.npy", f"{after}_y.npy", "--out", "out", "--quiet",
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # Half of the kills go where the files are written.
            if kill % 2:
                deadline = time.monotonic() + 10
                while self.files() == folder_now and process.poll() is None and time.monotonic() < deadline:
                    pass
                time.sleep(draw.uniform(0, 0.3) * usual)
            else:
                time.sleep(draw.uniform(0, 1.2) * usual)
            process.kill()
            ended = process.wait() >= 0
            found = self.whose()
            with self.subTest(kill=kill, seed=SEED):
                self.assertIn(found, ["old", "new"])
                if ended:
                    self.assertEqual(found, after)
            counts["ended" if ended else "before" if found == before else "after"] += 1
            left += any(name.endswith(".part") for name in self.files())
            before, folder_now = found, self.files()
        self.recover("new")
        self.assertEqual(self.files(), RESULT, "a run was tripped by what killed ones left")
        print(f"kills: {counts['before'] + counts['after']} (seed {SEED}); old result kept {counts['before']}, new one whole "
              f"{counts['after']}; {counts['ended']} more came too late; temporaries seen after {left}, none after the next run",
              file=sys.stderr)

    def test_a_folder_that_was_being_made(self):
        draw = random.Random(SEED)
        for _ in range(max(3, KILLS // 20)):
            process = self.start("recover", "new_x.npy", "new_y.npy", "--out", "fresh", "--quiet")
            time.sleep(draw.uniform(0, 0.15))
            process.kill()
            process.communicate()
            self.recover("new", out="fresh")
            self.assertEqual(self.files("fresh"), RESULT)
            shutil.rmtree(self.folder / "fresh")

    def test_generate_killed(self):
        self.run_exhume("generate", "-d", 5, "-k", 5, "-m", 2, "-n", 50, "-o", "made", "-q")
        before = {name: (self.folder / "made" / name).read_bytes() for name in self.files("made")}
        process = self.start("generate", "-d", 50, "-k", 50, "-m", 5, "-n", 20000000, "-o", "made", "-q")
        deadline = time.monotonic() + 30
        while len(self.files("made")) == len(before) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        for name, content in before.items():
            self.assertEqual((self.folder / "made" / name).read_bytes(), content)
        self.run_exhume("generate", "-d", 5, "-k", 5, "-m", 2, "-n", 50, "-o", "made", "-q")
        self.assertEqual(self.files("made"), sorted(before))


class Signals(FaultTest):
    def interrupted_search(self, sign, after):
        """Exit code, stdout and stderr of a long search that gets this signal so many seconds after it began."""
        if not (self.folder / "long_x.npy").exists():
            # No network of one hidden layer: a search goes on for as long as it may.
            xs, _ = network_rows(60000, 3)
            write_npy(self.folder / "long_x.npy", xs)
            write_npy(self.folder / "long_y.npy", [[math.sin(3 * x[0]) * x[1]] for x in xs])
        process = self.start("recover", "long_x.npy", "long_y.npy", "--out", "out", "--route", "any_inputs",
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        deadline = time.monotonic() + 30
        while self.files() == RESULT and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(after)
        process.send_signal(sign)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def test_term_leaves_the_old_result(self):
        self.recover("old")
        before = {name: (self.folder / "out" / name).read_bytes() for name in self.files()}
        code, out, err = self.interrupted_search(signal.SIGTERM, 0.05)
        self.assertEqual(code, INTERRUPTED, err)
        self.assertRegex(err, r"\Aexhume: interrupted[^\n]*\n\Z")
        self.assertEqual(out, "")
        self.assertEqual({name: (self.folder / "out" / name).read_bytes() for name in self.files()}, before)

    def test_ctrl_c_keeps_the_best_so_far(self):
        self.recover("old")
        code, out, err = self.interrupted_search(signal.SIGINT, 1)
        self.assertEqual(code, INTERRUPTED, err)
        self.assertIn("interrupted after", out)
        self.assertEqual(self.files(), RESULT)
        certificate = json.loads((self.folder / "out" / "certificate.json").read_text())
        self.assertEqual(certificate["status"], "uncertified")
        self.assertIn("interrupted after", certificate["reason"])


class Disks(FaultTest):
    def test_full(self):
        """A limit on the size of files stands for a full disk, so that nobody need be root."""
        self.recover("old")
        for limit in (0, 1, 300, 5000, 20000):
            def full():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            result = self.recover("new", code=RESOURCE, preexec_fn=full)
            self.assert_one_sentence(result, "cannot be written")
            self.assertEqual(self.files(), RESULT)
            self.assertEqual(self.whose(), "old")
        result = self.recover("new", out="fresh", code=RESOURCE, preexec_fn=full)
        self.assertFalse((self.folder / "fresh").exists())

    def test_full_for_good(self):
        """A real file system without room, where this user may mount one."""
        place = self.folder / "small"
        place.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "exhume-faults", place], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("file systems may not be mounted here")
        try:
            self.recover("old", out=place / "out")
            with self.assertRaises(OSError), open(place / "filler", "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            self.assert_one_sentence(self.recover("new", out=place / "out", code=RESOURCE), "space")
            self.assertEqual(self.files(place / "out"), RESULT)
            self.assertEqual(self.whose(place / "out"), "old")
        finally:
            subprocess.run(["umount", place], check=True)

    def test_read_only_folder(self):
        self.recover("old")
        place = self.folder / "out"
        if os.geteuid() != 0:
            place.chmod(0o500)
        elif subprocess.run(["mount", "--bind", "-r", place, place], capture_output=True).returncode != 0:
            self.skipTest("root may write anywhere, and nothing may be mounted here")
        try:
            self.assert_one_sentence(self.recover("new", code=BAD_DATA), "cannot be written", "choose")
            self.assertEqual(self.whose(), "old")
            self.assert_one_sentence(self.run_exhume("report", "out", code=BAD_DATA), "cannot be written")
        finally:
            if os.geteuid() == 0:
                subprocess.run(["umount", place], check=True)
            else:
                place.chmod(0o700)
        self.assertEqual(self.files(), RESULT)


class Limits(FaultTest):
    def setUp(self):
        super().setUp()
        if SANITIZED:
            self.skipTest("a sanitizer needs terabytes of address space")

    def test_little_address_space_is_said_at_once(self):
        for mib in (100, 200):
            result = self.recover("new", code=RESOURCE, timeout=20, preexec_fn=limited(resource.RLIMIT_AS, mib * MIB))
            self.assert_one_sentence(result, "address space", "ulimit -v", "allow more")
            self.assertFalse((self.folder / "out").exists())
        for arguments in (["--version"], ["recover", "--help"]):
            result = self.run_exhume(*arguments, code=RESOURCE, timeout=20,
                                     preexec_fn=limited(resource.RLIMIT_AS, 100 * MIB))
            self.assert_one_sentence(result, "address space")

    def test_enough_address_space_is_enough(self):
        for mib in (256, 300, 400, 700):
            for threads in (0, 1, 64):
                self.run_exhume("recover", "new_x.npy", "new_y.npy", "--threads", threads, "--quiet", timeout=60,
                                preexec_fn=limited(resource.RLIMIT_AS, mib * MIB))

    def test_more_data_than_memory(self):
        result = self.run_exhume("generate", "-d", 3000, "-k", 3000, "-m", 1, "-n", 10, "-o", "made", code=RESOURCE, timeout=60,
                                 preexec_fn=limited(resource.RLIMIT_AS, 256 * MIB))
        self.assert_one_sentence(result, "memory")
        self.assertFalse((self.folder / "made").exists())

    def test_no_more_threads(self):
        """Threads that cannot be had are done without."""
        if os.geteuid() == 0:
            self.skipTest("root has as many threads as it likes")
        self.run_exhume("recover", "new_x.npy", "new_y.npy", "--threads", 8, "--quiet",
                        preexec_fn=limited(resource.RLIMIT_NPROC, 1))


class Outputs(FaultTest):
    def test_closed_stdout(self):
        """What was asked for is written; that it cannot be shown is said."""
        for close in ([1], [0, 1], [0, 1, 2]):
            result = subprocess.run(["bash", "-c", '"$0" recover new_x.npy new_y.npy --out out ' +
                                     " ".join(f"{number}>&-" for number in close), EXHUME],
                                    cwd=self.folder, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(result.returncode, RESOURCE)
            if 2 not in close:
                self.assert_one_sentence(result, "standard output")
            self.assertEqual(self.whose(), "new", "a closed descriptor must not become one of the files")
            self.assertEqual(self.files(), RESULT)
            shutil.rmtree(self.folder / "out")

    def test_full_stdout(self):
        with open("/dev/full", "w") as full:
            result = self.run_exhume("recover", "new_x.npy", "new_y.npy", "--out", "out", code=RESOURCE, stdout=full)
        self.assert_one_sentence(result, "standard output")
        self.assertEqual(self.whose(), "new")

    def test_a_reader_that_went_away(self):
        process = self.start("recover", "new_x.npy", "new_y.npy", "--out", "out", "--json")
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), -signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), "")
        process.stderr.close()
        self.assertEqual(self.whose(), "new")


class Writers(FaultTest):
    def test_two_at_once(self):
        for _ in range(6):
            both = [self.start("recover", f"{which}_x.npy", f"{which}_y.npy", "--out", "out", "--quiet")
                    for which in ("old", "new")]
            for process in both:
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, OK, err)
            self.assertIn(self.whose(), ["old", "new"])
            self.assertEqual(self.files(), RESULT)

    def test_another_kind_of_result_at_once(self):
        """Files of the one do not lie beside the certificate of the other, but for rows: data are never deleted."""
        rows = {"inputs.npy", "labels.npy"}
        xs, ys = network_rows(3, 5)
        write_npy(self.folder / "few_x.npy", xs)
        write_npy(self.folder / "few_y.npy", ys)
        for _ in range(3):
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            both = [self.start("recover", "old_x.npy", "old_y.npy", "--out", "out", "--quiet"),
                    self.start("memorize", "few_x.npy", "few_y.npy", "--out", "out", "--quiet")]
            for process in both:
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, OK, err)
            self.run_exhume("verify", "out")
            written = [file["path"] for file in json.loads((self.folder / "out/certificate.json").read_text())["written"]]
            self.assertEqual(set(self.files()) - rows, set(written + ["certificate.json", "report.html"]) - rows)


class Inputs(FaultTest):
    def setUp(self):
        super().setUp()
        xs, ys = network_rows(40000, 7)
        for name, rows in (("big_x", xs), ("big_y", ys)):
            write_npy(self.folder / f"{name}.npy", rows)
        text = "".join("%r,%r\n" % tuple(row) for row in xs)
        (self.folder / "big_x.csv").write_text(text)
        self.draw = random.Random(SEED)

    def check_against(self, process, contents, inputs):
        """Certified of the bytes of one of `contents`, or refused in a sentence."""
        out, err = process.communicate(timeout=120)
        if process.returncode == BAD_DATA:
            self.assertRegex(err, r"\Aexhume: [^\n]+[.?!]\n\Z")
            return False
        self.assertIn(process.returncode, (OK, NOT_CERTIFIED), err)
        stated = json.loads((self.folder / "out/certificate.json").read_text())["files"][0]["sha256"]
        self.assertIn(stated, [hashlib.sha256(content).hexdigest() for content in contents])
        # The network is that of the bytes whose digest is stated.
        (self.folder / inputs).write_bytes(next(c for c in contents if hashlib.sha256(c).hexdigest() == stated))
        self.run_exhume("verify", "out", code=process.returncode)
        return True

    def disturb(self, inputs, change):
        path = self.folder / inputs
        content = path.read_bytes()
        for _ in range(5):
            process = self.start("recover", inputs, "big_y.npy", "--out", "out", "--quiet", "--hidden", 2, "--budget", 3)
            self.addCleanup(process.kill)
            time.sleep(self.draw.uniform(0.01, 0.25))
            other = change(path, content)
            self.check_against(process, [content, other], inputs)
            path.write_bytes(content)
            shutil.rmtree(self.folder / "out", ignore_errors=True)

    def test_swapped_while_read(self):
        """Another file is renamed over it: the run keeps the one that it opened."""
        def swap(path, content):
            other = content.replace(b"1", b"2") if path.suffix == ".csv" else content[:-8] + struct.pack("<d", 77.0)
            beside = path.with_suffix(".other")
            beside.write_bytes(other)
            os.replace(beside, path)
            return other
        self.disturb("big_x.npy", swap)
        self.disturb("big_x.csv", swap)

    def test_cut_off_while_read(self):
        def cut(path, content):
            os.truncate(path, len(content) // 2)
            return content[:len(content) // 2]
        self.disturb("big_x.npy", cut)
        self.disturb("big_x.csv", cut)

    def test_written_over_while_read(self):
        def overwrite(path, content):
            with open(path, "r+b") as file:
                file.seek(len(content) // 2 // 8 * 8)
                file.write(b"\0" * 64 if path.suffix == ".npy" else b"3")
            return path.read_bytes()
        self.disturb("big_x.npy", overwrite)
        self.disturb("big_x.csv", overwrite)


class Verify(FaultTest):
    """A certificate that names what is no table."""

    def setUp(self):
        super().setUp()
        self.recover("old")
        self.certificate = self.folder / "out/certificate.json"

    def names(self, path):
        content = json.loads(self.certificate.read_text())
        content["files"][0]["path"] = str(path)
        self.certificate.write_text(json.dumps(content))

    def test_pipes_and_devices(self):
        os.mkfifo(self.folder / "pipe.npy")
        for path in ("pipe.npy", "/dev/zero", "/dev/urandom", "/dev/tty", "out", "."):
            self.names(path)
            result = self.run_exhume("verify", "out", code=None, timeout=20)
            self.assertIn(result.returncode, (NOT_CERTIFIED, BAD_DATA))
            self.assertIn(str(path), result.stdout + result.stderr)

    def test_nothing_commands_the_terminal(self):
        self.names("\x1b]0;title\x07 \x1b[2J.npy")
        result = self.run_exhume("verify", "out", code=None, timeout=20)
        self.assertNotIn("\x1b", result.stdout + result.stderr)
        self.assertIn("2J.npy", result.stdout)

    def test_a_terabyte(self):
        for name in ("sparse.npy", "sparse.csv", "sparse.npz"):
            with open(self.folder / name, "wb") as file:
                if name.endswith("npy"):
                    file.write((self.folder / "old_x.npy").read_bytes())
                file.truncate(1 << 40)
            self.names(name)
            begin = time.monotonic()
            self.assert_one_sentence(self.run_exhume("verify", "out", code=BAD_DATA, timeout=20), name, "bytes")
            self.assertLess(time.monotonic() - begin, 10)

    def test_the_network_is_a_terabyte(self):
        with open(self.folder / "out/network.safetensors", "r+b") as file:
            file.truncate(1 << 40)
        self.assert_one_sentence(self.run_exhume("verify", "out", code=BAD_DATA, timeout=20), "network.safetensors", "bytes")

    def test_nested_too_deep(self):
        self.certificate.write_text('{"status": "certified", "a": ' + "[" * 100000)
        self.assert_one_sentence(self.run_exhume("verify", "out", code=BAD_DATA, timeout=20), "nested")

    def test_the_certificate_is_a_pipe(self):
        self.certificate.unlink()
        os.mkfifo(self.certificate)
        self.assert_one_sentence(self.run_exhume("verify", "out", code=BAD_DATA, timeout=20), "certificate.json")
        self.assert_one_sentence(self.run_exhume("report", "out", code=BAD_DATA, timeout=20), "certificate.json")


def main():
    global EXHUME, KILLS, SEED, SANITIZED
    parser = argparse.ArgumentParser()
    parser.add_argument("exhume")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=SEED)
    options, rest = parser.parse_known_args()
    EXHUME, KILLS, SEED = os.path.abspath(options.exhume), options.kills, options.seed
    with open(EXHUME, "rb") as file:
        SANITIZED = re.search(rb"__(asan|tsan)_init", file.read()) is not None
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
