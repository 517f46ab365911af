#!/usr/bin/env python3
"""The files in .container/, which no test builds: they install what bootstrap.sh does and set options
that there are, and hadolint finds nothing, where it is.

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
