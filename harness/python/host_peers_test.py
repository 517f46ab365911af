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


CHAIN = """
    import types
    import torch
    from sparkbench.peers import torch_bsr
    from sparkbench.peers.torch_bsr import tiles_of

    def dense(bsr):
        "With -inf outside of the blocks."
        block = bsr.values().shape[-1]
        result = torch.full((len(bsr.values()), *bsr.shape[-2:]), float("-inf"))
        for b, (begins, keys, values) in enumerate(
            zip(bsr.crow_indices(), bsr.col_indices(), bsr.values())
        ):
            for row in range(len(begins) - 1):
                for i in range(begins[row], begins[row + 1]):
                    at = row * block, keys[i] * block
                    result[b, at[0] : at[0] + block, at[1] : at[1] + block] = values[i]
        return result

    def places(pattern):
        begins = pattern.crow_indices()
        begins = begins[0] if begins.ndim == 2 else begins
        keys = pattern.col_indices()
        keys = keys[0] if keys.ndim == 2 else keys
        return torch.repeat_interleave(torch.arange(len(begins) - 1), begins.diff()), keys.long()

    def with_values(bsr, values):
        indices = (x.expand(len(values), -1) for x in (bsr.crow_indices(), bsr.col_indices()))
        return torch.sparse_bsr_tensor(*indices, values, size=(len(values), *bsr.shape[-2:]))

    def sampled_addmm(pattern, q, k, *, beta, alpha):
        block = pattern.values().shape[-1]
        products = torch.stack([tiles_of(s.float(), block)[places(pattern)] for s in q.float() @ k.float()])
        return with_values(
            pattern, alpha * products + (beta * pattern.values().float() if beta else 0.0))

    def bsr_softmax(scores, max_row_nnz):
        block = scores.values().shape[-1]
        p = torch.softmax(dense(scores), -1).nan_to_num(0.0)
        return with_values(scores, torch.stack([tiles_of(of, block)[places(scores)] for of in p]).half())

    def bsr_dense_mm(p, v):
        return (dense(p.to(torch.float32)).nan_to_num(0.0, neginf=0.0) @ v.float()).half()

    torch_bsr.ops = types.SimpleNamespace(
        sampled_addmm=sampled_addmm, bsr_softmax=bsr_softmax, bsr_dense_mm=bsr_dense_mm)
    torch_bsr.torch_bsr.backends = ("host",)
    chain = torch_bsr.torch_bsr
"""
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

    def test_chain_is_right_over_the_blocks(self):
        """With PyTorch on the host in the place of Triton's three kernels."""
        ran = sweep({"chain.py": CHAIN}, "chain.py:chain", "--seqlen", "128", "--heads-k", "1", "--mask",
                    "full,causal,window:40,blocked:64,sink:2+window:40", "--pass", "fwd,bwd")  # fmt: skip
        forward = [case["status"] for case in ran.cases if case["problem"]["pass"] == "fwd"]
        self.assertEqual((ran.status, forward), (0, ["ok"] * 5), ran)
        self.assertIn("no backward pass", ran.cases[-1]["reason"]["message"])

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
