#!/usr/bin/env python3
"""On a GPU: values, streams, CUDA graphs, compiled code, checkpoints. Volta's kernels are forced on
GPUs after Turing, where they are slow."""

import ctypes
import gc
import unittest

from test_gpu import on_gpu  # first: it sets what the package reads
from test_torch import definition, inputs, max_error, random, torch, with_gradients

import spark_attention as sa
from spark_attention import _direct, _library, _masks, _ops, host

UNION = "window:7+causal-strided:5"


def forward(q, k, v, seed=None, dropout_p=0.0, mask="full"):
    return torch.ops.spark.forward(q, k, v, seed, dropout_p, "applied", 0.0, mask, "fp32", True)


class ValuesTest(unittest.TestCase):
    """FlashAttention's rule: at most twice the error of PyTorch's fp16 computation, three times that
    of its gradients, both against fp64; twice as much where the sums are fp16 too."""

    def check(self, tensors, d_out, mask="full", **options):
        q, k, v = tensors
        exact = with_gradients(lambda *t: definition(*(x.double() for x in t), mask), tensors, d_out)
        unfused = with_gradients(lambda *t: definition(*t, mask), tensors, d_out)
        fused = with_gradients(lambda *t: sa.attention(*t, mask=mask, **options),
                               on_gpu(q, k, v), d_out.cuda())  # fmt: skip
        for i, (got, other, want) in enumerate(zip(fused, unfused, exact)):
            ratio = (3 if i else 2) * (2 if options.get("accumulator") == "fp16" else 1)
            limit = ratio * max_error(other, want) + 1e-4
            self.assertLess(max_error(got.cpu(), want), limit, (q.shape, mask, i))

    def test_every_head_dim(self):
        for head_dim in _library.HEAD_DIMS:
            for deterministic in (False, True):
                *tensors, d_out = inputs(70, 130, head_dim=head_dim)
                self.check(tensors, d_out, "causal", deterministic=deterministic)

    def test_masks_and_accumulators(self):
        *tensors, d_out = inputs(130, 200)
        for mask in ("full", "causal", "window:9", "band:4:3", "prefix:20"):
            for accumulator in ("fp32", "fp16"):
                self.check(tensors, d_out, mask, accumulator=accumulator)

    def test_dropout_is_the_mask_of_the_host(self):
        q, k, v, d_out = inputs(70, 130)
        for where in ("cpu", "cuda"):
            seed = torch.tensor(77, dtype=torch.int64, device=where)
            keep = _ops.dropout_keep(*on_gpu(q, k), seed, 0.25)
            kept = keep.double().cpu() * 256 / 192
            out, _ = forward(*on_gpu(q, k, v), seed, 0.25)
            want = definition(q.double(), k.double(), v.double(), keep=kept)
            self.assertLess(max_error(out.cpu(), want), 4e-3)
            if where == "cpu":
                of_host, scale = host.dropout_mask(2, 4, 70, 130, 0.25, 77)
                self.assertTrue(torch.equal(keep.cpu(), torch.from_numpy(of_host)))

    def test_patterns(self):
        *tensors, d_out = inputs(130, 200)
        for accumulator in ("fp32", "fp16"):
            for deterministic in (False, True):
                self.check(tensors, d_out, UNION, accumulator=accumulator,
                           deterministic=deterministic)  # fmt: skip

    def test_patterns_that_are_run_as_passes(self):
        """Long enough that strides are taken in the order of their residues, which wants a workspace
        forward. Each entry of a batch has the bits that it has alone, however launches share it."""
        for batch in (2, 9):
            *tensors, d_out = inputs(390, 390, batch=batch)
            for deterministic in (False, True):
                self.check(tensors, d_out, "window:7+causal-strided:6",
                           deterministic=deterministic)  # fmt: skip
            all_of = sa.attention(*on_gpu(*tensors), mask="causal-strided:6")
            one = sa.attention(*(t[1:2].detach().cuda() for t in tensors), mask="causal-strided:6")
            self.assertTrue(torch.equal(all_of[1:2], one))

    def test_rows_that_see_all_are_shared_by_blocks(self):
        *tensors, d_out = inputs(2430, 2430, batch=1)
        for deterministic in (False, True):
            self.check(tensors, d_out, "longformer:16:4", deterministic=deterministic)

    def test_dropout_of_passes_is_the_mask_of_the_host(self):
        mask = "window:7+causal-strided:6"
        q, k, v, _ = inputs(390, 390)
        keep, scale = host.dropout_mask(2, 4, 390, 390, 0.25, 77, mask=mask)
        want = definition(q.double(), k.double(), v.double(), mask,
                          keep=torch.from_numpy(keep).double() * scale)  # fmt: skip
        out, _ = forward(*on_gpu(q, k, v), torch.tensor(77), 0.25, mask)
        self.assertLess(max_error(out.cpu(), want), 4e-3)

    def test_neighbourhoods_are_run_in_an_order_of_their_own(self):
        """On a grid whose last tiles share tokens with others."""
        mask = "nd:15x26:9x9"
        *tensors, d_out = inputs(390, 390)
        for deterministic in (False, True):
            self.check(tensors, d_out, mask, deterministic=deterministic)
        keep, scale = host.dropout_mask(2, 4, 390, 390, 0.25, 77, mask=mask)
        want = definition(*(t.double() for t in tensors), mask,
                          keep=torch.from_numpy(keep).double() * scale)  # fmt: skip
        out, _ = forward(*on_gpu(*tensors), torch.tensor(77), 0.25, mask)
        self.assertLess(max_error(out.cpu(), want), 4e-3)

    def test_passes_are_captured(self):
        q, k, v, _ = on_gpu(*inputs(390, 390))
        want = sa.attention(q, k, v, mask="window:7+causal-strided:6")
        static = torch.zeros_like(q)
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            out = sa.attention(static, k, v, mask="window:7+causal-strided:6")
        static.copy_(q)
        graph.replay()
        self.assertTrue(torch.equal(out, want))

    def test_patterns_of_one_run_have_the_bits_of_their_names(self):
        *tensors, d_out = on_gpu(*inputs(130, 200, head_dim=128))
        of = [with_gradients(lambda *t, m=mask: sa.attention(*t, mask=m, deterministic=True),
                             tensors, d_out) for mask in ("window:70", "causal-band:69:0")]  # fmt: skip
        for got, want in zip(*of):
            self.assertTrue(torch.equal(got, want))

    def test_strided_views_are_read_in_place(self):
        qkv = random(1, 2, 65, 3, 4, 64).detach().cuda()
        sa.explain(reset=True)
        out = sa.flash_attn_qkvpacked_func(qkv, causal=True)
        want = sa.attention(*(tensor.contiguous() for tensor in qkv.unbind(2)), causal=True)
        self.assertTrue(torch.equal(out, want))
        self.assertNotIn("copied", sa.explain())


