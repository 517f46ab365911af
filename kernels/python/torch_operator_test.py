#!/usr/bin/env python3
"""aten::_efficient_attention_forward and _backward by these kernels, on the emulated V100. PyTorch has
no such kernels for the CPU, so calls that are not served are errors here, unless a test brings some."""

import contextlib
import math
import sys
import unittest
import unittest.mock
import warnings

from test_torch import definition, inputs, keep_of, max_error, random, torch, with_gradients

if not hasattr(torch.library, "get_kernel"):
    print("skipped: PyTorch before 2.9")
    sys.exit(77)

import spark_attention as sa
from spark_attention import _efficient

NO_MASK, TOP_LEFT, BOTTOM_RIGHT = 0, 1, 2


def call(q, k, v, mask_type=NO_MASK, dropout_p=0.0, lengths=(None, None), longest=(None, None),
         bias=None, **others):  # fmt: skip
    """All six results."""
    return torch.ops.aten._efficient_attention_forward(q, k, v, bias, *lengths, *longest, dropout_p,
                                                       mask_type, True, **others)  # fmt: skip


class OperatorTest(unittest.TestCase):
    def setUp(self):
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        sa.explain(reset=True)


class DenseTest(OperatorTest):
    def check(self, q, k, v, d_out, mask_type, **options):
        with sa.sdpa():
            got = with_gradients(lambda *t: call(*t, mask_type)[0], (q, k, v), d_out)
        want = with_gradients(lambda *t: sa.attention(*t, **options), (q, k, v), d_out)
        for a, b in zip(got, want, strict=True):
            self.assertTrue(torch.equal(a, b))

    def test_results_are_attentions(self):
        self.check(*inputs(33, 50, heads_k=4), NO_MASK)
        self.check(*inputs(33, 33), TOP_LEFT, causal=True)
        self.check(*inputs(33, 50), BOTTOM_RIGHT, causal=True)
        self.assertIn("6 x ran backward", sa.explain())
        self.assertNotIn("left to PyTorch", sa.explain())

    def test_lse_is_filled_up_to_blocks_of_rows(self):
        q, k, v, _ = inputs(33, 50)
        with sa.sdpa():
            _, lse, _, _, longest_q, longest_k = call(q, k, v, BOTTOM_RIGHT, scale=0.2)
            none = torch.ops.aten._efficient_attention_forward(q, k, v, None, None, None, None, None,
                                                               0.0, 0)[1]  # fmt: skip
        self.assertEqual((lse.shape, longest_q, longest_k), ((2, 4, 64), 33, 50))
        _, want = sa.attention(q, k, v, causal=True, scale=0.2, return_lse=True)
        self.assertTrue(torch.equal(lse[..., :33], want))
        self.assertTrue((lse[..., 33:] == math.inf).all())
        self.assertEqual((none.shape, none.stride()), ((2, 4, 0), torch.empty(2, 4, 0).stride()))

    def test_dropout_is_repeated_by_the_backward_pass(self):
        q, k, v, d_out = inputs(33, 50)
        with sa.sdpa():
            torch.manual_seed(4)
            results = call(q, k, v, dropout_p=0.3)
            gradients = torch.autograd.grad(results[0], (q, k, v), d_out)
        keep = (keep_of(q, k, 0.3, results[2].item()) > 0) / 0.7
        exact = with_gradients(lambda *t: definition(*(x.double() for x in t), keep=keep),
                               (q, k, v), d_out)  # fmt: skip
        for got, want in zip((results[0], *gradients), exact, strict=True):
            self.assertLess(max_error(got, want), 4e-3)

    def test_a_backward_pass_outside_is_its_forward_passs(self):
        q, k, v, d_out = inputs(33, 33)
        with sa.sdpa():
            out = call(q, k, v, dropout_p=0.5)[0]
            want = torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True)
        got = torch.autograd.grad(out, (q, k, v), d_out)
        for a, b in zip(got, want, strict=True):
            self.assertTrue(torch.equal(a, b))

    def test_gradients_may_share_a_storage(self):
        q, k, v, d_out = (tensor.detach() for tensor in inputs(33, 33, heads_k=4))
        with sa.sdpa():
            out, lse, seed, offset, _, _ = call(q, k, v)
            rest = (out, None, None, 33, 33, lse, 0.0, seed, offset, NO_MASK, False)
            of = torch.ops.aten._efficient_attention_backward
            apart = of(d_out, q, k, v, None, *rest)
            shared = of(d_out, q, k, v, None, *rest, shared_storage_dqdkdv=True)
        for a, b in zip(apart[:3], shared[:3], strict=True):
            self.assertTrue(torch.equal(a, b))
            self.assertEqual(b.stride(), (33 * 3 * 256, 3 * 256, 64, 1))

    def test_a_gradient_of_no_bias_is_refused_as_there(self):
        q, k, v, d_out = (tensor.detach() for tensor in inputs(33, 33, heads_k=4))
        with sa.sdpa():
            out, lse, seed, offset, _, _ = call(q, k, v)
            with self.assertRaisesRegex(RuntimeError, "bias_requires_grad is true but no bias"):
                torch.ops.aten._efficient_attention_backward(
                    d_out, q, k, v, None, out, None, None, 33, 33, lse, 0.0, seed, offset, NO_MASK, True
                )

    def test_one_graph_under_compile(self):
        q, k, v, _ = (tensor.detach() for tensor in inputs(33, 33))
        with sa.sdpa():
            compiled = torch.compile(lambda *t: call(*t, TOP_LEFT)[0], fullgraph=True,
                                     backend="aot_eager")  # fmt: skip
            self.assertTrue(torch.equal(compiled(q, k, v), sa.attention(q, k, v, causal=True)))


