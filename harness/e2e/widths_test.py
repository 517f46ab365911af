#!/usr/bin/env python3
"""Runs every command that prints for people on real data: at 80 and 120 columns no line is longer,
and in a pipe no table line exceeds 120 characters.

    widths_test.py SPARKBENCH [SPARKBENCH_MODEL]
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
PUBLISHED = ROOT / "results/published"
LISTING = ROOT / "harness/model/sass/testdata/small_forward"
RUNS = sorted(path.parent for path in PUBLISHED.rglob("run.json")) + sorted(
    PUBLISHED.rglob("torch-*.json")
)
PIPE = 120  # as in results/README.md
TINY = (
    "--device emulated-v100 --headdim 64 --seqlen 9,17 --heads 1 --batch 1 --causal both "
    "--dropout 0.1"
).split()
COMMANDS = (
    "sweep encoder accuracy run report merge diff list info mask check-arithmetic completion"
).split()
# Text for copying stays whole: a command, an address.
TO_BE_COPIED = re.compile(r" +(repeat:? +)?sparkbench | *\(?https://\S+$")
# A case without a result, and the reason, in another program's words.
OF_A_CASE = re.compile(r"^(failed|skipped|incorrect) \S+  ")
MODEL_COMMANDS = ("inspect", "predict")
PROGRAM = ""
MODEL = ""  # sparkbench-model, where it is built


def run(*words, columns=None, may_find=()):
    program = MODEL if words[0] in MODEL_COMMANDS else PROGRAM
    clean = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    environment = clean if columns is None else clean | {"COLUMNS": str(columns)}
    result = subprocess.run(
        [program, *map(str, words)], capture_output=True, text=True, env=environment
    )
    assert result.returncode in (0, *may_find), (words, result.stderr)
    return result.stdout


def is_sentence(line):
    """In a pipe a sentence is a line. Cells are two spaces apart if lines are not too long."""
    return OF_A_CASE.match(line) or not (line.startswith(" ") or "  " in line)


def too_long(text, width):
    return [line for line in text.splitlines()
            if len(line) > width and not TO_BE_COPIED.match(line)]  # fmt: skip


class Fits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        tool = cls.folder / "cuobjdump"
        tool.write_text(
            f"#!/bin/sh\ncase $1 in -sass) cat {LISTING}.sass ;; *) cat {LISTING}.usage ;; esac\n"
        )
        tool.chmod(0o755)
        cls.tool = tool
        run("sweep", *TINY, "-q", "--out", cls.folder / "all")
        run("sweep", *TINY, "-q", "--kernel", "volta-*", "--seed", "5", "--out", cls.folder / "some")

    def check(self, *words, may_find=(), wants=1):
        """At both widths, set in either way, and in a pipe."""
        for width in (80, 120):
            text = run(*words, columns=width, may_find=may_find)
            self.assertGreaterEqual(len(text.splitlines()), wants, words)
            self.assertEqual(too_long(text, width), [], (words, width))
        text = run(*words, may_find=may_find)
        of_tables = [line for line in too_long(text, PIPE) if not is_sentence(line)]
        self.assertEqual(of_tables, [], (words, "in a pipe"))

    def test_what_is_listed_and_described(self):
        self.check("list", wants=40)
        self.check("info", wants=20)
        self.check("info", "--check", wants=20, may_find=(3,))

    def test_help_of_every_command(self):
        self.check("--help", wants=15)
        for command in COMMANDS:
            self.check(command, "--help", wants=5)

    def test_patterns(self):
        self.check("mask", "window:128", "--seqlen", "512", wants=40)
        mask = "sink:4+window:128/causal-strided:16/longformer:32:4+documents:100:200:212/full"
        self.check("mask", mask, "--seqlen", "512", "--heads", "8", wants=160)

    def test_stored_runs(self):
        self.assertGreaterEqual(len(RUNS), 4)
        for path in RUNS:
            self.check("report", path, wants=10)
            self.check("report", path, "--columns", "all", wants=10)
            self.check("report", path, "--by", "kernel", wants=10)

    def test_differences(self):
        first, second = self.folder / "all", self.folder / "some"
        rules = ("--allow", "method", "--fail-on", "nothing")
        for flags in ((), ("--all",), ("--columns", "all"), ("--columns", "verdict,first_ms")):
            self.check("diff", first, second, *rules, *flags, wants=8)
        whole = PUBLISHED / "h200/paper-forward"
        self.check("diff", whole, whole, "--all", wants=20)
        self.check("diff", whole, whole, "--all", "--columns", "all", wants=20)

    def test_machine_code(self):
        if not MODEL:
            self.skipTest("built without SPARKBENCH_MODEL")
        for command in MODEL_COMMANDS:
            self.check(command, "--help", wants=5)
        code = ("inspect", "--cuobjdump", self.tool, "--binary", LISTING.with_suffix(".sass"))
        self.check(*code, wants=20)
        self.check(*code, "--columns", "all", wants=20)

    def test_predictions(self):
        if not MODEL:
            self.skipTest("built without SPARKBENCH_MODEL")
        self.check("predict", wants=500)
        self.check("predict", "--kernel", "volta-fp32acc/fwd/*", "--columns", "all", wants=30)
        self.check("predict", "--kernel", "volta-fp32acc/fwd/*", "--columns", "likely,tile", wants=30)
        listing = ("predict", "--listing", LISTING.with_suffix(".sass"))
        self.check(*listing, wants=2)
        loop = (*listing, "--function", "volta", "--threads", "128")
        self.check(*loop, "--annotate", "--full", wants=60)
        self.check(*loop, "--sensitivity", "--blocks", "2", "--offsets", "0,100,200,300,400", wants=10)

    def test_sweeps_and_what_they_would_do(self):
        self.check("sweep", "--dry-run", "--device", "emulated-v100", wants=20)
        self.check("encoder", "--dry-run", "--device", "emulated-v100", wants=8)
        self.check("sweep", *TINY, "--no-progress", wants=8)
        self.check("accuracy", *TINY, "--no-progress", wants=8)
        layer = "--device emulated-v100 --hidden 64 --headdim 64 --seqlen 9 --batch 1 --ffn 64 --dropout 0"
        self.check("encoder", *layer.split(), "--no-progress", wants=8)
        problem = "--device emulated-v100 --seqlen 9 --batch 1 --heads 1"
        self.check("run", *problem.split(), "--no-progress", wants=20)

    def test_flag_of_the_width_is_before_the_shell_s(self):
        text = run("list", "--width", "60", columns=120)
        self.assertEqual(too_long(text, 60), [])
        self.assertGreater(len(text.splitlines()), len(run("list", columns=120).splitlines()))

    def test_would_see_a_line_that_is_too_long(self):
        self.assertEqual(too_long("a" * 81 + "\nb\n", 80), ["a" * 81])
        self.assertFalse(is_sentence("kernel  " + "a" * 120))
        self.assertFalse(is_sentence("  kernel " + "a" * 120))
        self.assertTrue(is_sentence("one word " * 20))


if __name__ == "__main__":
    PROGRAM, *others = sys.argv[1:]
    MODEL = others[0] if others else ""
    unittest.main(argv=sys.argv[:1])