class GpuTest(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v, self.d_out = on_gpu(*inputs(100, 100))

    def assert_same(self, got, want):
        for a, b in zip(got, want, strict=True):
            self.assertTrue(torch.equal(a, b))


class ExecutionTest(GpuTest):
    def gradients(self, **options):
        return with_gradients(lambda *t: sa.attention(*t, causal=True, **options),
                              (self.q, self.k, self.v), self.d_out)  # fmt: skip

    def test_deterministic_gradients_repeat(self):
        want = self.gradients(deterministic=True)
        for _ in range(5):
            self.assert_same(self.gradients(deterministic=True), want)

    def test_streams_have_the_same_bits(self):
        want = self.gradients(deterministic=True)
        streams = [torch.cuda.Stream() for _ in range(2)]
        got = []
        for stream in streams:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                got.append(self.gradients(deterministic=True))
        torch.cuda.synchronize()
        for each in got:
            self.assert_same(each, want)

    def test_nothing_waits_for_the_gpu(self):
        self.gradients(dropout_p=0.1)
        torch.cuda.set_sync_debug_mode("error")
        try:
            self.gradients(dropout_p=0.1)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def test_streams_share_a_pattern(self):
        want = sa.attention(self.q, self.k, self.v, mask=UNION)
        _masks._prepared.clear()
        _direct._plans.clear()
        streams = [torch.cuda.Stream() for _ in range(4)]
        got = []
        for stream in streams:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                got.append(sa.attention(self.q, self.k, self.v, mask=UNION))
        torch.cuda.synchronize()
        for out in got:
            self.assertTrue(torch.equal(out, want))
        self.assertEqual(len(_masks._prepared), 1)

    def test_manual_seed_repeats_and_calls_differ(self):
        torch.manual_seed(5)
        first, second = self.gradients(dropout_p=0.5)[0], self.gradients(dropout_p=0.5)[0]
        torch.manual_seed(5)
        self.assertTrue(torch.equal(first, self.gradients(dropout_p=0.5)[0]))
        self.assertFalse(torch.equal(first, second))

    def test_checkpoints_compute_the_same_bits(self):
        from torch.utils.checkpoint import checkpoint

        def gradient(is_checkpointed):
            q = self.q.detach().requires_grad_()
            call = lambda q: sa.attention(q, self.k, self.v, dropout_p=0.3, deterministic=True)
            torch.manual_seed(6)
            out = checkpoint(call, q, use_reentrant=False) if is_checkpointed else call(q)
            torch.rand(3, device="cuda")
            return torch.autograd.grad(out.float().square().sum(), q)[0]

        self.assertTrue(torch.equal(gradient(False), gradient(True)))


class GraphTest(GpuTest):
    """A CUDA graph of a training step's attention."""

    def capture(self):
        q, k, v = (tensor.detach().requires_grad_() for tensor in (self.q, self.k, self.v))

        def step():
            seed = _ops.draw_seed(q)
            out, _ = forward(q, k, v, seed, 0.5)
            return [seed, out, *torch.autograd.grad(out, (q, k, v), self.d_out)]

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = step()
        return graph, results

    def test_each_replay_drops_others_and_its_gradients_are_of_the_same(self):
        graph, (seed, *results) = self.capture()
        self.assertEqual(seed.device.type, "cuda")
        outs = []
        for _ in range(3):
            graph.replay()
            q, k, v = (tensor.detach().requires_grad_() for tensor in (self.q, self.k, self.v))
            out, _ = forward(q, k, v, seed.clone(), 0.5)
            self.assert_same(results, [out, *torch.autograd.grad(out, (q, k, v), self.d_out)])
            outs.append(results[0].clone())
        self.assertFalse(torch.equal(outs[0], outs[1]) or torch.equal(outs[1], outs[2]))

    def test_attention_is_captured_as_users_call_it(self):
        static = torch.zeros_like(self.q)
        sa.attention(static, self.k, self.v, causal=True)
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            out = sa.attention(static, self.k, self.v, causal=True)
        static.copy_(self.q)
        graph.replay()
        self.assertTrue(torch.equal(out, sa.attention(self.q, self.k, self.v, causal=True)))


class PatternGraphTest(GpuTest):
    def check(self, is_prepared):
        want = sa.attention(self.q, self.k, self.v, mask=UNION)
        _masks._prepared.clear()
        _direct._plans.clear()
        static = torch.zeros_like(self.q)
        if is_prepared:
            sa.attention(static, self.k, self.v, mask=UNION)
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            out = sa.attention(static, self.k, self.v, mask=UNION)
        _masks._prepared.clear()  # the graph keeps what it reads
        _direct._plans.clear()
        gc.collect()
        torch.zeros(1 << 20, device="cuda").fill_(1)
        static.copy_(self.q)
        graph.replay()
        self.assertTrue(torch.equal(out, want))

    def test_a_prepared_pattern_is_captured(self):
        self.check(True)

    def test_a_pattern_may_be_prepared_while_a_stream_is_captured(self):
        self.check(False)

    def test_a_text_is_refused_in_a_capture(self):
        static = torch.zeros_like(self.q)
        of = _ops.problem_of_shapes(static.shape, self.k.shape, static.device, "fp32",
                                    mask=b"strided:3")  # fmt: skip
        out, lse = torch.empty_like(static), torch.empty(2, 4, 100, device="cuda")
        tensors = _library.ForwardTensors(*map(_ops.struct_of, (static, self.k, self.v, out)),
                                          lse.data_ptr())  # fmt: skip
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph), self.assertRaisesRegex(ValueError, "captured into a CUDA"):
            _library.forward(of, ctypes.byref(tensors), stream=_ops.stream_of(static))


