#!/usr/bin/env python3
"""Learned sinks on CPU tensors, that is on the emulated V100: against the definition in fp64, which
finite differences test, for batches and varlen, eager and compiled."""

import itertools
import math
import unittest
import unittest.mock

from test_torch import inputs, keep_of, max_error, random, torch, visible, with_gradients

import spark_attention as sa
from spark_attention import _direct, _ops

UNION = "window:7+causal-strided:5"
LENGTHS = ((20, 37), (0, 5), (4, 0), (33, 12))  # of rows, of keys


def sinks_of(heads=4, dtype=torch.float32):
    return (0.5 + random(9, heads, dtype=torch.float32)).detach().to(dtype).requires_grad_()


def definition(q, k, v, sinks, mask="full", scale=None, keep=1.0):
    """(out, lse) in the type of its inputs, with a column more in the softmax that is then left out."""
    group = q.shape[2] // k.shape[2]
    k, v = (tensor.repeat_interleave(group, dim=2) for tensor in (k, v))
    q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
    scores = q @ k.transpose(2, 3) * (scale or 1 / math.sqrt(q.shape[3]))
    scores = scores.masked_fill(~visible(mask, q.shape[2], k.shape[2]), -math.inf)
    column = sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:3], 1)
    scores = torch.cat([scores, column], -1)
    p = torch.softmax(scores, -1)[..., :-1]
    keep = keep.to(p.dtype) if isinstance(keep, torch.Tensor) else keep
    return ((p * keep) @ v).transpose(1, 2), torch.logsumexp(scores, -1)


def each_alone(q, k, v, sinks, offsets, mask, keep=None):
    """The definition of each sequence, one behind the other again."""
    bounds = zip(*(zip(of.tolist(), of[1:].tolist()) for of in offsets))
    parts = []
    for i, ((a, b), (c, d)) in enumerate(bounds):
        own = 1.0 if keep is None else keep[i : i + 1, :, : b - a, : d - c]
        parts.append(definition(q[None, a:b], k[None, c:d], v[None, c:d], sinks, mask, keep=own)[0][0])
    return torch.cat(parts)


def ragged():
    """q, k, v, d_out, and both offsets."""
    rows, keys = (sum(side) for side in zip(*LENGTHS))
    tensors = random(1, rows, 4, 64), random(2, keys, 2, 64), random(3, keys, 2, 64)
    offsets = [torch.tensor([0, *itertools.accumulate(side)], dtype=torch.int32)
               for side in zip(*LENGTHS)]  # fmt: skip
    return (*tensors, random(4, rows, 4, 64).detach(), *offsets)


class DefinitionTest(unittest.TestCase):
    def test_its_gradient_is_what_differences_give(self):
        given = *inputs(5, 7, heads=2, heads_k=1, head_dim=8)[:3], sinks_of(2)
        tensors = [tensor.detach().double().requires_grad_() for tensor in given]
        self.assertTrue(torch.autograd.gradcheck(lambda *t: definition(*t, "causal")[0], tensors))

    def test_of_two_keys_is_as_by_hand(self):
        q = torch.zeros(1, 1, 1, 8, dtype=torch.float64)
        k, v = torch.zeros(1, 2, 1, 8, dtype=torch.float64), torch.ones(1, 2, 1, 8, dtype=torch.float64)
        sinks = torch.tensor([math.log(2.0)], dtype=torch.float64)  # weighs as much as both keys
        out, lse = definition(q, k, v, sinks)
        self.assertTrue(torch.allclose(out, torch.full_like(out, 0.5)))
        self.assertAlmostEqual(lse.item(), math.log(4.0))