class VarlenTest(OperatorTest):
    """Packed sequences, as nested tensors and xformers have them."""

    def setUp(self):
        super().setUp()
        self.begins = torch.tensor([0, 9, 9, 49], dtype=torch.int32)
        self.q, self.k, self.v, self.d_out = inputs(49, 49, batch=1)

    def call(self, q, k, v, mask_type, **others):
        return call(q, k, v, mask_type, lengths=(self.begins, self.begins), longest=(40, 40), **others)

    def test_results_are_attention_varlens(self):
        tensors = self.q, self.k, self.v
        for mask_type, causal in ((NO_MASK, False), (TOP_LEFT, True), (BOTTOM_RIGHT, True)):
            with sa.sdpa():
                got = with_gradients(lambda *t: self.call(*t, mask_type)[0], tensors, self.d_out)
            want = with_gradients(
                lambda *t: sa.attention_varlen(*(x[0] for x in t), self.begins, self.begins,
                                               causal=causal)[None],
                tensors, self.d_out,
            )  # fmt: skip
            for a, b in zip(got, want, strict=True):
                self.assertTrue(torch.equal(a, b))

    def test_lse_is_by_sequence(self):
        with sa.sdpa():
            lse = self.call(self.q, self.k, self.v, NO_MASK)[1]
        _, want = sa.attention_varlen(self.q[0], self.k[0], self.v[0], self.begins, self.begins,
                                      return_lse=True)  # fmt: skip
        self.assertEqual(lse.shape, (3, 4, 64))
        self.assertTrue(torch.equal(lse[0, :, :9], want[:, :9]))
        self.assertTrue(torch.equal(lse[2, :, :40], want[:, 9:]))
        self.assertTrue((lse[0, :, 9:] == math.inf).all() and (lse[1] == math.inf).all())

    def test_masks_from_the_first_key_want_the_same_lengths(self):
        with sa.sdpa(), self.assertRaisesRegex(sa.UnsupportedError, "two tensors"):
            call(self.q, self.k, self.v, TOP_LEFT, lengths=(self.begins, self.begins.clone()),
                 longest=(40, 40))  # fmt: skip


