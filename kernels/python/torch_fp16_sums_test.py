#!/usr/bin/env python3
"""Sums in FP16 that overflow, and scores that vanish: computed again in FP32, counted and warned of."""

import unittest
import warnings

from test_torch import inputs, max_error, random, torch

import spark_attention as sa

OFFSETS = torch.tensor([0, 20, 74], dtype=torch.int32)


class Test(unittest.TestCase):
    def setUp(self):
        sa.fp16_counts(reset=True)
        self.q, self.k, self.v = (t.detach() for t in inputs(37, 37)[:3])
        self.low_q, self.low_k = 0.1 * self.q, 0.1 * self.k
        self.low_q[..., 0], self.low_k[..., 0] = 100, -6000  # scores of -75000

    def passes(self, accumulator, function=sa.attention, **others):
        """Output and gradients."""
        tensors = [t.clone().requires_grad_() for t in (self.low_q, self.low_k, self.v)]
        out = function(*tensors, accumulator=accumulator, deterministic=True, **others)
        return [out.detach(), *torch.autograd.grad(out.float().square().sum(), tensors)]

    def packed(self, q, k, v, **others):
        return sa.attention_varlen(*(t.flatten(0, 1) for t in (q, k, v)), OFFSETS, OFFSETS, **others)

    def check_low(self, *arguments, **others):
        with self.assertWarnsRegex(UserWarning, "sums in FP16: .*all scores of 296 rows vanished"):
            got = self.passes("fp16", *arguments, **others)
        for a, b in zip(got, self.passes("fp32", *arguments, **others)):
            self.assertTrue(torch.equal(a, b))
        counts = sa.fp16_counts(reset=True)
        self.assertEqual(counts, (296, 0, 296, 1))

    def test_scores_that_vanish(self):
        for mask in ("full", "causal", "window:7+causal-strided:5"):
            self.check_low(mask=mask)

    def test_scores_that_vanish_in_packed_sequences(self):
        self.check_low(self.packed)

    def test_scores_that_vanish_through_the_operators(self):
        options = 0.0, "applied", 0.0, "full", "fp16", True
        out = torch.ops.spark.forward(self.low_q, self.low_k, self.v, None, *options)[0]
        self.assertTrue(torch.equal(out, sa.attention(self.low_q, self.low_k, self.v)))

    def test_values_and_scores_that_overflow(self):
        zero, large = torch.zeros(1, 8, 1, 64).half(), torch.full((1, 256, 1, 64), 30000.0).half()
        out = sa.attention(zero, torch.zeros_like(large), large, accumulator="fp16")
        self.assertLess(max_error(out, torch.full_like(out, 30000)), 16)
        self.assertEqual(sa.fp16_counts(reset=True).overflowed, 8)
        q, v = torch.full((1, 8, 1, 128), 24.0).half(), random(3, 1, 8, 1, 128).detach()
        out = sa.attention(q, q, v, accumulator="fp16")
        self.assertLess(max_error(out, v.mean(1, keepdim=True).expand_as(v)), 1e-2)
        self.assertEqual(sa.fp16_counts(reset=True).overflowed, 8)

    def test_sums_over_many_keys_overflow(self):
        for keys, overflowed in ((128, 0), (512, 8)):  # sums of 38400 and 153600
            q, k = torch.zeros(1, 8, 1, 64).half(), torch.zeros(1, keys, 1, 64).half()
            out = sa.attention(q, k, torch.full_like(k, 300), accumulator="fp16")
            self.assertLess(max_error(out, torch.full_like(out, 300)), 1)
            self.assertEqual(sa.fp16_counts(reset=True).overflowed, overflowed)

    def test_the_error_grows_with_the_keys(self):
        def error(keys):
            q, k, v = (random(i, 1, rows, 2, 64).detach() for i, rows in enumerate((16, keys, keys)))
            exact = sa.attention(q, k, v).float()
            return (sa.attention(q, k, v, accumulator="fp16") - exact).norm() / exact.norm()

        self.assertGreater(error(2048), 1.5 * error(128))

    def test_rows_without_keys_are_no_loss(self):
        q, k, v = self.q, self.k[:, :20], self.v[:, :20]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for mask in ("causal", "window:5", "band:3:2", "prefix:0", "prefix:3", "full",
                         "window:7+causal-strided:5"):  # fmt: skip
                sa.attention(q, k, v, mask=mask, accumulator="fp16")
            lengths = torch.tensor([[0, 0, 10, 37, 37], [0, 5, 5, 20, 37]], dtype=torch.int32).unbind(0)
            for mask in ("causal", "window:5", "band:3:2", "full"):
                packed = q[0], self.k[0], self.v[0]
                sa.attention_varlen(*packed, *lengths, mask=mask, accumulator="fp16")
        self.assertEqual(sa.fp16_counts()[1:], (0, 0, 0))

    def test_a_value_that_is_not_finite_is_the_callers(self):
        v = self.v.clone()
        v[0, 0, 0, 0] = torch.nan
        sa.attention(self.q, self.k, v, accumulator="fp16")
        self.assertEqual(sa.fp16_counts()[1:], (0, 0, 0))

    def test_sums_in_fp32_are_not_counted(self):
        sa.attention(self.low_q, self.low_k, self.v)
        self.assertEqual(sa.fp16_counts().rows, 0)


if __name__ == "__main__":
    unittest.main()