class ErrorTest(unittest.TestCase):
    """FlashAttention's rule: at most twice the error of PyTorch's fp16 computation, three times that
    of its gradients, both against fp64."""

    def compare(self, fused, exact, tensors, d_out, what):
        """Of functions of q, k, v and sinks."""
        want = with_gradients(lambda *t: exact(*(x.double() for x in t)), tensors, d_out)
        unfused = with_gradients(exact, tensors, d_out)
        got = with_gradients(fused, tensors, d_out)
        for i, (one, other, exactly) in enumerate(zip(got, unfused, want, strict=True)):
            ratio = 3 if i else 2
            error = max_error(one, exactly)
            self.assertLess(error, ratio * max_error(other, exactly) + 1e-4, (what, i))
        self.assertGreater(want[4].abs().max(), 1e-1)  # else the last of them says nothing


class ValuesTest(ErrorTest):
    def check(self, tensors, d_out, mask, dropout_p=0.0, seed=0, dtype=torch.float32, **options):
        keep = keep_of(*tensors[:2], dropout_p, seed)
        with unittest.mock.patch.object(_ops, "draw_number", lambda like: seed):
            self.compare(
                lambda *t: sa.attention(*t[:3], sinks=t[3], mask=mask, dropout_p=dropout_p, **options),
                lambda *t: definition(*t, mask, options.get("scale"), keep)[0],
                (*tensors, sinks_of(tensors[0].shape[2], dtype)), d_out, (mask, dropout_p, options),
            )  # fmt: skip

    def test_masks_and_shared_heads(self):
        *tensors, d_out = inputs(heads=16, batch=1)  # the largest error of few sinks is a matter of luck
        for mask in ("full", "causal", "window:9", "band:4:3", "prefix:20", UNION):
            self.check(tensors, d_out, mask, deterministic=True)

    def test_rows_without_keys(self):
        *tensors, d_out = inputs(50, 37, heads=16, batch=1)
        for mask in ("causal", "window:9"):
            self.check(tensors, d_out, mask)

    def test_dropout_scale_and_a_wide_head(self):
        *tensors, d_out = inputs(33, 65, heads=3, heads_k=1, head_dim=128, batch=1)
        self.check(tensors, d_out, "causal", 0.25, seed=77, scale=0.2)

    def test_sinks_in_other_types(self):
        *tensors, d_out = inputs(20, 20)
        for dtype in (torch.float16, torch.bfloat16):
            sinks = sinks_of(dtype=dtype)
            want = with_gradients(lambda *t: sa.attention(*t[:3], sinks=t[3], deterministic=True),
                                  (*tensors, sinks.float()), d_out)  # fmt: skip
            got = with_gradients(lambda *t: sa.attention(*t[:3], sinks=t[3], deterministic=True),
                                 (*tensors, sinks), d_out)  # fmt: skip
            self.assertEqual(got[4].dtype, dtype)
            want[4] = want[4].to(dtype)
            self.assert_same(got, want)

    def test_lse_has_the_sinks(self):
        q, k, v, _ = inputs(50, 37)  # of which the first 13 rows see no key
        out, lse = sa.attention(q, k, v, causal=True, sinks=sinks_of(), return_lse=True)
        _, want = definition(q.double(), k.double(), v.double(), sinks_of(), "causal")
        self.assertLess(max_error(lse, want), 1e-4)
        self.assertTrue((out[:, :13] == 0).all())
        self.assertTrue(torch.equal(lse[:, :, :13], sinks_of()[:, None].expand(2, 4, 13)))

    def test_only_sinks_want_a_gradient(self):
        q, k, v, d_out = (tensor.detach() for tensor in inputs())
        sinks = sinks_of()
        (gradient,) = torch.autograd.grad(sa.attention(q, k, v, sinks=sinks), sinks, d_out)
        want = with_gradients(lambda s: definition(q.double(), k.double(), v.double(), s)[0],
                              [sinks], d_out)[1]  # fmt: skip
        self.assertLess(max_error(gradient, want), 1e-3 * want.abs().max())

    def assert_same(self, got, want):
        for one, other in zip(got, want, strict=True):
            self.assertTrue(torch.equal(one, other))

    def test_a_sink_of_nothing_has_the_bits_of_none(self):
        nothing = torch.full((4,), -math.inf, requires_grad=True)
        for rows, keys in ((37, 50), (50, 37)):
            *tensors, d_out = inputs(rows, keys)
            options = {"causal": True, "deterministic": True}
            want = with_gradients(lambda *t: sa.attention(*t, **options), tensors, d_out)
            got = with_gradients(lambda *t: sa.attention(*t[:3], sinks=t[3], **options),
                                 (*tensors, nothing), d_out)  # fmt: skip
            self.assertTrue(torch.equal(got.pop(), torch.zeros(4)))
            self.assert_same(got, want)
            lse = [sa.attention(*tensors, causal=True, sinks=sinks, return_lse=True)[1]
                   for sinks in (None, nothing)]  # fmt: skip
            self.assertTrue(torch.equal(*lse))

    def test_without_keys_the_sink_is_all(self):
        q, k, v, _ = inputs()
        out, lse = sa.attention(q, k[:, :0], v[:, :0], sinks=sinks_of(), return_lse=True)
        self.assertTrue((out == 0).all())
        self.assertTrue(torch.equal(lse, sinks_of()[:, None].expand_as(lse)))

    def test_bits_are_the_operators(self):
        *tensors, d_out = inputs()

        def run():
            torch.manual_seed(3)
            return with_gradients(
                lambda *t: sa.attention(*t[:3], sinks=t[3], dropout_p=0.2, deterministic=True),
                (*tensors, sinks_of()), d_out,
            )  # fmt: skip

        want = run()
        with unittest.mock.patch.object(_direct, "is_open", lambda *_: False):
            self.assert_same(run(), want)

    def test_casts_leave_them(self):
        q, k, v, _ = inputs(20, 20)
        want = sa.attention(q, k, v, sinks=sinks_of())
        with torch.autocast("cpu", dtype=torch.float16):
            out = sa.attention(q.float(), k.float(), v.float(), sinks=sinks_of())
        self.assertTrue(torch.equal(out, want))
        cast = [tensor.bfloat16() for tensor in (q, k, v)]
        out = sa.attention(*cast, sinks=sinks_of(), bf16="cast")
        want = sa.attention(*(tensor.half() for tensor in cast), sinks=sinks_of()).bfloat16()
        self.assertTrue(torch.equal(out, want))


