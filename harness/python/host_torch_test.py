#!/usr/bin/env python3
"""`python -m sparkbench` with PyTorch functions on an emulated device, in the host's memory."""

import re
import unittest

import test_host

test_host.need("torch")
from test_host import sweep  # noqa: E402

KERNELS = """
    import torch
    import sparkbench

    def sdpa(q, k, v, *, causal, softmax_scale, enable_gqa):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, scale=softmax_scale, enable_gqa=enable_gqa).transpose(1, 2)

    @sparkbench.kernel(prepare=True, masks=sparkbench.MASKS)
    def dense(problem):
        hidden = ~problem.dense_mask(torch)

        def forward(q, k, v, *, softmax_scale):
            s = torch.einsum("bqhd,bkhd->bhqk", q.float(), k.float()) * softmax_scale
            s = s.masked_fill(hidden, float("-inf"))
            lse = s.logsumexp(-1)
            o = torch.einsum("bhqk,bkhd->bqhd", s.softmax(-1).nan_to_num(), v.float())
            return o.to(q.dtype), lse
        return forward

    @sparkbench.kernel(prepare=True)
    def compiled(problem):
        return torch.compile(lambda q, k, v: sdpa(
            q, k, v, causal=False, softmax_scale=0.125, enable_gqa=False).sin().asin(),
            backend="aot_eager")

    def detached(q, k, v):
        return sdpa(q, k, v, causal=False, softmax_scale=0.125, enable_gqa=False).detach()

    def doubled_gradient(q, k, v):
        out = sdpa(q, k, v, causal=False, softmax_scale=0.125, enable_gqa=False)
        return out + (v - v.detach())

    def no_gradient_of_k(q, k, v):
        return sdpa(q, k.detach(), v, causal=False, softmax_scale=0.125, enable_gqa=False)

    def too_large(q, k, v):
        return torch.empty(1 << 50, dtype=torch.float16)

    @sparkbench.kernel
    def varlen(q, k, v, *, cu_seqlens_q, cu_seqlens_k, softmax_scale):
        out = torch.empty_like(q)
        ends = zip(cu_seqlens_q, cu_seqlens_q[1:], cu_seqlens_k, cu_seqlens_k[1:])
        parts = [sdpa(*(x[None, a:b] for x, a, b in ((q, i, j), (k, m, n), (v, m, n))), causal=False,
                      softmax_scale=softmax_scale, enable_gqa=False)[0] for i, j, m, n in ends]
        return torch.cat(parts)

    def own_dropout(q, k, v, *, dropout_p):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, dropout_p=dropout_p).transpose(1, 2)
"""
FILES = {"kernels.py": KERNELS}


def statuses(ran):
    return [case["status"] for case in ran.cases]


class Readme(unittest.TestCase):
    def test_first_function_is_ok(self):
        page = test_host.FOLDER / "README.md"
        if not page.exists():
            self.skipTest("no README here")
        text = re.search(r"^```python\n(# mine\.py\n.*?)^```", page.read_text(), re.M | re.S).group(1)
        ran = sweep({"mine.py": text}, "mine.py:attention", "--seqlen", "33", "--causal", "both",
                    "--pass", "fwd,bwd")  # fmt: skip
        self.assertEqual((ran.status, statuses(ran)), (0, ["ok"] * 4), ran)


class Torch(unittest.TestCase):
    def test_sdpa_is_ok_forward_and_backward(self):
        ran = sweep(
            FILES, "kernels.py:sdpa", "--seqlen", "33,64", "--causal", "both", "--pass",
            "fwd,bwd,fwd+bwd", "--heads", "4", "--heads-k", "4,2",
        )  # fmt: skip
        self.assertEqual(ran.status, 0, ran)
        self.assertEqual(statuses(ran), ["ok"] * 24, ran)
        self.assertIn("torch", ran.cases[0]["libraries"]["sdpa"])

    def test_bf16_is_judged_beside_bf16(self):
        ran = sweep(
            FILES, "kernels.py:sdpa,kernels.py:dense", "--seqlen", "33,64", "--dtype", "fp16,bf16",
            "--pass", "fwd,bwd",
        )  # fmt: skip
        self.assertEqual((ran.status, set(statuses(ran))), (0, {"ok"}), ran)
        error = {}
        for case in ran.cases:
            if case["problem"]["pass"] == "fwd":
                error[case["problem"]["dtype"]] = case["accuracy"]["rel_l2"]
        self.assertGreater(error["bf16"], 4 * error["fp16"])

    def test_compiled_backward_pass_is_repeated(self):
        """Which PyTorch refuses if the first one gave its memory away."""
        ran = sweep(FILES, "kernels.py:compiled", "--seqlen", "33", "--pass", "bwd")
        self.assertEqual((ran.status, statuses(ran)), (0, ["ok"]), ran)

    def test_every_mask_is_prepared(self):
        ran = sweep(
            FILES, "kernels.py:dense", "--seqlen", "33", "--pass", "fwd,bwd", "--mask",
            "full,causal,window:5,band:2:3,prefix:4,sink:2+window:4",
        )  # fmt: skip
        self.assertEqual((ran.status, statuses(ran)), (0, ["ok"] * 12), ran)
        self.assertLess(ran.cases[0]["accuracy"]["lse_max_abs"], 1e-3)

    def test_sequences_of_several_lengths_are_packed(self):
        files = {**FILES, "lengths.txt": "5\n17\n9\n"}
        ran = sweep(files, "kernels.py:varlen", "--lengths", "file:lengths.txt", "--batch", "3",
                    "--pass", "fwd,bwd")  # fmt: skip
        self.assertEqual((ran.status, statuses(ran)), (0, ["ok"] * 2), ran)

    def test_dropout_is_verified_without(self):
        ran = sweep(FILES, "kernels.py:own_dropout", "--seqlen", "33", "--dropout", "0.1")
        self.assertEqual((ran.status, statuses(ran)), (0, ["ok"]), ran)
        self.assertIn("W-OWN-DROPOUT-MASK", [each["code"] for each in ran.cases[0]["warnings"]])

    def test_wrong_gradients_are_incorrect(self):
        ran = sweep(FILES, "kernels.py:doubled_gradient", "--seqlen", "33", "--pass", "fwd,bwd")
        self.assertEqual((ran.status, statuses(ran)), (1, ["ok", "incorrect"]), ran)

    def test_missing_gradients_are_skipped_with_the_reason(self):
        for name, why in (("detached", "has no gradient"), ("no_gradient_of_k", "gradient for k")):
            with self.subTest(name):
                ran = sweep(FILES, f"kernels.py:{name}", "--seqlen", "33", "--pass", "bwd")
                self.assertEqual(statuses(ran), ["skipped"], ran)
                self.assertIn(why, ran.cases[0]["reason"]["message"])

    def test_want_of_memory_fails_the_case(self):
        ran = sweep(FILES, "kernels.py:too_large", "--seqlen", "33")
        self.assertEqual((ran.status, statuses(ran)), (4, ["failed"]), ran)


if __name__ == "__main__":
    unittest.main()
