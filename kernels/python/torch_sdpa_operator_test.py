#!/usr/bin/env python3
"""aten::scaled_dot_product_attention by these kernels on CPU tensors, for callers that do not look up
the name in torch.nn.functional: code that imported it before, TorchScript's C++, compilers."""

import sys
import unittest
import unittest.mock

from test_torch import inputs, torch, with_gradients

if not hasattr(torch.library, "get_kernel"):
    print("skipped: PyTorch before 2.9")
    sys.exit(77)

import spark_attention as sa
from spark_attention import _sdpa_operator
from torch.nn.attention import SDPBackend, sdpa_kernel

SDPA = torch.nn.functional.scaled_dot_product_attention  # as it was imported


@torch.jit.script
def scripted(q, k, v, dropout_p: float = 0.0):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, None, dropout_p, True,
                                                            enable_gqa=True)  # fmt: skip


def imported(q, k, v, dropout_p=0.0):
    return SDPA(q, k, v, None, dropout_p, True, enable_gqa=True)


def by_name(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


class OperatorTest(unittest.TestCase):
    def setUp(self):
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        torch.compiler.reset()
        self.tensors = [tensor.detach().transpose(1, 2) for tensor in inputs(33, 33)]  # heads first
        sa.explain(reset=True)

    def passes(self, function, **options):
        torch.manual_seed(3)
        return with_gradients(lambda *t: function(*t, **options), self.tensors[:3], self.tensors[3])

    def want(self, dropout_p=0.0):
        def attend(*tensors):
            tensors = [tensor.transpose(1, 2) for tensor in tensors]
            return sa.attention(*tensors, causal=True, dropout_p=dropout_p,
                                dropout_scale="asked").transpose(1, 2)  # fmt: skip

        return self.passes(attend)

    def assert_same(self, got, want):
        for one, other in zip(got, want, strict=True):
            self.assertTrue(torch.equal(one, other))


class ReachTest(OperatorTest):
    """Shared key heads, both passes."""

    def test_functions_that_were_imported_and_scripts(self):
        for function in (imported, scripted):
            for dropout_p in (0.0, 0.3):
                with sa.sdpa():
                    got = self.passes(function, dropout_p=dropout_p)
                self.assert_same(got, self.want(dropout_p))
        self.assertIn("8 x ran backward", sa.explain())  # of which half are the wanted ones
        self.assertNotIn("left to PyTorch", sa.explain())

    def test_one_graph_under_compile(self):
        for function in (imported, by_name):
            with sa.sdpa():
                compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
                self.assert_same(self.passes(compiled), self.want())
        self.assertNotIn("left to PyTorch", sa.explain())

    def test_compiled_dropout_is_drawn_each_time(self):
        with sa.sdpa():
            compiled = torch.compile(imported, fullgraph=True, backend="aot_eager")
            got = self.passes(compiled, dropout_p=0.3)
            self.assert_same(got, self.want(0.3))
            again = compiled(*self.tensors[:3], dropout_p=0.3)
        self.assertFalse(torch.equal(again, got[0]))

    def test_names_in_compiled_code_are_looked_up_anew(self):
        compiled = torch.compile(by_name, backend="aot_eager")
        before = compiled(*self.tensors[:3])
        with sa.sdpa():
            self.assertTrue(torch.equal(compiled(*self.tensors[:3]), self.want()[0]))
        sa.explain(reset=True)
        self.assertTrue(torch.equal(compiled(*self.tensors[:3]), before))
        self.assertEqual(sa.explain(), "nothing ran yet")

    def test_inference_and_autocast(self):
        want = self.want()[0]
        with sa.sdpa(), torch.inference_mode():
            self.assertTrue(torch.equal(scripted(*(t.clone() for t in self.tensors[:3])), want))
        single = [tensor.float() for tensor in self.tensors[:3]]
        with sa.sdpa(), torch.autocast("cpu", dtype=torch.float16):
            self.assertTrue(torch.equal(imported(*single), want))


class LeaveTest(OperatorTest):
    def test_what_is_not_served_has_pytorchs_bits_and_is_told_once(self):
        q, k, v = self.tensors[:3]
        mask = torch.ones(33, 33, dtype=torch.bool).tril()
        for why, tensors, options in (
            ("dtype float32", (q.float(), k.float(), v.float()), {"enable_gqa": True}),
            ("attn_mask is given", (q, k, v), {"attn_mask": mask, "enable_gqa": True}),
            ("tensors of other than 4 dimensions", (q[0, :2], k[0], v[0]), {}),
        ):
            for function in (SDPA, lambda *t, **o: torch.nn.functional.scaled_dot_product_attention(
                    *t, **o)):  # fmt: skip
                sa.explain(reset=True)
                want = SDPA(*tensors, **options)
                with sa.sdpa():
                    self.assertTrue(torch.equal(function(*tensors, **options), want))
                self.assertEqual(sa.explain().split(" x "), ["     1", f"left to PyTorch: {why}"])

    def test_gradients_of_what_is_not_served_are_pytorchs(self):
        self.tensors = [tensor.float() for tensor in self.tensors]
        want = self.passes(imported)
        with sa.sdpa():
            self.assert_same(self.passes(imported), want)

    def test_compilers_are_told_nothing(self):
        single = [tensor.float() for tensor in self.tensors[:3]]
        with sa.sdpa():
            compiled = torch.compile(imported, fullgraph=True, backend="aot_eager")
            torch.testing.assert_close(compiled(*single), imported(*single))
        self.assertIn("1 x left to PyTorch: dtype float32", sa.explain())  # the call that compares

    def test_uninstalling_gives_it_back(self):
        want = imported(*self.tensors[:3])
        for _ in range(2):
            with sa.sdpa():
                imported(*self.tensors[:3])
        sa.explain(reset=True)
        self.assertTrue(torch.equal(imported(*self.tensors[:3]), want))
        self.assertTrue(torch.equal(scripted(*self.tensors[:3]), want))
        self.assertEqual(sa.explain(), "nothing ran yet")

    def test_arguments_of_a_later_pytorch_are_handed_on(self):
        old = unittest.mock.Mock()
        run = _sdpa_operator._kernel(old, lambda: "fp32")
        run("keys", *self.tensors[:3], later=1)
        self.assertEqual(old.call_boxed.call_args.kwargs["later"], 1)
        self.assertIn("left to PyTorch: an argument of a later PyTorch: ['later']", sa.explain())

    def test_other_devices_with_a_key_head_each_go_on(self):
        of = [unittest.mock.Mock(**{"device.type": "cuda", "shape": (2, heads, 8, 64),
                                    "dim.return_value": 4}) for heads in (4, 2)]  # fmt: skip
        self.assertFalse(_sdpa_operator.passes_by_kernels(of[0], of[0], True))
        self.assertTrue(_sdpa_operator.passes_by_kernels(*of, True))
        self.assertFalse(_sdpa_operator.passes_by_kernels(*of, False))
        with sdpa_kernel(SDPBackend.MATH):
            self.assertFalse(_sdpa_operator.passes_by_kernels(*of, True))


if __name__ == "__main__":
    unittest.main()