class VarlenTest(ErrorTest):
    def test_each_sequence_has_them(self):
        q, k, v, d_out, *offsets = ragged()
        for mask in ("full", "causal", "window:9"):
            self.compare(
                lambda *t: sa.attention_varlen(*t[:3], *offsets, sinks=t[3], mask=mask),
                lambda *t: each_alone(*t, offsets, mask), (q, k, v, sinks_of()), d_out, mask,
            )  # fmt: skip

    def test_with_dropout(self):
        q, k, v, d_out, *offsets = ragged()
        like = torch.empty(len(LENGTHS), 64, 4, 64), torch.empty(len(LENGTHS), 64, 2, 64)
        keep = keep_of(*like, 0.25, 77)
        with unittest.mock.patch.object(_ops, "draw_seed", lambda like: torch.tensor(77)):
            self.compare(
                lambda *t: sa.attention_varlen(*t[:3], *offsets, sinks=t[3], causal=True,
                                               dropout_p=0.25),
                lambda *t: each_alone(*t, offsets, "causal", keep), (q, k, v, sinks_of()), d_out,
                "dropout",
            )  # fmt: skip

    def test_lse_has_them_too(self):
        q, k, v, _, *offsets = ragged()
        _, lse = sa.attention_varlen(q, k, v, *offsets, sinks=sinks_of(), return_lse=True)
        _, first = sa.attention(q[None, :20], k[None, :37], v[None, :37], sinks=sinks_of(),
                                return_lse=True)  # fmt: skip
        self.assertTrue(torch.equal(lse[:, :20], first[0]))
        self.assertTrue(torch.equal(lse[:, 20:24], sinks_of()[:, None].expand(4, 4)))


