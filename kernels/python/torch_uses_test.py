#!/usr/bin/env python3
"""sa.sdpa in nested contexts, in threads and beside other libraries, and its dropout's mean."""

import threading
import unittest

from test_torch import random, torch

import spark_attention as sa
from spark_attention import _efficient

F = torch.nn.functional
SDPA = F.scaled_dot_product_attention
IS_OPERATOR = hasattr(torch.library, "get_kernel")
WAYS = ("name", "operator") if IS_OPERATOR else ("name",)


class Test(unittest.TestCase):
    def setUp(self):
        self.q = random(1, 1, 2, 16, 64).detach()

    def tearDown(self):
        self.assertIs(F.scaled_dot_product_attention, SDPA)
        self.assertEqual(self.ran(), None)

    def ran(self):
        """The accumulator that a call ran with; None where it was PyTorch's."""
        sa.explain(reset=True)
        F.scaled_dot_product_attention(self.q, self.q, self.q)
        told = sa.explain()
        return next((name for name in ("fp32", "fp16") if f"accumulator {name}," in told), None)


class ContextsTest(Test):
    def test_the_innermost_says_how(self):
        for outer in WAYS:
            for inner in WAYS:
                with sa.sdpa(over=outer):
                    with sa.sdpa("fp16", over=inner):
                        self.assertEqual(self.ran(), "fp16")
                    self.assertEqual(self.ran(), "fp32")
                self.assertEqual(self.ran(), None)

    def test_a_context_inside_of_install(self):
        sa.sdpa.install(over=WAYS[-1])
        with self.assertRaisesRegex(RuntimeError, "installed already"):
            sa.sdpa.install()
        with sa.sdpa("fp16", over=WAYS[-1]):
            self.assertEqual(self.ran(), "fp16")
        self.assertEqual(self.ran(), "fp32")
        with sa.sdpa("fp16", over=WAYS[-1]):
            sa.sdpa.uninstall()
            self.assertEqual(self.ran(), "fp16")
        with self.assertRaisesRegex(RuntimeError, "not installed"):
            sa.sdpa.uninstall()

    def test_a_context_of_another_thread_that_ends_is_no_end_of_ours(self):
        begun, entered, ended, found = threading.Event(), threading.Event(), threading.Event(), []

        def first():
            with sa.sdpa(over=WAYS[-1]):
                begun.set()
                entered.wait(60)
                found.append(self.ran())
            ended.set()

        def second():
            begun.wait(60)
            with sa.sdpa("fp16", over=WAYS[-1]):
                entered.set()
                ended.wait(60)
                found.append(self.ran())

        threads = [threading.Thread(target=run) for run in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, ["fp32", "fp16"])

    @unittest.skipUnless(IS_OPERATOR, "before PyTorch 2.9")
    def test_a_backward_pass_is_of_the_forward_passs_accumulator(self):
        offsets = {}
        with sa.sdpa():
            for name in ("fp32", "fp16"):
                with sa.sdpa(name):
                    rows = [self.q.transpose(1, 2)] * 3
                    results = torch.ops.aten._efficient_attention_forward(
                        *rows, None, None, None, None, None, 0.0, 0, True)  # fmt: skip
                    offsets[name] = _efficient._accumulator_of(results[3])
        self.assertEqual(offsets, {"fp32": "fp32", "fp16": "fp16"})
        for name, place in _efficient._PLACES.items():  # as on a GPU, whose marks are read nowhere
            mark = _efficient._new_mark(torch.device("cpu"), name)
            self.assertEqual((mark.storage_offset(), mark.data_ptr() % 16), (place, 0))


class OthersTest(Test):
    def test_a_later_patch_of_the_name_stays(self):
        calls = []
        sa.sdpa.install(over="name")
        ours = F.scaled_dot_product_attention

        def theirs(*arguments, **others):
            calls.append(1)
            return ours(*arguments, **others)

        F.scaled_dot_product_attention = theirs
        self.addCleanup(setattr, F, "scaled_dot_product_attention", SDPA)
        sa.sdpa.uninstall()
        self.assertIs(F.scaled_dot_product_attention, theirs)
        self.assertEqual((self.ran(), len(calls)), (None, 1))
        with sa.sdpa(over="name"):
            self.assertEqual(self.ran(), "fp32")
        self.assertIs(F.scaled_dot_product_attention, theirs)
        F.scaled_dot_product_attention = SDPA


class DropoutTest(Test):
    def test_the_mean_is_kept_to_one_percent_or_the_call_is_pytorchs(self):
        ones = torch.ones(1, 4, 64, 64, dtype=torch.float16)
        for p in (0.001, 0.002, 0.01, 0.1, 0.25, 0.5, 0.8, 0.85, 0.9, 0.99, 0.998, 0.9999):
            applied = min(int(p * 256 + 0.5), 255) / 256
            is_close = abs((1 - applied) / (1 - p) - 1) <= 0.01 and applied > 0
            runs, why = sa.sdpa.supports(ones, ones, ones, dropout_p=p)
            self.assertEqual(runs, is_close, p)
            if not runs:
                self.assertIn("256ths", why)
            if p <= 0.8:
                self.assertEqual(runs, p > 1 / 512)
        with sa.sdpa(over="name"):
            torch.manual_seed(1)
            for p in (0.1, 0.9, 0.99):
                out = F.scaled_dot_product_attention(ones, ones, ones, dropout_p=p)
                # Of 16384 weights; 5 standard deviations.
                self.assertLess(abs(out.float().mean() - 1), 0.01 + 5 * (p / (1 - p) / 16384) ** 0.5)


if __name__ == "__main__":
    unittest.main()
