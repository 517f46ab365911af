#!/usr/bin/env python3
"""tritonbench's variants as kernels, over a package with the interface of its flash_attention."""

import unittest

import test_host

test_host.need("torch")
from test_host import sweep  # noqa: E402

OPERATORS = """
    import argparse
    import torch
    from tritonbench.utils.triton_op import REGISTERED_BENCHMARKS, Backend

    class Operator:
        def __init__(self, tb_args, extra_args=None):
            assert (tb_args.precision, tb_args.device) == ("fp16", "cpu"), tb_args
            parser = argparse.ArgumentParser()
            for flag in ("--batch", "--seq-len", "--seq-len-kv", "--n-heads", "--d-head"):
                parser.add_argument(flag, type=int)
            parser.add_argument("--causal", action="store_true")
            self.args = parser.parse_args(extra_args)
            self.causal = self.args.causal

        def sdpa(self, q, k, v):
            a = self.args
            assert q.shape == (a.batch, a.n_heads, a.seq_len, a.d_head) and q.is_contiguous()
            assert k.shape[2] == a.seq_len_kv
            return lambda: torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=self.causal, scale=self.sm_scale)

        def forward_only(self, q, k, v):
            return lambda: (self.sdpa(q, k, v)(), None)

        def Wrong(self, q, k, v):
            return lambda: self.sdpa(q, k, v)() * 1.1

    def load_opbench_by_name(name):
        if name != "flash_attention":
            raise RuntimeError(f"{name} is not found in the Tritonbench operator list.")
        REGISTERED_BENCHMARKS["flash_attention"] = {
            each: Backend(each, each == "forward_only") for each in ("sdpa", "forward_only", "Wrong")}
        return Operator
"""
FILES = {
    "tritonbench/__init__.py": "",
    "tritonbench/operators/__init__.py": OPERATORS,
    "tritonbench/utils/__init__.py": "",
    "tritonbench/utils/triton_op.py": """
        import collections
        REGISTERED_BENCHMARKS = {}
        Backend = collections.namedtuple("Backend", "name fwd_only")
    """,
    "tritonbench/utils/parser.py": """
        import argparse

        def get_parser():
            parser = argparse.ArgumentParser()
            for flag in ("--op", "--device", "--precision", "--num-inputs"):
                parser.add_argument(flag)
            return parser
    """,
}
ITEM = "sparkbench.tritonbench:flash_attention."


class Variants(unittest.TestCase):
    def statuses(self, variant, *flags):
        ran = sweep(FILES, ITEM + variant, "--seqlen", "33", *flags)
        return ran, [case["status"] for case in ran.cases]

    def test_a_right_one_is_ok_forward_and_backward(self):
        ran, statuses = self.statuses("sdpa", "--causal", "both", "--pass", "fwd,bwd")
        self.assertEqual((ran.status, statuses), (0, ["ok"] * 4), ran)
        self.assertIn(f"--kernel {ITEM}sdpa ", ran.cases[0]["repro"])

    def test_a_wrong_one_is_incorrect(self):
        ran, statuses = self.statuses("Wrong")
        self.assertEqual((ran.status, statuses), (1, ["incorrect"]), ran)
        self.assertEqual(ran.cases[0]["kernel"], "wrong")

    def test_what_it_lacks_is_skipped(self):
        for variant, flags, why in (
            ("forward_only", ("--pass", "bwd"), "no backward pass"),
            ("sdpa", ("--causal", "true", "--seqlen-k", "40"), "lengths must be equal"),
            ("sdpa", ("--mask", "window:5"), "no mask window:5"),
            ("sdpa", ("--heads-k", "1"), "key heads that query heads share"),
        ):
            ran, statuses = self.statuses(variant, *flags)
            self.assertEqual(statuses, ["skipped"], ran)
            self.assertIn(why, ran.cases[0]["reason"]["message"])

    def test_unknown_names_are_usage_errors(self):
        for item in (ITEM + "nobody", "sparkbench.tritonbench:nobody.sdpa"):
            ran = sweep(FILES, item, "--seqlen", "17")
            self.assertEqual(ran.status, 2, ran)
            self.assertIn("has no '", ran.err)


if __name__ == "__main__":
    unittest.main()