class CompileTest(unittest.TestCase):
    def test_a_module_is_one_graph(self):
        torch.manual_seed(1)
        linear = torch.nn.Linear(128, 3 * 128).half().cuda()
        x = random(2, 2, 65, 128).detach().cuda()

        def block(x, dropout_p):
            q, k, v = linear(x).view(*x.shape[:2], 3, 2, 64).unbind(2)
            return sa.attention(q, k, v, causal=True, dropout_p=dropout_p, deterministic=True)

        def run(function, dropout_p=0.0):
            linear.zero_grad()
            out = function(x, dropout_p)
            out.float().square().sum().backward()
            return out.detach(), linear.weight.grad.clone()

        for mode in ("default", "reduce-overhead"):
            torch.compiler.reset()
            compiled = torch.compile(block, fullgraph=True, mode=mode)
            for got, want in zip(run(compiled), run(block)):
                self.assertLess(max_error(got, want), 2e-2 * want.abs().max().item())
            dropped = [run(compiled, 0.5)[0].clone() for _ in range(4)]
            self.assertFalse(torch.equal(dropped[2], dropped[3]))


class SeamsTest(unittest.TestCase):
    def test_sdpa_with_shared_heads(self):
        q, k, v, d_out = on_gpu(*inputs(100, 100))
        heads_first = [tensor.transpose(1, 2) for tensor in (q, k, v)]
        sa.explain(reset=True)
        with sa.sdpa():
            out = torch.nn.functional.scaled_dot_product_attention(*heads_first, is_causal=True,
                                                                   enable_gqa=True)  # fmt: skip
        self.assertTrue(torch.equal(out.transpose(1, 2), sa.attention(q, k, v, causal=True)))
        self.assertIn("2 x ran forward", sa.explain())

    def test_slow_kernels_are_refused_unless_allowed(self):
        major, minor = torch.cuda.get_device_capability()
        if 10 * major + minor <= 75:
            self.skipTest("this GPU's tensor cores have the instruction")
        of = _library.problem(backend=_library.CUDA, batch=1, heads=1, seqlen_q=1, seqlen_k=1,
                              head_dim=64)  # fmt: skip
        of.allow_slow = 0
        self.assertIn("allow_slow", _library.why_unsupported(of, _library.FORWARD))


if __name__ == "__main__":
    unittest.main()