class RegistrationTest(unittest.TestCase):
    def test_opcheck_of_the_operators(self):
        *tensors, d_out = inputs(20, 30, batch=1)
        options = 0.3, "applied", 0.0, "causal", "fp32", True
        given = (*tensors, torch.tensor(3), *options, sinks_of())
        torch.library.opcheck(torch.ops.spark.forward.default, given)
        out, lse = torch.ops.spark.forward(*given)
        saved = [tensor.detach() for tensor in (d_out, out, lse, sinks_of())]
        torch.library.opcheck(torch.ops.spark.sink_gradient.default, saved)

    def test_opcheck_of_packed_sequences(self):
        q, k, v, d_out, *offsets = ragged()
        options = None, 0.0, "applied", 0.0, "causal", "fp32", True
        given = (q, k, v, *offsets, *options, sinks_of())
        torch.library.opcheck(torch.ops.spark.varlen_forward.default, given)
        out, lse = torch.ops.spark.varlen_forward(*given)
        saved = [tensor.detach() for tensor in (d_out, out, lse, sinks_of())]
        torch.library.opcheck(torch.ops.spark.sink_gradient.default, saved)

    def test_compiled_code_is_one_graph_with_the_same_bits(self):
        *tensors, d_out = inputs(33, 40)
        q, k, v, of_packed, *offsets = ragged()
        for function, given, direction in (
            (lambda *t: sa.attention(*t[:3], sinks=t[3], mask=UNION, deterministic=True),
             tensors, d_out),
            (lambda *t: sa.attention_varlen(*t[:3], *offsets, sinks=t[3], deterministic=True),
             (q, k, v), of_packed),
        ):  # fmt: skip
            compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
            given = (*given, sinks_of())
            of = [with_gradients(each, given, direction) for each in (function, compiled)]
            for got, want in zip(*of, strict=True):
                self.assertTrue(torch.equal(got, want))

    def test_second_derivatives_are_refused(self):
        q, k, v, _ = inputs(8, 8)
        sinks = sinks_of()
        (gradient,) = torch.autograd.grad(sa.attention(q, k, v, sinks=sinks).sum(), sinks,
                                          create_graph=True)  # fmt: skip
        with self.assertRaisesRegex(sa.UnsupportedError, "no derivative of its own"):
            gradient.sum().backward()


class RefusalTest(unittest.TestCase):
    def test_bad_sinks_are_refused_by_name(self):
        q, k, v, _ = inputs(8, 8)
        packed = [tensor[0] for tensor in (q, k, v)]
        offsets = [torch.tensor([0, 8], dtype=torch.int32)] * 2
        lengths = dict(zip(("cu_seqlens_q", "cu_seqlens_k"), offsets))
        for error, text, sinks in (
            (ValueError, r"sinks has shape \(2,\); allowed: \(4,\), one of each head of q",
             torch.zeros(2)),
            (ValueError, r"sinks has shape \(4, 1\)", torch.zeros(4, 1)),
            (TypeError, "sinks is float64; allowed: float32, float16, bfloat16",
             torch.zeros(4, dtype=torch.float64)),
            (TypeError, "sinks is int64", torch.zeros(4, dtype=torch.int64)),
            (TypeError, "sinks is a list; allowed: a tensor", [0.0] * 4),
            (ValueError, "sinks is on meta, and q on cpu", torch.zeros(4, device="meta")),
        ):  # fmt: skip
            with self.assertRaisesRegex(error, text):
                sa.attention(q, k, v, sinks=sinks)
            with self.assertRaisesRegex(error, text):
                sa.attention_varlen(*packed, *offsets, sinks=sinks)
            for runs, why in (sa.supports(q, k, v, sinks=sinks),
                              sa.supports(*packed, sinks=sinks, **lengths)):  # fmt: skip
                self.assertFalse(runs)
                self.assertRegex(why, text)
        self.assertEqual(sa.supports(q, k, v, sinks=sinks_of()), (True, ""))


if __name__ == "__main__":
    unittest.main()
