#!/usr/bin/env python3
"""`--kernel peers` without a GPU: PyTorch's unfused attention runs, and the others say why not. The
Triton kernels run in Triton's interpreter where there is one."""

import importlib.util
import os
import sys
import unittest

os.environ.setdefault("TRITON_INTERPRET", "1")
import test_host

test_host.need("torch")
from test_host import sweep  # noqa: E402

from sparkbench import peers  # noqa: E402


class Peers(unittest.TestCase):
    def test_that_run_on_the_host_are_ok(self):
        ran = sweep(
            {}, "peers:torch-*", "--seqlen", "33", "--pass", "fwd,bwd", "--mask",
            "full,causal,window:5,band:2:3,prefix:4,sink:2+window:4", "--heads", "4", "--heads-k",
            "2",
        )  # fmt: skip
        self.assertEqual(ran.status, 0, ran)
        self.assertEqual({case["kernel"] for case in ran.cases}, {"torch-math", "torch-unfused"})
        self.assertEqual({case["status"] for case in ran.cases}, {"ok"}, ran)

    @unittest.skipIf(peers.has_gpu(), "there is a GPU")
    def test_that_cannot_run_are_named_with_the_reason(self):
        ran = sweep({}, "peers", "--seqlen", "17")
        self.assertEqual(ran.status, 0, ran)
        self.assertRegex(ran.err, r"torch-flash, [a-z0-9, -]+ \(needs a GPU\)")
        self.assertRegex(ran.err, r"flash-attn-2[a-z0-9, -]* \(not installed: ")
        self.assertEqual({case["status"] for case in ran.cases}, {"ok"}, ran)

    def test_that_are_unknown_are_a_usage_error(self):
        ran = sweep({}, "peers:nobody", "--seqlen", "17")
        self.assertEqual(ran.status, 2, ran)
        self.assertIn("no peer is called 'nobody'; allowed: torch-unfused", ran.err)

    def test_that_need_a_gpu_alone_say_so(self):
        if peers.has_gpu():
            self.skipTest("there is a GPU")
        ran = sweep({}, "peers:torch-flash", "--seqlen", "17")
        self.assertEqual(ran.status, 2, ran)
        self.assertIn("no peer can run here: torch-flash (needs a GPU)", ran.err)


INTERPRETED = """
    import sparkbench
    from sparkbench.peers import triton_block_sparse as sparse
    from sparkbench.peers import triton_fused as fused

    for kernel in (fused.triton_fused, sparse.triton_block_sparse):
        kernel.backends = ("host",)
    dense, blocks = fused.triton_fused, sparse.triton_block_sparse
"""


@unittest.skipIf(importlib.util.find_spec("triton") is None, "no triton")
class Triton(unittest.TestCase):
    def check(self, kernel, count, *flags):
        ran = sweep(
            {"interpreted.py": INTERPRETED}, f"interpreted.py:{kernel}", *flags, TRITON_INTERPRET="1"
        )
        self.assertEqual((ran.status, len(ran.cases)), (0, count), ran)
        self.assertEqual({case["status"] for case in ran.cases}, {"ok"}, ran)

    def test_fused_kernel_is_right(self):
        self.check("dense", 8, "--seqlen", "150", "--pass", "fwd,bwd", "--mask",
                   "full,causal,window:40,band:20:30", "--heads-k", "1")  # fmt: skip

    def test_fused_kernel_has_other_lengths(self):
        self.check("dense", 4, "--seqlen", "70", "--seqlen-k", "40,100", "--causal", "true",
                   "--pass", "fwd,bwd")  # fmt: skip

    def test_block_sparse_kernel_is_right(self):
        self.check("blocks", 4, "--seqlen", "150", "--mask",
                   "full,causal,prefix:40,sink:2+window:40", "--heads-k", "1")  # fmt: skip


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main()
