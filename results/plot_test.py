#!/usr/bin/env python3
"""plot.py: what it refuses, and what it draws into files. What draws is skipped without matplotlib."""

import contextlib
import io
import os
import subprocess
import sys
import types
import unittest

import plot
from figures import style
from figures.test_records import H200, RESULTS, Draws, Runs, layer_record, record

TORCH = RESULTS / "published/h200/torch-forward.json"
IS_NIGHTLY = "SPARKBENCH_NIGHTLY" in os.environ


class Plots(Runs):
    """In the folder of the runs."""

    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def plot(self, *arguments):
        """As a program does, in this process, which has matplotlib already."""
        out, err, code = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                plot.main([str(each) for each in arguments])
            except SystemExit as exit:
                code = exit.code
        return types.SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())

    def start(self, *arguments, **environment):
        return subprocess.run(
            [sys.executable, "-B", RESULTS / "plot.py", *map(str, arguments)],
            env=os.environ | environment, capture_output=True, text=True, check=False,
        )  # fmt: skip


class Refuses(Plots):
    def test_a_figure_of_no_name(self):
        result = self.plot(self.run_of(record()), "--figure", "speedp")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--figure: unknown 'speedp', did you mean 'speedup'?; allowed:", result.stderr)

    def test_sizes_that_no_figure_has(self):
        for flag, typed in (("--width", "1"), ("--width", "wide"), ("--font-size", "nan")):
            result = self.plot(self.run_of(record()), flag, typed)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, f"{flag}: '{typed}': allowed: a number from \\d+ to \\d+")

    def test_a_missing_matplotlib_and_says_how_to_get_it(self):
        hidden = self.folder / "hidden"
        hidden.mkdir()
        (hidden / "matplotlib.py").write_text("raise ImportError('hidden')")
        result = self.start(self.run_of(record()), PYTHONPATH=str(hidden), PYTHONSAFEPATH="")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("matplotlib is missing; install it: ", result.stderr)
        was = sys.prefix
        try:
            sys.prefix = "/a/venv"
            self.assertIn("-m pip install matplotlib", style.how_to_install())
            sys.prefix = sys.base_prefix
            self.assertIn("apt-get install python3-matplotlib", style.how_to_install())
        finally:
            sys.prefix = was

    def test_bad_input_with_one_line_and_2(self):
        run = self.run_of(record())
        for arguments, words in (
            ((self.folder / "none.json",), "none.json: .*No such file"),
            ((run, "-o", "a.bmp"), "-o a.bmp: allowed: a file of .svg, .pdf, .png"),
            ((run, "--where", "x"), "--where 'x': allowed"),
            ((run, "--figure", "diff"), "diff compares two runs, and 1 are given"),
            ((run, "--figure", "error", "--kernel", "b"), "--kernel: no case of 'b'"),
            ((run, "--figure", "speedup"), "--reference: no time of 'cublas-fp16'"),
        ):
            result = self.plot(*arguments)
            if result.returncode == 3:
                self.skipTest("no matplotlib")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertRegex(result.stderr, words)
            self.assertEqual(result.stderr.count("\n"), 1)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["one.json"])


class DrawsFiles(Plots, Draws):
    def test_of_the_size_that_was_asked_for(self):
        run = self.run_of(record())
        result = self.plot(run, "--width", "3.3", "--font-size", "6", "-o", "a.svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = (self.folder / "a.svg").read_text("utf-8")
        self.assertIn(f'width="{3.3 * 72:g}pt"', text)

    def test_the_same_bytes_each_time(self):
        result = self.plot(H200, "-o", "a.svg")
        self.assertEqual((result.returncode, result.stdout), (0, "a.svg\n"), result.stderr)
        result = self.start(H200, "-o", "b.svg")
        self.assertEqual((result.returncode, result.stdout), (0, "b.svg\n"), result.stderr)
        self.assertEqual((self.folder / "a.svg").read_bytes(), (self.folder / "b.svg").read_bytes())

    def test_every_figure_in_some_format(self):
        """The next figure in the next format; nightly every figure in every format."""
        other = self.run_of(record(), name="two")
        one = self.run_of(record(), record("cublas-fp16"))
        for i, figure in enumerate(plot.FIGURES):
            if figure.startswith("layer"):
                continue  # below
            for k, suffix in enumerate(style.FORMATS):
                if not IS_NIGHTLY and (i + k) % len(style.FORMATS) != 0:
                    continue
                runs = (one, other) if figure == "diff" else (one,)
                result = self.plot(*runs, "--figure", figure, "-o", f"{figure}.{suffix}")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertGreater((self.folder / f"{figure}.{suffix}").stat().st_size, 1000)

    def test_layers_with_and_without_memory(self):
        oom = {"reason": {"code": "E-OOM-PREDICTED", "message": ""}, "predicted": None}
        run = self.run_of(
            layer_record("unfused-fp16", "unfused"),
            layer_record("unfused-fp16", "unfused", 1024, **oom),
            layer_record("ours", "fused"),
            layer_record("ours", "fused", 1024),
        )
        for figure in ("layers", "layer-speedup"):
            result = self.plot(run, "--figure", figure, "-o", f"{figure}.svg")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("OOM", (self.folder / "layers.svg").read_text("utf-8"))

    def test_published_runs_together(self):
        result = self.plot(H200, TORCH, "--figure", "speedup", "-o", "speedup.svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue("n/s: not supported" in (self.folder / "speedup.svg").read_text("utf-8"))


if __name__ == "__main__":
    unittest.main()