class OtherKernelTest(OperatorTest):
    """Beside a kernel that was there before, which the operator falls back to."""

    def setUp(self):
        super().setUp()
        self.calls = []

        def forward(q, k, v, *others, **named):
            self.calls.append(("forward", others, named))
            lse = torch.zeros(q.shape[0], q.shape[2], 64)
            return q.clone(), lse, torch.tensor(8), torch.tensor(4), q.shape[1], k.shape[1]

        def backward(d_out, q, k, v, *others, **named):
            self.calls.append(("backward", others, named))
            return d_out.clone(), torch.zeros_like(k), torch.zeros_like(v), None

        self.library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, function in ((_efficient.FORWARD, forward), (_efficient.BACKWARD, backward)):
                self.library.impl(name, function, "CPU", allow_override=True)
        self.seam = _efficient._Seam()
        self.seam.register()
        self.addCleanup(self.library._destroy)
        self.addCleanup(lambda: self.seam.backward._destroy())
        self.addCleanup(lambda: self.seam.forward and self.seam.give_back())

    def test_what_is_not_served_goes_there_and_is_told(self):
        q, k, v, _ = inputs(33, 33, heads_k=4)
        short = q[:, :9]
        bias = torch.zeros(2, 4, 33, 33, dtype=torch.float16)
        for why, tensors, others in (
            ("dtype float32", (q.float(), k.float(), v.float()), {}),
            ("dtype bfloat16", (q.bfloat16(), k.bfloat16(), v.bfloat16()), {}),
            ("head_dim 36, 36", (q[..., :36], k[..., :36], v[..., :36]), {}),
            ("attn_mask is given", (q, k, v), {"bias": bias}),
            ("is_causal with other lengths", (short, k, v), {"mask_type": TOP_LEFT}),
            ("seqlen_k or window_size is given", (q, k, v), {"window_size": 3}),
        ):
            self.calls.clear()
            out = call(*tensors, scale=0.25, **others)[0]
            self.assertTrue(torch.equal(out, tensors[0]), why)
            self.assertEqual([name for name, _, _ in self.calls], ["forward"], why)
            self.assertEqual(self.calls[0][2]["scale"], 0.25)
            self.assertIn(f"1 x left to PyTorch: {why}", sa.explain())

    def test_its_backward_pass_is_its_own(self):
        q, k, v, d_out = inputs(33, 33, heads_k=4)
        of_ours = call(q, k, v, dropout_p=0.5)[0]
        self.seam.give_back()
        of_other = call(q, k, v, dropout_p=0.5)[0]
        self.assertEqual([name for name, _, _ in self.calls], ["forward"])
        gradients = torch.autograd.grad(of_ours, (q, k, v), d_out)
        self.assertFalse(torch.equal(gradients[0], d_out))
        gradients = torch.autograd.grad(of_other, (q, k, v), d_out)
        self.assertTrue(torch.equal(gradients[0], d_out))
        self.assertEqual([name for name, _, _ in self.calls], ["forward", "backward"])


class InstallTest(unittest.TestCase):
    def test_uninstalling_gives_the_operator_back(self):
        q, k, v, _ = inputs(4, 4)
        with sa.sdpa():
            call(q, k, v)
        with self.assertRaisesRegex(NotImplementedError, "_efficient_attention_forward"):
            call(q, k, v)
        with sa.sdpa(over="name"), self.assertRaisesRegex(NotImplementedError, "_efficient"):
            call(q, k, v)

    def test_older_pytorchs_are_refused_with_another_way(self):
        with contextlib.ExitStack() as stack:
            get_kernel = torch.library.get_kernel
            del torch.library.get_kernel
            stack.callback(setattr, torch.library, "get_kernel", get_kernel)
            with self.assertRaisesRegex(RuntimeError, r"PyTorch 2.9 or later.*over='name'"):
                sa.sdpa.install()
        with sa.sdpa():  # which the refusal left as it was
            pass

    def test_a_switched_off_backend_is_refused(self):
        with unittest.mock.patch.multiple(torch.cuda, is_available=lambda: True), \
                unittest.mock.patch.object(torch.backends.cuda, "mem_efficient_sdp_enabled",
                                           lambda: False):  # fmt: skip
            with self.assertRaisesRegex(RuntimeError, "is switched off"):
                _efficient.install("fp32")

    def test_other_ways_are_refused(self):
        with self.assertRaisesRegex(ValueError, "over is 'kernel'; allowed: operator, name"):
            sa.sdpa.install(over="kernel")

    def test_supports_tells_what_would_run(self):
        q, k, v = (tensor.transpose(1, 2) for tensor in inputs(4, 4)[:3])
        self.assertEqual(sa.sdpa.supports(q, k, v, enable_gqa=True), (True, ""))
        self.assertEqual(sa.sdpa.supports(q, k, v)[1], "other heads of q and k without enable_gqa")
        self.assertEqual(sa.sdpa.supports(q, k, v, random(1, 4, 4))[1], "attn_mask is given")


if __name__ == "__main__":
    unittest.main()
