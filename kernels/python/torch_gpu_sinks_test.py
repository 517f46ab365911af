#!/usr/bin/env python3
"""Learned sinks on a GPU: values, packed sequences, CUDA graphs, compiled code. Volta's kernels are
forced on GPUs after Turing, where they are slow."""

import unittest

from test_gpu import on_gpu  # first: it sets what the package reads
from test_torch import inputs, max_error, torch, with_gradients
from torch_sinks_test import UNION, definition, each_alone, ragged, sinks_of

import spark_attention as sa

HEADS = 16  # the largest error of fewer sinks' gradients is a matter of luck


class ValuesTest(unittest.TestCase):
    """FlashAttention's rule: at most twice the error of PyTorch's fp16 computation, three times that
    of its gradients, both against fp64; twice as much where the sums are fp16 too."""

    def compare(self, fused, exact, tensors, d_out, factor=1):
        want = with_gradients(lambda *t: exact(*(x.double() for x in t)), tensors, d_out)
        unfused = with_gradients(exact, tensors, d_out)
        got = with_gradients(fused, on_gpu(*tensors), d_out.cuda())
        for i, (one, other, exactly) in enumerate(zip(got, unfused, want, strict=True)):
            limit = (3 if i else 2) * factor * max_error(other, exactly) + 1e-4
            self.assertLess(max_error(one.cpu(), exactly), limit, i)

    def test_masks_and_accumulators(self):
        *tensors, d_out = inputs(130, 200, heads=HEADS)
        for mask in ("full", "causal", "window:9", UNION):
            for accumulator, factor in (("fp32", 1), ("fp16", 2)):
                self.compare(
                    lambda *t: sa.attention(*t[:3], sinks=t[3], mask=mask, accumulator=accumulator),
                    lambda *t: definition(*t, mask)[0], (*tensors, sinks_of(HEADS)), d_out, factor,
                )  # fmt: skip

    def test_rows_without_keys(self):
        *tensors, d_out = inputs(200, 130, heads=HEADS)
        self.compare(lambda *t: sa.attention(*t[:3], sinks=t[3], causal=True),
                     lambda *t: definition(*t, "causal")[0], (*tensors, sinks_of(HEADS)),
                     d_out)  # fmt: skip

    def test_packed_sequences(self):
        *tensors, d_out, cu_seqlens_q, cu_seqlens_k = ragged()
        offsets = cu_seqlens_q.cuda(), cu_seqlens_k.cuda()
        self.compare(
            lambda *t: sa.attention_varlen(*t[:3], *offsets, sinks=t[3], causal=True),
            lambda *t: each_alone(*t, (cu_seqlens_q, cu_seqlens_k), "causal"),
            (*tensors, sinks_of()), d_out,
        )  # fmt: skip

    def test_a_sink_of_nothing_has_the_bits_of_none(self):
        q, k, v, _ = on_gpu(*inputs(200, 130))
        nothing = torch.full((4,), -torch.inf, device="cuda")
        of = [sa.attention(q, k, v, causal=True, sinks=sinks, return_lse=True)
              for sinks in (None, nothing)]  # fmt: skip
        for got, want in zip(*of, strict=True):
            self.assertTrue(torch.equal(got, want))


class ExecutionTest(unittest.TestCase):
    def setUp(self):
        *tensors, self.d_out = on_gpu(*inputs(100, 100))
        self.tensors = (*tensors, *on_gpu(sinks_of()))

    def step(self, q, k, v, sinks):
        out = sa.attention(q, k, v, sinks=sinks, causal=True, deterministic=True)
        return [out, *torch.autograd.grad(out, (q, k, v, sinks), self.d_out)]

    def assert_same(self, got, want):
        for one, other in zip(got, want, strict=True):
            self.assertTrue(torch.equal(one, other))

    def test_gradients_repeat_and_nothing_waits_for_the_gpu(self):
        want = self.step(*self.tensors)
        torch.cuda.set_sync_debug_mode("error")
        try:
            got = self.step(*self.tensors)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        self.assert_same(got, want)

    def test_a_training_step_is_captured(self):
        static = [tensor.detach().clone().requires_grad_() for tensor in self.tensors]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            want = self.step(*static)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = self.step(*static)
        graph.replay()
        self.assert_same(got, want)
        with torch.no_grad():
            static[3].add_(1)
        graph.replay()
        self.assert_same(got, self.step(*static))
        self.assertFalse(torch.equal(got[4], want[4]))

    def test_compiled_code_is_one_graph(self):
        compiled = torch.compile(
            lambda *t: sa.attention(*t[:3], sinks=t[3], causal=True, deterministic=True),
            fullgraph=True,
        )  # fmt: skip
        want = self.step(*self.tensors)
        got = with_gradients(compiled, self.tensors, self.d_out)
        self.assert_same(got, [tensor.detach() for tensor in want])


if __name__ == "__main__":
    unittest.main()
