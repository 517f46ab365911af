#!/usr/bin/env python3
"""On a GPU: PyTorch's SDPA by its operator, and what a call launches. Volta's kernels are forced, and
SDPA is held to the operator that it takes on a V100."""

import contextlib
import pathlib
import re
import tempfile
import unittest
import unittest.mock
import warnings

from test_gpu import on_gpu  # first: it sets what the package reads
from test_torch import definition, inputs, max_error, random, torch, with_gradients

import spark_attention as sa
from spark_attention import _efficient, _ops
from torch.nn.attention import SDPBackend, sdpa_kernel

SDPA = torch.nn.functional.scaled_dot_product_attention


def heads_first(*tensors):
    return [tensor.transpose(1, 2) for tensor in tensors]


class SdpaTest(unittest.TestCase):
    def setUp(self):
        if not hasattr(torch.library, "get_kernel"):
            self.skipTest("PyTorch before 2.9")
        contexts = contextlib.ExitStack()
        self.addCleanup(contexts.close)
        contexts.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        contexts.enter_context(sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION))
        torch.use_deterministic_algorithms(True, warn_only=True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        *self.tensors, self.d_out = on_gpu(*inputs(100, 100, heads=4, heads_k=4))
        sa.explain(reset=True)

    def by_sdpa(self, *tensors, function=SDPA, **options):
        return function(*heads_first(*tensors), **options).transpose(1, 2)

    def gradients(self, function, tensors=None):
        tensors = self.tensors if tensors is None else tensors
        return with_gradients(function, tensors, torch.ones_like(tensors[0]))

    def assert_same(self, got, want):
        for a, b in zip(got, want, strict=True):
            self.assertTrue(torch.equal(a, b))


class ReachTest(SdpaTest):
    def check(self, function):
        want = self.gradients(lambda *t: sa.attention(*t, causal=True))
        sa.explain(reset=True)
        with sa.sdpa():
            got = self.gradients(lambda *t: self.by_sdpa(*t, is_causal=True, function=function))
        self.assert_same(got, want)
        self.assertIn("1 x ran forward", sa.explain())
        self.assertIn("1 x ran backward", sa.explain())
        self.assertNotIn("copied", sa.explain())

    def test_the_function_that_was_imported_before(self):
        self.check(SDPA)

    def test_the_operator_itself_and_compiled_c(self):
        self.check(torch.ops.aten.scaled_dot_product_attention)

        @torch.jit.script
        def scripted(q, k, v, is_causal: bool):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, None, 0.0, is_causal)

        self.check(scripted)

    def test_code_that_compiles(self):
        self.check(torch.compile(lambda *t, is_causal: SDPA(*t, is_causal=is_causal), fullgraph=True))

    def test_pytorchs_layers(self):
        layer = torch.nn.MultiheadAttention(128, 2, batch_first=True).half().cuda()
        x = random(5, 2, 20, 128).detach().cuda().requires_grad_()
        with sa.sdpa():
            layer(x, x, x, need_weights=False)[0].sum().backward()
        self.assertIn("1 x ran backward", sa.explain())

    def test_the_fast_path_of_pytorchs_layers(self):
        layer = torch.nn.TransformerEncoderLayer(128, 2, 128, batch_first=True).half().cuda().eval()
        x = torch.randn(2, 20, 128, device="cuda").half()
        with torch.no_grad():
            want = layer(x)
            with sa.sdpa():
                got = layer(x)
        self.assertIn("1 x ran forward", sa.explain())
        self.assertLess(max_error(got, want), 1e-2)

    def test_causal_from_the_last_key(self):
        from torch.nn.attention.bias import causal_lower_right

        q, k, v, _ = on_gpu(*inputs(33, 100, heads_k=4))
        with sa.sdpa():
            out = self.by_sdpa(q, k, v, attn_mask=causal_lower_right(33, 100))
        self.assertIn("1 x ran forward", sa.explain())
        self.assertTrue(torch.equal(out, sa.attention(q, k, v, causal=True)))

    def test_nested_tensors(self):
        parts = [random(i, length, 4, 64).detach().cuda() for i, length in enumerate((9, 40))]
        x = torch.nested.nested_tensor(parts, layout=torch.jagged).transpose(1, 2).requires_grad_()
        sa.explain(reset=True)
        with sa.sdpa():
            out = SDPA(x, x, x)
            (gradient,) = torch.autograd.grad(out.transpose(1, 2).values().sum(), x)
        self.assertIn("1 x ran varlen forward", sa.explain())
        self.assertIn("1 x ran varlen backward", sa.explain())
        for part, got in zip(parts, out.transpose(1, 2).unbind()):
            want = definition(*[part[None].double().cpu()] * 3)[0]
            self.assertLess(max_error(got.cpu(), want), 4e-3)
        self.assertTrue(torch.isfinite(gradient.values()).all())

    def test_shared_key_heads_take_no_memory_of_scores(self):
        q, k, v, _ = on_gpu(*inputs(4096, 4096, heads=8, heads_k=2, batch=1))
        with sa.sdpa(), sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]), torch.no_grad():
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.max_memory_allocated()
            torch.nn.functional.scaled_dot_product_attention(*heads_first(q, k, v), is_causal=True,
                                                             enable_gqa=True)  # fmt: skip
        self.assertLess(torch.cuda.max_memory_allocated() - before, 4096 * 4096)
        self.assertIn("1 x ran forward", sa.explain())


