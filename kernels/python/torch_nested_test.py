#!/usr/bin/env python3
"""SDPA of nested tensors of the jagged layout on CPU tensors, beside each sequence alone."""

import sys
import unittest
import warnings

from test_torch import max_error, random, torch

if not hasattr(torch.nested, "nested_tensor_from_jagged"):
    print("skipped: this PyTorch has no jagged layout")
    sys.exit(77)

import spark_attention as sa

LENGTHS = (9, 1, 40)
OVER = "operator" if hasattr(torch.library, "get_kernel") else "name"


def offsets():
    return torch.tensor([0, *LENGTHS]).cumsum(0)


def nested(values, begins):
    """[sequences, heads, any lengths, head_dim] of [total, heads, head_dim]."""
    return torch.nested.nested_tensor_from_jagged(values, begins).transpose(1, 2)


def values_of(out):
    return out.transpose(1, 2).values()


def sdpa(*tensors, **options):
    return torch.nn.functional.scaled_dot_product_attention(*tensors, **options)


class NestedTest(unittest.TestCase):
    def setUp(self):
        contexts = warnings.catch_warnings()
        contexts.__enter__()
        self.addCleanup(contexts.__exit__, None, None, None)
        warnings.simplefilter("ignore")  # that nested tensors are a prototype
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        self.begins = offsets()
        total = sum(LENGTHS)
        self.q, self.d_out = random(1, total, 4, 64), random(4, total, 4, 64).detach()
        self.k, self.v = random(2, total, 4, 64), random(3, total, 4, 64)
        sa.explain(reset=True)

    def gradients(self, out, tensors):
        return [out, *torch.autograd.grad(out, tensors, self.d_out)]

    def check(self, k, v, **options):
        tensors = self.q, k, v
        with sa.sdpa(over=OVER):
            torch.manual_seed(3)
            out = sdpa(*(nested(tensor, self.begins) for tensor in tensors), **options)
            got = self.gradients(values_of(out), tensors)
        self.assertEqual(out.shape, nested(self.q, self.begins).shape)  # of the same lengths, known so
        torch.manual_seed(3)
        begins = self.begins.int()
        want = sa.attention_varlen(*tensors, begins, begins, causal=options.get("is_causal", False),
                                   dropout_p=options.get("dropout_p", 0.0), scale=options.get("scale"),
                                   dropout_scale="asked")  # fmt: skip
        for one, other in zip(got, self.gradients(want, tensors), strict=True):
            self.assertTrue(torch.equal(one, other), options)
        self.assertNotIn("left to PyTorch", sa.explain())

    def test_causal_and_all_keys(self):
        for is_causal in (True, False):
            self.check(self.k, self.v, is_causal=is_causal)

    def test_dropout_and_scale(self):
        self.check(self.k, self.v, is_causal=True, dropout_p=0.3, scale=0.2)

    def test_shared_key_heads(self):
        k, v = self.k[:, :2], self.v[:, :2]
        self.check(k, v, is_causal=True, enable_gqa=True)

    def test_each_sequence_begins_at_its_first_key(self):
        with sa.sdpa(over=OVER):
            out = sdpa(*(nested(t, self.begins) for t in (self.q, self.k, self.v)), is_causal=True)
        for begin, end, got in zip(self.begins, self.begins[1:], values_of(out).split(LENGTHS)):
            q, k, v = (t[begin:end].double().transpose(0, 1) for t in (self.q, self.k, self.v))
            want = torch._C._nn.scaled_dot_product_attention(q, k, v, is_causal=True)
            self.assertLess(max_error(got, want.transpose(0, 1)), 4e-3)

    def test_autocast_serves_fp32(self):
        tensors = [tensor.detach() for tensor in (self.q, self.k, self.v)]
        with sa.sdpa(over=OVER):
            want = sdpa(*(nested(t, self.begins) for t in tensors), is_causal=True)
            with torch.autocast("cpu", dtype=torch.float16):
                got = sdpa(*(nested(t.float(), self.begins) for t in tensors), is_causal=True)
        self.assertTrue(torch.equal(values_of(got), values_of(want)))

    def test_what_is_not_served_is_pytorchs_and_told(self):
        q, k, v = (tensor.detach() for tensor in (self.q, self.k, self.v))
        single = [nested(tensor.float(), self.begins) for tensor in (q, k, v)]
        other = [nested(q, self.begins), nested(k, offsets()), nested(v, offsets())]
        narrow = [nested(tensor[..., :36], self.begins) for tensor in (q, k, v)]
        for why, tensors in (
            ("dtype float32", single),
            ("head_dim 36, 36", narrow),
            ("nested tensors of other offsets each", other),
        ):
            try:
                want = values_of(sdpa(*tensors))
            except RuntimeError as error:  # PyTorch's refusal, too
                want = str(error)
            sa.explain(reset=True)
            with sa.sdpa(over=OVER):
                if isinstance(want, str):
                    with self.assertRaises(RuntimeError) as refused:
                        sdpa(*tensors)
                    self.assertEqual(str(refused.exception)[:40], want[:40])
                else:
                    self.assertTrue(torch.equal(values_of(sdpa(*tensors)), want))
            self.assertIn(f"1 x left to PyTorch: {why}", sa.explain())
        strided = torch.nested.nested_tensor([q[:9].transpose(0, 1), q[9:].transpose(0, 1)])
        want = sdpa(strided, strided, strided)
        with sa.sdpa(over=OVER):
            got = sdpa(strided, strided, strided)
        for one, other in zip(got.unbind(), want.unbind(), strict=True):
            self.assertTrue(torch.equal(one, other))


if __name__ == "__main__":
    unittest.main()
