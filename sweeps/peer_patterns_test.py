"""Patterns from their definitions, against pictures and the built program's counts."""

import json
import os
import pathlib
import subprocess
import unittest
import unittest.mock

import peer_attention
import peer_masks
import peer_patterns
import sparkbench_cases
from test_peers import case_of

# Over 48 rows and keys.
SPECS = (
    "blocked:8", "chunk:12", "strided:5", "causal-strided:4+window:6", "dilated:3:4", "fixed:8:2",
    "longformer:5:3", "sink:4+window:7", "causal-blocked:8", "documents:9", "documents:5:20:7",
    "nd:6x8:3x5", "nd:2x4x6:1x3x3", "window:9/strided:3", "causal-documents:11/band:3:2/full",
)  # fmt: skip


def rows_of(name, seqlen_q, seqlen_k, head=0):
    """One string of x and . per row."""
    pattern = peer_patterns.Pattern(name, seqlen_q, seqlen_k)
    return [
        "".join("x" if pattern.sees(row, key, head) else "." for key in range(seqlen_k))
        for row in range(seqlen_q)
    ]


class Patterns(unittest.TestCase):
    def test_they_are_those_of_the_language(self):
        self.assertEqual(rows_of("chunk:2", 3, 4), ["xx..", "..xx", "..xx"])
        self.assertEqual(rows_of("blocked:1", 3, 3), ["x..", "xx.", ".xx"])
        self.assertEqual(rows_of("strided:2", 2, 4), ["x.x.", ".x.x"])
        self.assertEqual(rows_of("sink:1+window:1", 3, 3), ["x..", "xx.", "x.x"])
        self.assertEqual(rows_of("fixed:2:1", 4, 4), ["x...", "xx..", ".xx.", ".xxx"])
        self.assertEqual(rows_of("documents:1:2", 4, 4), ["x...", ".xx.", ".xx.", "...."])
        self.assertEqual(rows_of("nd:1x4:1x3", 4, 4), ["xxx.", "xxx.", ".xxx", ".xxx"])
        self.assertEqual(rows_of("full/window:1", 2, 2, head=3), ["x.", ".x"])

    def test_what_mask_spec_has_is_no_pattern(self):
        for name in ("full", "causal", "window:3", "band:1:2", "prefix:4"):
            self.assertFalse(peer_patterns.is_pattern(name))
        for name in (*SPECS, "full/causal", "causal-band:1:2"):
            self.assertTrue(peer_patterns.is_pattern(name))

    def test_visible_pairs_are_the_built_program_s(self):
        program = os.environ.get("SPARKBENCH_PROGRAM", str(sparkbench_cases.BUILT))
        if not pathlib.Path(program).exists():
            self.skipTest(f"there is no {program}")
        for lengths in ((48, 48), (31, 48)):
            command = [program, "sweep", "--dry-run", "--json", "-", "--device", "emulated-v100"]
            command += ["--kernel", "unfused-fp16", "--headdim", "64", "--heads", "3", "--batch"]
            command += ["2", "--seqlen", str(lengths[0]), "--seqlen-k", str(lengths[1])]
            command += ["--mask", ",".join(SPECS), "--dropout", "0"]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            cases = json.loads(result.stdout)["cases"]
            self.assertEqual([case["problem"]["mask"] for case in cases], list(SPECS))
            for case in cases:
                name = case["problem"]["mask"]
                unions = name.count("/") + 1
                of_unions = ["".join(rows_of(name, *lengths, i)).count("x") for i in range(unions)]
                with self.subTest(name):
                    want = 2 * sum(of_unions[head % unions] for head in range(3))
                    self.assertEqual(case["mask_work"]["pairs_visible"], want)

    def test_what_is_not_here_is_declined(self):
        def why(kernel, mask):
            return peer_masks.why_unsupported(case_of(kernel, mask))

        takers = ("torch-unfused", "torch-math", "torch-efficient", "torch-flex", "spark-fp32acc")
        for kernel in takers:
            self.assertEqual(why(kernel, "sink:4+window:7"), "")
            self.assertEqual(why(kernel, "window:9/strided:3"), "")
            self.assertIn("do not read the file", why(kernel, "zones:some/file"))
            self.assertIn("do not know the mask", why(kernel, "moire:3"))
        for kernel in ("torch-flash", "torch-cudnn"):
            self.assertIn("no mask sink:4+window:7; it has", why(kernel, "sink:4+window:7"))
        wide = peer_masks.why_unsupported(case_of("spark-fp16acc", "chunk:9", "--headdim", "256"))
        self.assertEqual(wide, "")
        self.assertIn(
            "no dropout", peer_masks.why_unsupported(case_of("torch-flex", "full", "--dropout", "0.1"))
        )

    def test_sdpa_takes_any_pattern(self):
        for kernel in ("torch-math", "torch-efficient"):
            case = case_of(kernel, "strided:3")
            passes = peer_attention.passes_of(unittest.mock.MagicMock(), case, 0.0)
            self.assertIsInstance(passes, peer_attention.Sdpa)
            self.assertIn("attn_mask", passes.hidden)


if __name__ == "__main__":
    unittest.main()
