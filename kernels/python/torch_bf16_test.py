#!/usr/bin/env python3
"""The checked cast of bfloat16, on the CPU."""

import unittest

from test_torch import inputs, max_error, random, torch, with_gradients

import spark_attention as sa


def bfloat16(*tensors):
    return [tensor.detach().bfloat16().requires_grad_(tensor.requires_grad) for tensor in tensors]


class Bf16Test(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v, self.d_out = bfloat16(*inputs(33, 40))
        sa.bf16_counts(reset=True)
        sa.explain(reset=True)

    def run_passes(self, tensors=None, d_out=None, **options):
        return with_gradients(
            lambda *t: sa.attention(*t, bf16="cast", deterministic=True, **options),
            tensors or (self.q, self.k, self.v), self.d_out if d_out is None else d_out,
        )  # fmt: skip

    def test_results_are_those_of_fp16_and_come_back(self):
        got = self.run_passes(causal=True)
        want = with_gradients(
            lambda *t: sa.attention(*t, causal=True, deterministic=True),
            [tensor.half() for tensor in (self.q, self.k, self.v)], self.d_out.half(),
        )  # fmt: skip
        for a, b in zip(got, want, strict=True):
            self.assertEqual(a.dtype, torch.bfloat16)
            self.assertTrue(torch.equal(a, b.bfloat16()))
        counts = sa.bf16_counts()
        self.assertEqual(counts.cast, 2 * (33 * 4 + 33 * 4 + 40 * 2 + 40 * 2) * 64)
        self.assertEqual(counts.overflowed, 0)
        self.assertIn("1 x cast bfloat16 to float16 and back", sa.explain())

    def test_what_fp16_cannot_hold_is_counted(self):
        with torch.no_grad():
            self.k[0, 0, 0, :3] = torch.tensor([1e5, -1e30, torch.inf])
            self.v[0, 0, 0, :2] = torch.tensor([1e-9, 0.0])
            before = sum((abs(t.float()) < 2**-25).sum() - (t == 0).sum()
                         for t in (self.q, self.k, self.v))  # fmt: skip
            sa.attention(self.q, self.k, self.v, bf16="cast")
        counts = sa.bf16_counts(reset=True)
        self.assertEqual((counts.overflowed, counts.underflowed), (2, before.item()))
        self.assertEqual(sa.bf16_counts(), (0, 0, 0))

    def test_lost_gradients_are_counted(self):
        sa.bf16_counts(reset=True)
        self.run_passes(d_out=self.d_out * 1e-12)
        self.assertGreater(sa.bf16_counts().underflowed, 0.99 * self.d_out.numel())
        sa.bf16_counts(reset=True)
        self.run_passes(d_out=(self.d_out * 0 + 1e6).bfloat16())
        self.assertEqual(sa.bf16_counts().overflowed, self.d_out.numel())

    def test_packed_sequences(self):
        begins = [torch.tensor([0, 20, length], dtype=torch.int32) for length in (33, 40)]
        q, k, v, d_out = (tensor[0] for tensor in (self.q, self.k, self.v, self.d_out))
        got = with_gradients(lambda *t: sa.attention_varlen(*t, *begins, bf16="cast"), (q, k, v), d_out)
        want = with_gradients(lambda *t: sa.attention_varlen(*t, *begins),
                              [tensor.half() for tensor in (q, k, v)], d_out)  # fmt: skip
        for a, b in zip(got, want, strict=True):
            self.assertLess(max_error(a, b), 2e-2)

    def test_views_are_cast_and_fp16_is_left_alone(self):
        qkv = random(1, 1, 20, 3, 2, 64).detach()
        out = sa.attention(*qkv.bfloat16().unbind(2), bf16="cast")
        self.assertTrue(torch.equal(out, sa.attention(*qkv.bfloat16().half().unbind(2)).bfloat16()))
        sa.bf16_counts(reset=True)
        self.assertEqual(sa.attention(*qkv.unbind(2), bf16="cast").dtype, torch.float16)
        self.assertEqual(sa.bf16_counts().cast, 0)

    def test_one_graph_under_compile_counts_too(self):
        compiled = torch.compile(lambda *t: sa.attention(*t, causal=True, bf16="cast"), fullgraph=True,
                                 backend="aot_eager")  # fmt: skip
        got = with_gradients(compiled, (self.q, self.k, self.v), self.d_out)
        counts = sa.bf16_counts(reset=True)
        want = self.run_passes(causal=True)
        self.assertEqual(counts, sa.bf16_counts())
        for a, b in zip(got, want, strict=True):
            self.assertLess(max_error(a, b), 2e-2)

    def test_operators_are_registered_as_pytorch_wants(self):
        for operator, x in (("half_of_bf16", self.q), ("bf16_of_half", self.q.detach().half())):
            torch.library.opcheck(getattr(torch.ops.spark, operator).default, (x,))

    def test_it_is_asked_for_by_name(self):
        with self.assertRaisesRegex(TypeError, r"q is bfloat16.*bf16='cast'"):
            sa.attention(self.q, self.k, self.v)
        with self.assertRaisesRegex(ValueError, "bf16 is 'drop'; allowed: refuse, cast"):
            sa.attention(self.q, self.k, self.v, bf16="drop")
        self.assertEqual(sa.supports(self.q, self.k, self.v, bf16="cast"), (True, ""))
        self.assertFalse(sa.supports(self.q, self.k, self.v)[0])


if __name__ == "__main__":
    unittest.main()
