#!/usr/bin/env python3
"""On a GPU: calls of SDPA with shared key heads by the operator itself, for callers that do not look up
the name in torch.nn.functional, beside PyTorch's other choices. Volta's kernels are forced."""

import sys
import unittest
import warnings

from test_gpu import on_gpu  # first: it sets what the package reads
from test_torch import inputs, max_error, torch, with_gradients

if not hasattr(torch.library, "get_kernel"):
    print("skipped: PyTorch before 2.9")
    sys.exit(77)

import spark_attention as sa
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch_sdpa_operator_test import imported, scripted


class OperatorTest(unittest.TestCase):
    def setUp(self):
        torch.use_deterministic_algorithms(True, warn_only=True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        contexts = warnings.catch_warnings()
        contexts.__enter__()
        self.addCleanup(contexts.__exit__, None, None, None)
        warnings.simplefilter("ignore")
        torch.compiler.reset()
        *self.tensors, self.d_out = on_gpu(*(t.transpose(1, 2) for t in inputs(100, 100)))
        sa.explain(reset=True)

    def passes(self, function, **options):
        torch.cuda.manual_seed(3)
        return with_gradients(lambda *t: function(*t, **options), self.tensors, self.d_out)

    def attend(self, q, k, v, dropout_p=0.0):
        q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
        return sa.attention(q, k, v, causal=True, dropout_p=dropout_p,
                            dropout_scale="asked").transpose(1, 2)  # fmt: skip

    def assert_same(self, got, want):
        for one, other in zip(got, want, strict=True):
            self.assertTrue(torch.equal(one, other))

    def test_imported_functions_and_scripts_reach_the_kernels(self):
        for function in (imported, scripted):
            for dropout_p in (0.0, 0.3):
                with sa.sdpa():
                    got = self.passes(function, dropout_p=dropout_p)
                self.assert_same(got, self.passes(self.attend, dropout_p=dropout_p))
        self.assertIn("8 x ran backward", sa.explain())
        self.assertNotIn("left to PyTorch", sa.explain())

    def test_scripts_take_no_memory_of_scores(self):
        q, k, v = (tensor.transpose(1, 2).detach().cuda()
                   for tensor in inputs(4096, 4096, heads=8, heads_k=2, batch=1)[:3])  # fmt: skip
        with sa.sdpa(), torch.inference_mode():
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.max_memory_allocated()
            scripted(q, k, v)
        self.assertLess(torch.cuda.max_memory_allocated() - before, 4096 * 4096)

    def test_compiled_code_is_one_graph(self):
        with sa.sdpa():
            got = self.passes(torch.compile(imported, fullgraph=True))
        for one, other in zip(got, self.passes(self.attend), strict=True):
            self.assertLess(max_error(one, other), 2e-3)

    def test_compiled_dropout_drops_others_each_time(self):
        for mode in ("default", "reduce-overhead"):
            torch.compiler.reset()
            outs = []
            with sa.sdpa():
                compiled = torch.compile(imported, fullgraph=True, mode=mode)
                for _ in range(4):
                    found = with_gradients(lambda *t: compiled(*t, dropout_p=0.5), self.tensors,
                                           self.d_out)  # fmt: skip
                    outs.append(found[0].clone())
            self.assertFalse(torch.equal(outs[2], outs[3]), mode)

    def test_causal_nested_tensors(self):
        begins = torch.tensor([0, 9, 49, 100], device="cuda")
        q, k, v = (tensor.transpose(1, 2)[0].detach().requires_grad_() for tensor in self.tensors)
        d_out = self.d_out.transpose(1, 2)[0]

        def by_sdpa(q, k, v):
            of = [torch.nested.nested_tensor_from_jagged(tensor, begins).transpose(1, 2)
                  for tensor in (q, k, v)]  # fmt: skip
            out = torch.nn.functional.scaled_dot_product_attention(*of, is_causal=True, enable_gqa=True)
            return out.transpose(1, 2).values()

        def packed(q, k, v):
            return sa.attention_varlen(q, k, v, begins.int(), begins.int(), causal=True)

        with sa.sdpa():
            got = with_gradients(by_sdpa, (q, k, v), d_out)
        self.assert_same(got, with_gradients(packed, (q, k, v), d_out))
        self.assertNotIn("left to PyTorch", sa.explain())

    def test_who_asks_for_math_gets_it(self):
        for heads_k in (2, 4):
            q, k, v = (t.transpose(1, 2).detach().cuda() for t in inputs(100, 100, heads_k=heads_k)[:3])
            with sdpa_kernel(SDPBackend.MATH):
                want = imported(q, k, v)
            with sa.sdpa(), sdpa_kernel(SDPBackend.MATH):  # install() wants the other switched on
                got = imported(q, k, v)
            self.assertTrue(torch.equal(got, want))
            self.assertEqual(sa.explain(), "nothing ran yet")


if __name__ == "__main__":
    unittest.main()