class DropoutTest(SdpaTest):
    def test_the_backward_pass_repeats_the_mask(self):
        q, k, v = self.tensors
        for is_inside in (True, False):
            with sa.sdpa():
                results = torch.ops.aten._efficient_attention_forward(
                    q, k, v, None, None, None, None, None, 0.25, 0, True
                )
                gradients = self.pull(results[0]) if is_inside else None
            gradients = gradients or self.pull(results[0])
            keep = _ops.dropout_keep(q, k, results[2], 0.25).double().cpu() / 0.75
            exact = with_gradients(
                lambda *t: definition(*(x.double() for x in t), keep=keep),
                [tensor.detach().cpu() for tensor in self.tensors], self.d_out.cpu(),
            )  # fmt: skip
            for got, want in zip((results[0], *gradients), exact, strict=True):
                self.assertLess(max_error(got.cpu(), want), 1e-2)

    def pull(self, out):
        return torch.autograd.grad(out, self.tensors, self.d_out)

    def test_pytorchs_own_backward_pass_keeps_its_mask(self):
        def run(is_installed):
            torch.manual_seed(3)
            out = self.by_sdpa(*self.tensors, dropout_p=0.5)
            if not is_installed:
                return self.pull(out)
            with sa.sdpa():
                return self.pull(out)

        for a, b in zip(run(True), run(False), strict=True):
            self.assertLess(max_error(a, b), 1e-2)

    def test_replays_of_a_graph_drop_others(self):
        def step():
            out = self.by_sdpa(*self.tensors, dropout_p=0.5)
            return out, *self.pull(out)

        with sa.sdpa():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                step()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                results = step()
        seen = []
        for _ in range(2):
            graph.replay()
            seen.append([tensor.clone() for tensor in results])
        self.assertFalse(torch.equal(seen[0][0], seen[1][0]))
        self.assertIn("ran backward", sa.explain())
        for out, *gradients in seen:
            # v's gradient and out have the same mask: sum(out * d_out) is sum(v * dv).
            left = (out.double() * self.d_out.double()).sum()
            right = (self.tensors[2].double() * gradients[2].double()).sum()
            self.assertLess(abs((left - right).item()), 1e-2 * abs(left.item()) + 1)

    def test_compiled_training_drops_others_each_time(self):
        for mode in ("default", "reduce-overhead"):
            torch.compiler.reset()
            compiled = torch.compile(
                lambda *t: SDPA(*t, dropout_p=0.5), fullgraph=True, mode=mode
            )
            outs = []
            with sa.sdpa():
                for _ in range(4):
                    found = self.gradients(lambda *t: self.by_sdpa(*t, function=compiled))
                    outs.append(found[0].clone())
            self.assertFalse(torch.equal(outs[2], outs[3]))
        self.assertIn("ran backward", sa.explain())


class InstallTest(SdpaTest):
    def test_what_is_not_served_has_the_bits_of_before(self):
        q, k, v = (tensor.detach() for tensor in self.tensors)
        bias = torch.randn(100, 100, device="cuda", dtype=torch.float16)
        cases = {
            "attn_mask is given": ((q, k, v), {"attn_mask": bias}),
            "dtype float32": ((q.float(), k.float(), v.float()), {}),
            "is_causal with other lengths": ((q[:, :9], k, v), {"is_causal": True}),
        }
        for why, (tensors, options) in cases.items():
            want = self.gradients(lambda *t: self.by_sdpa(*t, **options), tensors)
            with sa.sdpa():
                got = self.gradients(lambda *t: self.by_sdpa(*t, **options), tensors)
            self.assert_same(got[:1], want[:1])
            for a, b in zip(got[1:], want[1:], strict=True):
                self.assertLess(max_error(a, b), 1e-2)
            self.assertIn(f"1 x left to PyTorch: {why}", sa.explain())
        self.assertNotIn("ran", sa.explain())

    def test_an_operator_out_of_reach_is_refused(self):
        _efficient.seam.tested.clear()
        def pass_by(seam, *given, **named):
            return seam._call_old(_efficient.FORWARD, *given, **named)

        with unittest.mock.patch.object(_efficient._Seam, "_run_forward", pass_by):
            with self.assertRaisesRegex(RuntimeError, "does not reach the operator"):
                sa.sdpa.install()
        with sa.sdpa():
            pass

    def test_autocast_serves_fp32_models(self):
        q, k, v = (tensor.detach().float() for tensor in self.tensors)
        with sa.sdpa(), torch.autocast("cuda", dtype=torch.float16):
            self.assertEqual(self.by_sdpa(q, k, v).dtype, torch.float16)
        self.assertIn("1 x ran forward", sa.explain())


