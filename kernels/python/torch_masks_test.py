#!/usr/bin/env python3
"""Patterns as masks of CPU tensors, that is on the emulated V100: registration, values, gradients,
compiled code, what is kept, and what is refused."""

import gc
import unittest
import unittest.mock
import weakref

from test_torch import definition, inputs, keep_of, max_error, random, torch, with_gradients

import spark_attention as sa
from spark_attention import _direct, _masks, _ops

UNION = "window:7+causal-strided:5"


class RegistrationTest(unittest.TestCase):
    def test_opcheck_of_both_passes(self):
        *tensors, d_out = inputs(20, 30, batch=1)
        for mask, seed in ((UNION, None), ("strided:3/causal", torch.tensor(3))):
            options = 0.0 if seed is None else 0.3, "applied", 0.0, mask, "fp32", True
            torch.library.opcheck(torch.ops.spark.forward.default, (*tensors, seed, *options))
            out, lse = torch.ops.spark.forward(*tensors, seed, *options)
            saved = [tensor.detach() for tensor in (d_out, *tensors, out, lse)]
            torch.library.opcheck(torch.ops.spark.backward.default, (*saved, seed, *options))


class ValuesTest(unittest.TestCase):
    """FlashAttention's rule: at most twice the error of PyTorch's fp16 computation, three times that
    of its gradients, both against fp64."""

    def check(self, tensors, d_out, dropout_p=0.0, seed=0, mask=UNION, **options):
        keep = keep_of(*tensors[:2], dropout_p, seed, mask)
        exact = with_gradients(lambda *t: definition(*(x.double() for x in t), mask, keep=keep),
                               tensors, d_out)  # fmt: skip
        unfused = with_gradients(lambda *t: definition(*t, mask, keep=keep), tensors, d_out)
        with unittest.mock.patch.object(_ops, "draw_number", lambda like: seed):
            fused = with_gradients(
                lambda *t: sa.attention(*t, mask=mask, dropout_p=dropout_p, **options),
                tensors, d_out,
            )  # fmt: skip
        for i, (got, other, want) in enumerate(zip(fused, unfused, exact)):
            ratio = 3 if i else 2
            self.assertLess(max_error(got, want), ratio * max_error(other, want) + 1e-4, i)

    def test_of_shared_heads(self):
        *tensors, d_out = inputs()
        for deterministic in (False, True):
            self.check(tensors, d_out, deterministic=deterministic)

    def test_of_strides_that_are_run_as_passes(self):
        *tensors, d_out = inputs(390, 390, batch=1)
        self.check(tensors, d_out, mask="window:7+causal-strided:6")

    def test_of_neighbourhoods_in_the_order_of_their_grid(self):
        """On a grid whose last tiles share tokens with others."""
        *tensors, d_out = inputs(390, 390, batch=1)
        for dropout_p in (0.0, 0.25):
            self.check(tensors, d_out, dropout_p, seed=77, mask="nd:15x26:9x9")

    def test_of_dropout_in_passes(self):
        *tensors, d_out = inputs(390, 390)
        for mask in ("window:7+causal-strided:6", "causal-strided:3"):
            self.check(tensors, d_out, 0.25, seed=77, mask=mask)

    def test_of_dropout(self):
        *tensors, d_out = inputs(head_dim=128, batch=1)
        self.check(tensors, d_out, 0.25, seed=77)

    def test_of_one_run_has_the_bits_of_its_name(self):
        *tensors, d_out = inputs()
        of = [with_gradients(lambda *t, m=mask: sa.attention(*t, mask=m, accumulator="fp16",
                                                             deterministic=True), tensors, d_out)
              for mask in ("window:9", "causal-band:8:0", "window:9+window:3")]  # fmt: skip
        for named, of_band, of_union in zip(*of):
            self.assertTrue(torch.equal(named, of_band))
            self.assertTrue(torch.equal(named, of_union))

    def test_without_rows_or_keys_is_what_other_masks_give(self):
        for shape_q, shape_k in (((1, 0, 2, 64), (1, 5, 2, 64)), ((1, 5, 2, 64), (1, 0, 2, 64))):
            q, k = (torch.zeros(shape, dtype=torch.float16) for shape in (shape_q, shape_k))
            self.assertTrue(torch.equal(sa.attention(q, k, k, mask="strided:8"),
                                        sa.attention(q, k, k, mask="causal")))  # fmt: skip

    def test_through_the_operators_has_the_same_bits(self):
        q, k, v, _ = inputs()
        with unittest.mock.patch.object(_direct, "is_open", lambda *_: False):
            by_dispatcher = sa.attention(q, k, v, mask=UNION)
        self.assertTrue(torch.equal(sa.attention(q, k, v, mask=UNION), by_dispatcher))


