#!/usr/bin/env python3
"""The operators on CPU tensors, that is the emulated V100: registration, values, gradients, seeds."""

import concurrent.futures
import unittest
import unittest.mock

from test_torch import definition, inputs, keep_of, max_error, random, torch, with_gradients

import spark_attention as sa
from spark_attention import _ops


def options(mask="full", dropout_p=0.0, scale=0.0, accumulator="fp32", deterministic=True):
    return dropout_p, "applied", scale, mask, accumulator, deterministic


class RegistrationTest(unittest.TestCase):
    """PyTorch's own check: schema, autograd, fakes with their strides, dynamic shapes."""

    def check(self, tensors, seed, *given):
        q, k, v, d_out = tensors
        torch.library.opcheck(torch.ops.spark.forward.default, (q, k, v, seed, *given))
        out, lse = torch.ops.spark.forward(q, k, v, seed, *given)
        saved = [tensor.detach() for tensor in (d_out, q, k, v, out, lse)]
        torch.library.opcheck(torch.ops.spark.backward.default, (*saved, seed, *given))

    def test_odd_lengths_and_shared_heads(self):
        self.check(inputs(), None, *options("causal"))

    def test_dropout_window_and_fp16_accumulators(self):
        self.check(inputs(5, 5, head_dim=128), torch.tensor(3),
                   *options("window:3", 0.3, 0.2, "fp16"))  # fmt: skip

    def test_strided_views(self):
        qkv = random(1, 2, 19, 3, 2, 64)
        heads_first = random(2, 2, 2, 19, 64).detach().transpose(1, 2)
        self.check((*qkv.unbind(2), heads_first), None, *options("causal"))

    def test_seeds(self):
        torch.library.opcheck(torch.ops.spark.draw_seed.default, (inputs()[0],))


class ValuesTest(unittest.TestCase):
    """FlashAttention's rule: at most twice the error of PyTorch's fp16 computation, three times that
    of its gradients, both against fp64."""

    def check(self, tensors, d_out, mask, dropout_p=0.0, seed=0, **others):
        q, k, _ = tensors
        keep = keep_of(q, k, dropout_p, seed)
        exact = with_gradients(lambda *t: definition(*(x.double() for x in t), mask, keep=keep),
                               tensors, d_out)  # fmt: skip
        unfused = with_gradients(lambda *t: definition(*t, mask, keep=keep), tensors, d_out)
        with unittest.mock.patch.object(_ops, "draw_number", lambda like: seed):
            fused = with_gradients(
                lambda *t: sa.attention(*t, mask=mask, dropout_p=dropout_p, **others), tensors, d_out
            )
        for i, (got, other, want) in enumerate(zip(fused, unfused, exact)):
            ratio = 3 if i else 2
            self.assertLess(max_error(got, want), ratio * max_error(other, want) + 1e-4, (mask, i))

    def test_masks(self):
        *tensors, d_out = inputs()
        for mask in ("full", "causal", "window:9", "band:4:3", "prefix:20"):
            self.check(tensors, d_out, mask)

    def test_dropout_is_exactly_the_mask_that_is_told(self):
        *tensors, d_out = inputs()
        self.check(tensors, d_out, "causal", 0.25, seed=77)

    def test_wide_heads_and_one_key_head(self):
        *tensors, d_out = inputs(33, 65, heads=3, heads_k=1, head_dim=128, batch=1)
        self.check(tensors, d_out, "causal")

    def test_gradients_flow_through_views_of_a_packed_tensor(self):
        qkv = random(1, 1, 20, 3, 2, 64)
        d_out = random(2, 1, 20, 2, 64).detach()
        of = [with_gradients(lambda t: function(*t.unbind(2)), [qkv], d_out)[1]
              for function in (sa.attention, definition)]  # fmt: skip
        self.assertLess(max_error(*of), 1e-2)

    def test_rows_that_cannot_be_read_in_place_are_copied(self):
        q, k, v, _ = inputs()
        odd = torch.nn.functional.pad(q.detach(), (1, 2))[..., 1:65]
        sa.explain(reset=True)
        torch.testing.assert_close(sa.attention(odd, k, v), sa.attention(q, k, v), rtol=0, atol=0)
        self.assertIn("1 x copied a tensor", sa.explain())

    def test_no_keys_give_zeros_and_no_rows_nothing(self):
        q, k, v, _ = inputs()
        out, lse = sa.attention(q, k[:, :0], v[:, :0], return_lse=True)
        self.assertTrue((out == 0).all() and (lse == -torch.inf).all())
        out.sum().backward()
        self.assertTrue((q.grad == 0).all())
        self.assertEqual(sa.attention(q[:, :0], k, v).shape, (2, 0, 4, 64))
        self.assertEqual(sa.attention(q[:0], k[:0], v[:0]).shape, (0, 37, 4, 64))


