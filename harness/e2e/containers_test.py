#!/usr/bin/env python3
"""Checks the files in .container/ against bootstrap.sh and CMake's options, and with hadolint if it is
installed.

    containers_test.py
"""

import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".container").glob("*.Dockerfile"))


def joined_lines(path):
    return path.read_text().replace("\\\n", " ").splitlines()


class Containers(unittest.TestCase):
    def test_there_is_one_for_a_v100_and_one_for_newer_cards(self):
        self.assertEqual([each.name for each in FILES], ["newer.Dockerfile", "volta.Dockerfile"])

    def test_they_differ_in_cuda_and_in_architectures_alone(self):
        def shape(path):
            text = "\n".join(line for line in joined_lines(path) if not line.startswith("#"))
            text = re.sub(r"ARG CUDA=[\d.]+", "ARG CUDA", text)
            return re.sub(r"ARCHITECTURES=[\d;]+", "ARCHITECTURES", text)

        self.assertEqual(shape(FILES[0]), shape(FILES[1]))

    def test_they_install_what_bootstrap_does(self):
        wanted = re.search(r"packages_for\(\).*?echo (.*?)\n  \[\[", (
            ROOT / "harness/bootstrap.sh").read_text().replace("\\\n", " "), re.S).group(1)
        for path in FILES:
            installed = [line for line in joined_lines(path) if "apt-get install" in line][0]
            for package in wanted.split():
                self.assertIn(package, installed.split(), path.name)

    def test_they_set_options_that_the_build_has(self):
        known = (ROOT / "CMakeLists.txt").read_text()
        for path in FILES:
            for option in re.findall(r"-D(SPARKBENCH_\w+)=", path.read_text()):
                self.assertIn(f"option({option} ", known)

    @unittest.skipUnless(shutil.which("hadolint"), "no hadolint here")
    def test_hadolint_finds_nothing(self):
        result = subprocess.run(["hadolint", *map(str, FILES)], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
