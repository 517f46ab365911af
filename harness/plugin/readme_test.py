#!/usr/bin/env python3
"""Does what README.md says: compiles the smallest kernel by its line, and types the line that sweeps it.

    readme_test.py SPARKBENCH
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (pathlib.Path(__file__).parent / "README.md").read_text("utf-8")
PROGRAM = ""
CANNOT_RUN = 77


def block_with(text):
    blocks = re.findall(r"^```\w*\n(.*?)^```", README, re.M | re.S)
    return next(block for block in blocks if text in block)


def without_comment(line):
    return re.sub(r"\s#\s.*", "", line)


class Readme(unittest.TestCase):
    def test_the_smallest_kernel_is_ok(self):
        compile_line, sweep_line = map(without_comment, block_with("gcc ").splitlines())
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            (work / "harness").symlink_to(ROOT / "harness")
            (work / "mine.c").write_text(block_with("#include"), "utf-8")
            self.type_in(compile_line + " -Wall -Werror", work)
            sweep = sweep_line.replace("sparkbench", PROGRAM, 1)
            for more in ("--causal both", "--mask window:9,prefix:7,strided:8", "--heads-k 1"):
                printed = self.type_in(f"{sweep} {more} --no-progress", work)
                self.assertIn("kernel mine", printed)
                self.assertRegex(printed, r"\b[1-9] ok, 0 incorrect, 0 skipped, 0 failed")

    def type_in(self, line, folder):
        result = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, check=False, cwd=folder
        )
        self.assertEqual(result.returncode, 0, f"{line}\n{result.stdout}{result.stderr}")
        return result.stdout

    def test_it_is_short(self):
        self.assertLessEqual(len(README.splitlines()), 100)


def has_half():
    """Whether there is a gcc with _Float16."""
    if shutil.which("gcc") is None:
        return False
    check = ["gcc", "-x", "c", "-fsyntax-only", "-"]
    return subprocess.run(check, input=b"_Float16 x;", capture_output=True).returncode == 0


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    if not has_half():
        print("there is no gcc with _Float16")
        sys.exit(CANNOT_RUN)
    unittest.main(argv=sys.argv[:1])
