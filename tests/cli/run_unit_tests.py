#!/usr/bin/env python3
"""Units that are not ReLUs: generated, recovered with their kind told, compared, verified, written and read.

run_unit_tests.py PATH/TO/exhume [unittest arguments]. Standard library only.
"""

import json
import os
import sys
import unittest

import run_cli_tests as cli
from run_cli_tests import OK, CommandLineTest


class SmoothUnits(CommandLineTest):
    def certificate(self, folder):
        return json.loads((self.folder / folder / "certificate.json").read_text())

    def test_the_kind_is_told_and_the_weights_are_found(self):
        for name in ("tanh", "gelu"):
            with self.subTest(name):
                made, found = f"made-{name}", f"found-{name}"
                self.run_exhume("generate", "-d", 4, "-k", 3, "-m", 1, "-n", 3000, "--activation", name, "--seed", 5,
                                "-o", made, "-q")
                self.run_exhume("recover", f"{made}/x.npy", f"{made}/y.npy", "-o", found, "-q")
                stated = self.certificate(found)
                self.assertEqual((stated["status"], stated["activation"]), ("certified", name))
                for ending in ("safetensors", "onnx"):
                    self.run_exhume("compare", f"{made}/network.safetensors", f"{found}/network.{ending}",
                                    "--tolerance", "1e-9", code=OK)
                self.run_exhume("verify", found, code=OK)

    def test_an_oracle_of_smooth_units_is_extracted(self):
        self.run_exhume("generate", "-d", 5, "-k", 4, "-m", 2, "-n", 10, "--activation", "tanh", "-o", "made", "-q")
        self.run_exhume("extract", "--network", "made/network.safetensors", "-o", "found", "-q")
        self.assertEqual(self.certificate("found")["status"], "certified")
        self.run_exhume("compare", "made/network.safetensors", "found/network.safetensors", "--tolerance", "1e-8",
                        code=OK)

    def test_networks_of_smooth_units_are_compared(self):
        for name in ("tanh", "gelu", "relu"):
            self.run_exhume("generate", "-d", 4, "-k", 5, "-m", 2, "-n", 10, "--activation", name, "-o", name, "-q")
        # A proof that verify takes from its leaves again.
        self.run_exhume("compare", "tanh/network.safetensors", "tanh/network.safetensors", "--tolerance", "1e-12",
                        "-o", "audit", code=OK)
        self.run_exhume("verify", "audit", code=OK)
        answer = json.loads(self.run_exhume("compare", "tanh/network.safetensors", "gelu/network.safetensors", "--json",
                                            code=cli.NOT_CERTIFIED).stdout)
        self.assertEqual((answer["verdict"], answer["bound"]["upper"]), ("different", None))


if __name__ == "__main__":
    cli.EXHUME = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
