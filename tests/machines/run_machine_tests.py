#!/usr/bin/env python3
"""Several processes, and runs that are killed: run_machine_tests.py PATH/TO/exhume [--kills N] [--altered N] [--seed S].

Whatever the number of threads and of MPI ranks, and however often a run with checkpoints was killed, it ends in the same
bytes. Standard library only; what needs mpirun is skipped, and said, where there is none.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EXHUME = None
KILLS = 6
ALTERED = 5
SEED = 1
OK, USAGE, NOT_CERTIFIED, BAD_DATA, INTERRUPTED = 0, 2, 3, 4, 130

MPIRUN = shutil.which("mpirun")
# Containers and build machines run as root, on fewer cores than ranks.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}

# Kinds of runs: how the samples are made, and how the network is recovered.
ROUTES = {
    "depth2": (["--inputs", "10", "--hidden", "10", "--outputs", "1", "--samples", "120000"], []),
    "many outputs": (["--inputs", "20", "--hidden", "20", "--outputs", "20", "--samples", "30000"], []),
    "any inputs": (["--inputs", "5", "--hidden", "5", "--outputs", "2", "--samples", "60000", "--distribution", "cube"], []),
    "noise": (["--inputs", "6", "--hidden", "5", "--outputs", "2", "--samples", "80000", "--noise", "0.05"], []),
    "deep": (["--inputs", "6", "--layers", "5,4", "--outputs", "2", "--samples", "20000"], ["--layers", "2"]),
}


def ranks(number):
    return [MPIRUN, "-n", str(number)]


class MachineTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="exhume-machines-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.made, cls.codes = {}, {}

    def run_exhume(self, *arguments, before=(), timeout=600):
        command = [*before, EXHUME, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=os.environ | MPI, timeout=timeout)

    def samples(self, kind):
        """Samples of a kind, with the network and the seconds of a plain run."""
        if kind not in self.made:
            generate, recover = ROUTES[kind]
            data = self.folder / kind.replace(" ", "-")
            done = self.run_exhume("generate", *generate, "--seed", SEED, "--out", data, "--quiet")
            self.assertEqual(done.returncode, OK, done.stderr)
            began = time.monotonic()
            done = self.run_exhume(*self.recover(kind, data), "--out", data / "plain")
            # Some random networks of several layers are not determined: that is said, and is the same every time.
            self.assertIn(done.returncode, (OK, NOT_CERTIFIED), done.stdout + done.stderr)
            self.codes[kind] = done.returncode
            self.made[kind] = data, (data / "plain/network.safetensors").read_bytes(), time.monotonic() - began
        return self.made[kind]

    @staticmethod
    def recover(kind, data):
        return ["recover", data / "x.npy", data / "y.npy", *ROUTES[kind][1]]


class Threads(MachineTest):
    def test_one_and_two_give_the_same_bytes(self):
        for kind in ROUTES:
            data, network, _ = self.samples(kind)
            done = self.run_exhume(*self.recover(kind, data), "--threads", 1, "--out", data / "one")
            self.assertEqual(done.returncode, self.codes[kind], done.stderr)
            self.assertEqual((data / "one/network.safetensors").read_bytes(), network, kind)


class Files(MachineTest):
    def test_several_files_are_one_table(self):
        data, network, _ = self.samples("depth2")
        parts = self.folder / "parts"
        for name in ("x", "y"):
            (parts / name).mkdir(parents=True)
            raw = (data / f"{name}.npy").read_bytes()
            size = 10 + int.from_bytes(raw[8:10], "little")
            header, rows = raw[10:size].decode(), raw[size:]
            row = len(rows) // 120000
            cuts = [0, 7, 4103, 50000, 120000] + [50000 + 7 * i for i in range(1, 9)]
            cuts.sort()
            for part, (first, last) in enumerate(zip(cuts, cuts[1:])):
                text = header.replace("(120000,", f"({last - first},").rstrip("\n ")
                text += " " * (-(10 + len(text) + 1) % 64) + "\n"
                start = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
                (parts / name / f"{name}-{part}.npy").write_bytes(start + rows[first * row : last * row])
        listed = [",".join(str(parts / n / f"{n}-{i}.npy") for i in range(len(cuts) - 1)) for n in ("x", "y")]
        ways = {
            "folder": [parts / "x", parts / "y"],
            "pattern": [parts / "x/x-*.npy", parts / "y/y-*.npy"],
            "list": listed,
        }
        for name, files in ways.items():
            done = self.run_exhume("recover", *files, "--out", self.folder / name)
            self.assertEqual(done.returncode, OK, name + done.stderr)
            self.assertEqual((self.folder / name / "network.safetensors").read_bytes(), network, name)
            checked = self.run_exhume("verify", self.folder / name)
            self.assertEqual(checked.returncode, OK, checked.stdout + checked.stderr)
        done = self.run_exhume("recover", parts / "z-*.npy", parts / "y")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (BAD_DATA, 1), done.stderr)
        (parts / "x/x-3.npy").unlink()
        done = self.run_exhume("recover", parts / "x", parts / "y")
        self.assertEqual(done.returncode, BAD_DATA)
        self.assertIn("rows", done.stderr)


class Checkpoints(MachineTest):
    def kill_and_resume(self, kind, draw):
        """Kills a run at a random moment, then goes on until it ends; returns whether the kill came in time."""
        data, network, seconds = self.samples(kind)
        checkpoint, out = data / "checkpoint", data / "killed"
        shutil.rmtree(checkpoint, ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
        command = [EXHUME, *map(str, self.recover(kind, data)), "--checkpoint", str(checkpoint), "--out", str(out)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, seconds))
        process.send_signal(signal.SIGKILL)
        killed = process.wait() == -signal.SIGKILL
        self.assertFalse(killed and (out / "network.safetensors").exists() and not (out / "certificate.json").exists())
        done = self.run_exhume(*command[1:], "--resume")
        self.assertEqual(done.returncode, self.codes[kind], done.stderr)
        self.assertEqual((out / "network.safetensors").read_bytes(), network, kind)
        self.assertFalse(checkpoint.exists())
        return killed

    def test_killed_runs_end_in_the_same_bytes(self):
        draw = random.Random(SEED)
        kinds = [kind for kind in ROUTES if kind != "deep" or KILLS > 10]
        killed = runs = 0
        while killed < KILLS:
            killed += self.kill_and_resume(kinds[runs % len(kinds)], draw)
            runs += 1
            self.assertLess(runs, 4 * KILLS, "runs end before they are killed")
        print(f"\n{killed} of {runs} runs were killed; all ended in the same bytes", file=sys.stderr)

    def interrupted(self, kind):
        """A checkpoint that a run left: it was interrupted when there was something in it."""
        data, network, _ = self.samples(kind)
        checkpoint = data / "left"
        shutil.rmtree(checkpoint, ignore_errors=True)
        command = [EXHUME, *map(str, self.recover(kind, data)), "--checkpoint", str(checkpoint)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        log = checkpoint / "checkpoint.log"
        while process.poll() is None and not (log.exists() and log.stat().st_size > 1500):
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
        return command[1:], log, process.returncode, said

    def test_an_interrupted_run_says_how_to_go_on(self):
        _, log, code, said = self.interrupted("depth2")
        if code != OK:
            self.assertEqual(code, INTERRUPTED)
            self.assertIn("--resume", said)
            self.assertTrue(log.exists())

    def test_altered_ones_are_refused(self):
        draw = random.Random(SEED)
        command, log, code, _ = self.interrupted("depth2")
        if code == OK:
            self.skipTest("the run ended before it was interrupted")
        whole = log.read_bytes()
        for _ in range(ALTERED):
            at = draw.randrange(8, len(whole))
            changed = bytearray(whole)
            changed[at] ^= 1 << draw.randrange(8)
            log.write_bytes(changed)
            done = self.run_exhume(*command, "--resume")
            self.assertEqual(done.returncode, BAD_DATA, at)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        log.write_bytes(whole)
        for other, name in ((["--seed", "7"], "seed"), (["--budget", "99"], "budget"), (["--hidden", "9"], "hidden")):
            done = self.run_exhume(*command, *other, "--resume")
            self.assertEqual(done.returncode, BAD_DATA)
            self.assertIn(name, done.stderr)
        done = self.run_exhume(*command)
        self.assertEqual(done.returncode, BAD_DATA)
        self.assertIn("earlier run", done.stderr)
        data = self.samples("noise")[0]
        done = self.run_exhume("recover", data / "x.npy", data / "y.npy", "--checkpoint", log.parent, "--resume")
        self.assertEqual(done.returncode, BAD_DATA)
        self.assertIn("inputs", done.stderr)
        self.assertEqual(self.run_exhume(*command, "--resume").returncode, OK)


class ByHand(MachineTest):
    """Sites that may not send rows: files of sums."""

    def site(self, number):
        data = self.folder / f"site-{number}"
        if not data.exists():
            made = ["--inputs", 6, "--hidden", 5, "--outputs", 2, "--samples", 30000, "--seed", SEED]
            network = ["--network", self.folder / "site-0/network.safetensors"] if number else []
            done = self.run_exhume("generate", *(made if not network else [*network, "--samples", 30000, "--seed", 99]), "--out", data)
            self.assertEqual(done.returncode, OK, done.stderr)
        return data / "x.npy", data / "y.npy"

    def test_moments_of_two_sites_and_rounds_of_sums(self):
        part = [self.folder / f"part{i}" for i in range(2)]
        self.assertEqual(self.run_exhume("moments", *self.site(0), "--out", part[0]).returncode, OK)
        like = ["--like", f"{part[0]}.moments"]
        done = self.run_exhume("moments", *self.site(1), *like, "--out", part[1])
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual(self.run_exhume("moments", *self.site(1), *like, "--out", part[1]).returncode, USAGE)
        pattern, out = self.folder / "part*.moments", self.folder / "by-hand"
        done = self.run_exhume("recover", *self.site(0), "--moments", pattern, "--out", out)
        self.assertEqual(done.returncode, OK, done.stdout + done.stderr)
        network = out / "network.safetensors"
        for number in range(2):
            done = self.run_exhume("sums", network, *self.site(number), "--out", part[number])
            self.assertEqual(done.returncode, OK, done.stderr)
        done = self.run_exhume("step", network, self.folder / "part*.sums", "--out", self.folder / "next.safetensors")
        self.assertEqual(done.returncode, OK, done.stderr)
        truth = self.folder / "site-0/network.safetensors"
        self.assertEqual(self.run_exhume("compare", truth, self.folder / "next.safetensors", "--tolerance", "1e-9").returncode, OK)
        done = self.run_exhume("step", self.folder / "next.safetensors", self.folder / "part*.sums", "--out", "n.safetensors")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (BAD_DATA, 1), done.stderr)
        done = self.run_exhume("recover", *self.site(0), "--moments", f"{part[0]}.sums")
        self.assertEqual(done.returncode, BAD_DATA)
        self.assertIn("no moments", done.stderr)


@unittest.skipUnless(MPIRUN, "there is no mpirun")
class Ranks(MachineTest):
    def test_any_number_gives_the_same_bytes(self):
        for kind in ROUTES:
            data, network, _ = self.samples(kind)
            for number in (2, 3) if kind != "deep" else (2,):
                out = data / f"ranks-{number}"
                done = self.run_exhume(*self.recover(kind, data), "--threads", 1, "--out", out, before=ranks(number))
                self.assertEqual(done.returncode, self.codes[kind], done.stdout + done.stderr)
                self.assertEqual((out / "network.safetensors").read_bytes(), network, f"{kind}, {number} ranks")
                self.assertEqual(done.stdout.count("held-out error"), 1, done.stdout)

    def test_what_is_wrong_is_said_once(self):
        data, _, _ = self.samples("depth2")
        done = self.run_exhume("recover", data / "x.npy", data / "missing.npy", before=ranks(2))
        self.assertEqual(done.returncode, BAD_DATA, done.stderr)
        self.assertEqual(done.stderr.count("exhume: "), 1, done.stderr)
        done = self.run_exhume("generate", "--samples", 10, "--out", self.folder / "g", before=ranks(2))
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertIn("one process", done.stderr)

    def test_ranks_that_see_different_data_end_with_one_sentence(self):
        for number, other in enumerate((["--seed", "2"], ["--seed", "1", "--samples", "1500"])):
            folder = self.folder / f"different-{number}"
            folder.mkdir()
            for name, more in (("first", ["--seed", "1"]), ("second", other)):
                self.run_exhume("generate", "-d", 4, "-k", 3, "-m", 1, *(more if "--samples" in more else [*more, "--samples", "2000"]), "--out", folder / name)
            script = folder / "rank.sh"
            script.write_text(f"""#!/bin/sh
