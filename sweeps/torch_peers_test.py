"""The program torch_peers.py, as far as it runs without PyTorch."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from test_peers import HERE, STAND_IN


class Program(unittest.TestCase):
    def run_program(self, *flags, **environment):
        command = [sys.executable, str(HERE / "torch_peers.py"), "--sparkbench", STAND_IN, *flags]
        environment = {**os.environ, **environment}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    def test_without_pytorch_it_ends_with_3(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "torch.py").write_text("raise ImportError('none here')")
            result = self.run_program("--preset", "quick", PYTHONPATH=folder)
        self.assertEqual(result.returncode, 3)
        self.assertIn("PyTorch 2.3 or later is missing", result.stderr)

    def test_a_wrong_flag_ends_with_2(self):
        result = self.run_program("--seqlen", "12x")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--seqlen", result.stderr)

    def test_a_dry_run_lists_the_cases(self):
        result = self.run_program("--dry-run", "--preset", "quick", "--kernel", "torch-cudnn")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(result.stdout.splitlines()), 2 * 2 * 2 * 2)
        self.assertIn("torch-cudnn/fwd/b1/h2/sq512/sk512/d64/causal/p0.1\n", result.stdout)

    def test_a_dry_run_lists_the_layers(self):
        flags = ("--layer", "encoder", "--seqlen", "64", "--headdim", "16", "--dropout", "0")
        result = self.run_program("--dry-run", *flags, "--kernel", "torch-eager-*")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 2 * 5)
        self.assertIn(
            "torch-eager-cudnn/fwd/b1/h8/sq64/sk64/d16/causal/p0/hidden128/ffn96/gelu-tanh/norm-post/"
            "rest-unfused\n",
            result.stdout,
        )

    def test_what_is_no_layer_ends_with_2(self):
        for flags, said in {
            ("--layer", "decoder"): "invalid choice: 'decoder'",
            ("--layer", "encoder", "--kernel", "torch-flash"): "--kernel: unknown 'torch-flash'",
            ("--layer", "encoder", "--rest", "fused"): "--rest",
            ("--tensors", "file"): "--tensors: is of layers alone",
            ("--kernel", "torch-eager-math"): "--kernel: unknown 'torch-eager-math'",
        }.items():
            result = self.run_program("--dry-run", *flags)
            self.assertEqual(result.returncode, 2)
            self.assertIn(said, result.stderr)


if __name__ == "__main__":
    unittest.main()