def launched(call):
    """The names of what a call makes the GPU do: by PyTorch's profiler or, where that sees nothing, by
    the nodes of a CUDA graph."""
    from torch.profiler import ProfilerActivity, profile

    call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        torch.zeros(1, device="cuda")
        torch.cuda.synchronize()
        call()
        torch.cuda.synchronize()
    events = [event for event in seen.events()
              if event.device_type == torch.autograd.DeviceType.CUDA]  # fmt: skip
    if events:
        return [event.name for event in sorted(events, key=lambda each: each.time_range.start)][1:]
    graph = torch.cuda.CUDAGraph()
    graph.enable_debug_mode()
    with torch.cuda.graph(graph):
        call()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graph.dot"
        graph.debug_dump(str(path))
        return re.findall(r"^.*(?:KERNEL|MEMCPY|MEMSET).*$", path.read_text(), re.MULTILINE)


class LaunchTest(unittest.TestCase):
    """What a user's profile shows."""

    def setUp(self):
        self.qkv = random(1, 2, 130, 3, 4, 64).detach().cuda()

    def assert_kernels(self, count, call):
        with torch.no_grad():
            names = launched(call)
        self.assertEqual(len(names), count, names)

    def test_a_forward_pass_is_one_kernel(self):
        contiguous = [tensor.contiguous() for tensor in self.qkv.unbind(2)]
        heads_before = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in contiguous]
        for q, k, v in (contiguous, self.qkv.unbind(2), heads_before):
            self.assert_kernels(1, lambda: sa.attention(q, k, v, causal=True))
        self.assert_kernels(1, lambda: sa.flash_attn_qkvpacked_func(self.qkv, causal=True))

    def test_through_sdpa_it_is_one_too(self):
        q, k, v = heads_first(*self.qkv.unbind(2))
        with sa.sdpa(), sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            self.assert_kernels(1, lambda: SDPA(q, k, v, is_causal=True))

    def test_packed_sequences_take_a_list_of_blocks_besides(self):
        begins = torch.tensor([0, 30, 130], dtype=torch.int32, device="cuda")
        q, k, v = self.qkv[0].unbind(1)
        with torch.no_grad():
            names = launched(lambda: sa.attention_varlen(q, k, v, begins, begins))
        self.assertLessEqual(len(names), 2, names)

    def test_dropout_draws_on_the_gpu_in_graphs_alone(self):
        with torch.no_grad():
            names = launched(lambda: sa.attention(*self.qkv.unbind(2), dropout_p=0.1))
        self.assertLessEqual(len(names), 2, names)  # one, unless launched() captured a graph


class Bf16Test(unittest.TestCase):
    def setUp(self):
        *self.tensors, self.d_out = [tensor.bfloat16() for tensor in on_gpu(*inputs(100, 130))]
        sa.bf16_counts(reset=True)

    def gradients(self):
        return with_gradients(lambda *t: sa.attention(*t, bf16="cast", deterministic=True),
                              self.tensors, self.d_out)  # fmt: skip

    def test_results_are_those_of_fp16_and_counted(self):
        self.tensors[2].data[0, 0, 0, :2] = torch.tensor([1e-12, 0.0])
        want = with_gradients(lambda *t: sa.attention(*t, deterministic=True),
                              [tensor.half() for tensor in self.tensors], self.d_out.half())  # fmt: skip
        for a, b in zip(self.gradients(), want, strict=True):
            self.assertTrue(torch.equal(a, b.bfloat16()))
        counts = sa.bf16_counts()
        self.assertEqual((counts.overflowed, counts.underflowed >= 1), (0, True))

    def test_nothing_waits_for_the_gpu(self):
        self.gradients()
        torch.cuda.set_sync_debug_mode("error")
        try:
            self.gradients()
        finally:
            torch.cuda.set_sync_debug_mode("default")


class ComplaintsTest(unittest.TestCase):
    """torch_complaints_test.py's, at their sizes."""

    def test_odd_lengths_of_wide_heads_are_finite(self):
        q, k, v = (random(i, 1, 2925, 16, 128).detach().cuda().requires_grad_() for i in range(3))
        for causal in (False, True):
            got = with_gradients(lambda *t: sa.attention(*t, causal=causal), (q, k, v),
                                 torch.ones_like(q))  # fmt: skip
            for each in got:
                self.assertTrue(torch.isfinite(each).all())
            with sdpa_kernel(SDPBackend.MATH):
                want = SDPA(*(t.float() for t in heads_first(q, k, v)), is_causal=causal).transpose(1, 2)
            self.assertLess(max_error(got[0], want), 4e-3)


if __name__ == "__main__":
    unittest.main()