class CompileTest(unittest.TestCase):
    def test_a_module_is_one_graph_with_the_same_bits(self):
        torch.manual_seed(1)
        linear, x = torch.nn.Linear(128, 3 * 128).half(), random(2, 2, 33, 128).detach()

        def block(x):
            q, k, v = linear(x).view(*x.shape[:2], 3, 2, 64).unbind(2)
            return x + sa.attention(q, k, v, mask=UNION, deterministic=True).flatten(2)

        def run(function):
            linear.zero_grad()
            out = function(x)
            out.float().square().sum().backward()
            return out, linear.weight.grad.clone()

        compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
        for got, want in zip(run(compiled), run(block)):
            self.assertTrue(torch.equal(got, want))


class KeptTest(unittest.TestCase):
    def setUp(self):
        _masks._prepared.clear()
        _direct._plans.clear()

    def test_a_pattern_is_prepared_once_for_its_lengths(self):
        q, k, v, _ = inputs(batch=1)
        for head_dim in (64, 32):
            sliced = [tensor[..., :head_dim] for tensor in (q, k, v)]
            sa.attention(*sliced, mask=UNION).sum().backward()
        self.assertEqual(list(_masks._prepared), [(UNION, 37, 50)])
        sa.attention(q[:, 1:], k, v, mask=UNION)
        self.assertEqual(len(_masks._prepared), 2)

    def test_what_is_dropped_lives_until_its_backward_pass(self):
        q, k, v, _ = inputs(batch=1)
        out = sa.attention(q, k, v, mask=UNION)
        mask = weakref.ref(_masks._prepared[(UNION, 37, 50)])
        self.setUp()
        gc.collect()
        self.assertIsNotNone(mask())
        out.sum().backward()
        want = torch.autograd.grad(sa.attention(q, k, v, mask=UNION).sum(), q)[0]
        self.assertLess(max_error(q.grad, want), 1e-2)  # sums in another order
        del out
        self.setUp()
        gc.collect()
        self.assertIsNone(mask())

    def test_plans_keep_no_more_masks_than_are_kept(self):
        q, k, v, _ = inputs(8, 8, batch=1)
        with unittest.mock.patch.object(_masks, "MOST", 2):
            for stride in range(2, 8):
                sa.attention(q.detach(), k.detach(), v.detach(), mask=f"strided:{stride}")
        self.assertLessEqual(sum(bool(plan.problem.prepared) for plan in _direct._plans.values()), 2)

    def test_explain_tells_the_pattern(self):
        q, k, v, _ = inputs(batch=1)
        sa.explain(reset=True)
        sa.attention(q, k, v, mask=UNION)
        sa.attention(q, k, v, mask="window:7")
        self.assertIn(f"1 x ran forward, head_dim 64, accumulator fp32, pattern {UNION}, on the "
                      "emulated V100", sa.explain())  # fmt: skip
        self.assertIn("accumulator fp32, on the emulated V100", sa.explain())


class RefusalTest(unittest.TestCase):
    def setUp(self):
        self.tensors = inputs(batch=1)[:3]

    def test_supports_tells_why_not(self):
        self.assertEqual(sa.supports(*self.tensors, mask=UNION), (True, ""))
        for others, why in (
            ({"mask": "window:2+strded:2"}, "mask, from character 10 on: 'strded:2' of"),
            ({"mask": "nd:3x3:1x1"}, "of 37 rows and 50 keys: the axes 3x3 have 9 positions"),
            ({"mask": UNION, "accumulator": "bf16"}, "accumulator is 'bf16'"),
            ({"mask": UNION, "causal": True}, "causal is True, and mask is 'window:7"),
        ):
            runs, reason = sa.supports(*self.tensors, **others)
            self.assertFalse(runs)
            self.assertIn(why, reason)

    def test_a_call_is_refused_as_supports_tells(self):
        with self.assertRaisesRegex(ValueError, "from character 10 on: 'strded:2'"):
            sa.attention(*self.tensors, mask="window:2+strded:2")
        self.assertEqual(sa.supports(*self.tensors, mask=UNION, accumulator="fp16"), (True, ""))
        wide = [torch.zeros(1, 4, 1, 264, dtype=torch.float16)] * 3
        with self.assertRaisesRegex(sa.UnsupportedError, "head_dim 264"):
            sa.attention(*wide, mask=UNION)

    def test_sequences_of_any_lengths_have_none(self):
        q, k, v = (tensor[0] for tensor in self.tensors)
        lengths = [torch.tensor([0, n], dtype=torch.int32) for n in (37, 50)]
        why = "is a pattern over one length, which sequences of any lengths do not have"
        self.assertIn(why, sa.supports(q, k, v, mask=UNION, cu_seqlens_q=lengths[0],
                                       cu_seqlens_k=lengths[1])[1])  # fmt: skip
        with self.assertRaisesRegex(sa.UnsupportedError, why):
            sa.attention_varlen(q, k, v, *lengths, mask=UNION)


if __name__ == "__main__":
    unittest.main()