data=first
[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ] && data=second
exec {EXHUME} recover {folder}/$data/x.npy {folder}/$data/y.npy --threads 1 --out {folder}/out
""")
            script.chmod(0o755)
            done = subprocess.run([*ranks(3), str(script)], capture_output=True, text=True, env=os.environ | MPI, timeout=120)
            self.assertEqual(done.returncode, BAD_DATA, done.stderr)
            self.assertEqual(done.stderr.count("exhume: "), 1, done.stderr)
            self.assertIn("different data", done.stderr)
            self.assertFalse((folder / "out").exists())

    def test_a_rank_that_dies_ends_the_job_and_leaves_a_checkpoint(self):
        data, network, seconds = self.samples("depth2")
        checkpoint, out = data / "ranks-checkpoint", data / "ranks-killed"
        command = [*map(str, self.recover("depth2", data)), "--checkpoint", str(checkpoint), "--out", str(out)]
        process = subprocess.Popen(
            [*ranks(2), EXHUME, *command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=os.environ | MPI, text=True
        )
        log = checkpoint / "checkpoint.log"
        while process.poll() is None and not (log.exists() and log.stat().st_size > 1500):
            time.sleep(0.002)
        found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        if found:
            os.kill(int(found[-1]), signal.SIGKILL)
        said = process.communicate(timeout=60)[1]
        if process.returncode == OK:
            self.skipTest("the job ended before a rank was killed")
        self.assertIn("--resume", said)
        done = self.run_exhume(*command, "--resume", before=ranks(3))
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual((out / "network.safetensors").read_bytes(), network)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("exhume")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--altered", type=int, default=ALTERED)
    parser.add_argument("--seed", type=int, default=SEED)
    options, rest = parser.parse_known_args()
    EXHUME, KILLS, ALTERED, SEED = os.path.abspath(options.exhume), options.kills, options.altered, options.seed
    unittest.main(argv=[sys.argv[0], *rest])