class SeedTest(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v, _ = inputs(20, 20)

    def dropped(self):
        return sa.attention(self.q, self.k, self.v, dropout_p=0.5)

    def test_manual_seed_repeats_and_calls_differ(self):
        torch.manual_seed(5)
        first, second = self.dropped(), self.dropped()
        torch.manual_seed(5)
        self.assertTrue(torch.equal(first, self.dropped()))
        self.assertFalse(torch.equal(first, second))

    def test_heads_and_samples_have_masks_of_their_own(self):
        q = torch.zeros(2, 8, 2, 64, dtype=torch.float16)
        out = sa.attention(q, q, torch.ones_like(q), dropout_p=0.5)[..., 0]
        rows = out.transpose(1, 2).reshape(4, 8)
        self.assertEqual(len({tuple(row.tolist()) for row in rows}), 4)

    def test_checkpoints_compute_the_same_bits(self):
        from torch.utils.checkpoint import checkpoint

        def gradient(is_checkpointed, use_reentrant=False):
            torch.manual_seed(6)
            out = (checkpoint(self.dropped, use_reentrant=use_reentrant) if is_checkpointed
                   else self.dropped())  # fmt: skip
            torch.rand(3)  # the generator goes on between forward and backward
            return torch.autograd.grad(out.float().square().sum(), self.q)[0]

        with torch.random.fork_rng(), unittest.mock.patch.object(
            torch, "are_deterministic_algorithms_enabled", lambda: True
        ):
            self.assertTrue(torch.equal(gradient(False), gradient(True)))


class CompileTest(unittest.TestCase):
    def test_a_module_is_one_graph_with_the_same_bits(self):
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.qkv = torch.nn.Linear(128, 3 * 128)

            def forward(self, x):
                for _ in range(2):  # two equal calls, which must not become one
                    q, k, v = self.qkv(x).view(*x.shape[:2], 3, 2, 64).unbind(2)
                    x = x + sa.attention(q, k, v, causal=True, dropout_p=0.2,
                                         deterministic=True).flatten(2)  # fmt: skip
                return x

        torch.manual_seed(1)
        block, x = Block().half(), random(2, 2, 33, 128).detach()

        def run(function):
            block.zero_grad()
            torch.manual_seed(2)
            out = function(x)
            out.float().square().sum().backward()
            return out, block.qkv.weight.grad

        compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
        for got, want in zip(run(compiled), run(block)):
            self.assertTrue(torch.equal(got, want))


class ThreadsTest(unittest.TestCase):
    def test_calls_of_equal_shapes_do_not_meet(self):
        given = [[tensor.detach() + i for tensor in inputs(20, 20)[:3]] for i in range(4)]
        want = [sa.attention(*tensors, causal=True) for tensors in given]

        def run(i):
            return all(torch.equal(sa.attention(*given[i], causal=True), want[i]) for _ in range(10))

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertTrue(all(pool.map(run, range(4))))


class RefusalTest(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v, _ = inputs()

    def refuse(self, error, text, *tensors, **others):
        with self.assertRaisesRegex(error, text):
            sa.attention(*(tensors or (self.q, self.k, self.v)), **others)

    def test_bad_input_is_refused_by_name(self):
        self.refuse(TypeError, "q is bfloat16; allowed: float16.*autocast",
                    self.q.bfloat16(), self.k, self.v)  # fmt: skip
        self.refuse(ValueError, "k has shape", self.q, self.k[..., :32], self.v[..., :32])
        self.refuse(ValueError, "v has shape", self.q, self.k, self.v[:, 1:])
        self.refuse(ValueError, "q has 3 dimensions", self.q[0], self.k, self.v)
        self.refuse(ValueError, "k has 2 heads, and q 3", self.q[:, :, :3], self.k, self.v)
        self.refuse(ValueError, "causal is True, and mask is 'full'", causal=True, mask="full")
        self.refuse(ValueError, "diagonal", mask="diagonal")
        self.refuse(ValueError, "dropout_p is 1", dropout_p=1.0)
        self.refuse(ValueError, "accumulator is 'bf16'", accumulator="bf16")
        self.refuse(ValueError, "scale is -1", scale=-1)
        for gone in ("mixed", "fp16-o16"):
            self.refuse(ValueError, f"accumulator is '{gone}'; allowed: fp32, fp16", accumulator=gone)
        narrow = [torch.zeros(2, 4, heads, 63, dtype=torch.float16) for heads in (4, 2, 2)]
        self.refuse(sa.UnsupportedError, "head_dim 63", *narrow)

    def test_second_derivatives_are_refused(self):
        (gradient,) = torch.autograd.grad(sa.attention(self.q, self.k, self.v).sum(), self.q,
                                          create_graph=True)  # fmt: skip
        with self.assertRaisesRegex(sa.UnsupportedError, "no derivative of its own"):
            gradient.sum().backward()

    def test_autocast_makes_fp16(self):
        q, k, v = (tensor.detach().float().requires_grad_() for tensor in (self.q, self.k, self.v))
        with torch.autocast("cpu", dtype=torch.float16):
            out = sa.attention(q, k, v, causal=True)
        self.assertEqual(out.dtype, torch.float16)
        self.assertTrue(torch.equal(out, sa.attention(self.q, self.k, self.v, causal=True)))
        out.float().sum().backward()
        self.assertEqual(q.grad.dtype, torch.float32)

    def test_supports_tells_why_not(self):
        self.assertEqual(sa.supports(self.q, self.k, self.v, causal=True), (True, ""))
        runs, why = sa.supports(self.q.float(), self.k, self.v)
        self.assertFalse(runs)
        self.assertIn("q is float32; allowed: float16. Run the model in float16", why)
        self.assertIn("allowed: fp32, fp16", sa.supports(self.q, self.k, self.v, accumulator="mixed")[1])
        self.assertIn("causal", sa.supports(self.q, self.k, self.v, mask="diagonal")[1])

    def test_explain_tells_what_ran(self):
        sa.explain(reset=True)
        self.assertEqual(sa.explain(), "nothing ran yet")
        sa.attention(self.q, self.k, self.v, accumulator="fp16").sum().backward()
        self.assertIn("1 x ran forward, head_dim 64, accumulator fp16, on the emulated V100",
                      sa.explain())  # fmt: skip
        self.assertIn("1 x ran backward", sa.explain())


if __name__ == "__main__":
    unittest.main()
