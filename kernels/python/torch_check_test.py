#!/usr/bin/env python3
"""python -m spark_attention check, on the CPU; and on a GPU, where there is one."""

import contextlib
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from test_torch import definition, torch, visible, with_gradients

import spark_attention as sa
from spark_attention import __main__, _attention, _check, _gpus, _library, _ops
from spark_attention._check import accuracy, environment, page


def called(*arguments):
    """(exit status, output, errors) of the program."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            status = __main__.main(arguments)
        except SystemExit as error:
            status = error.code
    return status, output.getvalue(), errors.getvalue()


class Test(unittest.TestCase):
    def patch(self, target, name, value):
        patched = unittest.mock.patch.object(target, name, value)
        self.addCleanup(patched.stop)
        return patched.start()

    def without_cards(self):
        self.patch(environment, "cards", lambda: [])


class PageTest(Test):
    def setUp(self):
        self.without_cards()

    def test_tells_versions_results_and_the_verdict(self):
        status, text, _ = called("check")
        self.assertEqual(status, 0)
        for part in (torch.__version__, _library.version(), "none: CPU tensors run on the emulated V100",
                     "\nVerdict\n  ok"):  # fmt: skip
            self.assertIn(part, text)
        self.assertEqual(text.count(" ok\n"), len(accuracy.CASES) + 1)
        self.assertLessEqual(max(map(len, text.split("\n"))), 100)

    def test_json_is_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "report.json"
            status, text, _ = called("check", "--json", str(file))
            report = json.loads(file.read_text())
        self.assertEqual(status, 0)
        self.assertIn("Verdict", text)
        self.assertEqual(len(report["accuracy"]), len(accuracy.CASES))
        self.assertEqual(report["versions"]["PyTorch"], torch.__version__)
        status, text, _ = called("check", "--json", "-")
        self.assertEqual(json.loads(text)["findings"], [])
        self.assertEqual(called("check", "--json", "/nowhere/report.json")[0], 2)

    def test_numbers_that_json_lacks_are_texts(self):
        self.assertEqual(
            _check.as_json({"a": [math.nan, (1.5, math.inf)]}), {"a": ["nan", [1.5, "inf"]]}
        )

    def test_wrong_results_are_a_finding(self):
        right = _attention.attend
        for spoil in (lambda out: out * 1.01, lambda out: out * math.nan):

            def attend(*given):
                out, lse, seed = right(*given)
                return spoil(out), lse, seed

            with unittest.mock.patch.object(_attention, "attend", attend):
                status, text, _ = called("check")
            self.assertEqual(status, 1)
            self.assertEqual(text.count(" WRONG"), len(accuracy.CASES))
            self.assertIn("out is off by", text)

    def test_a_pass_that_fails_is_a_finding(self):
        def attend(*_):
            raise sa.DeviceError("the card is gone")

        self.patch(_attention, "attend", attend)
        status, text, _ = called("check")
        self.assertEqual(status, 1)
        self.assertIn("DeviceError: the card is gone", text)


class AccuracyTest(Test):
    def test_math_in_steps_is_the_definition(self):
        case = accuracy.Case(9, 13, heads=4, heads_k=2, head_dim=8, causal=True, dropout_p=0.25)
        generator = torch.Generator().manual_seed(5)
        q, k, v, d_out = (torch.randn(1, seqlen, heads, 8, generator=generator, dtype=torch.float64)
                          for seqlen, heads in ((9, 4), (13, 2), (13, 2), (9, 4)))  # fmt: skip
        keep = (torch.rand(1, 4, 9, 13, generator=generator) > 0.25).double()
        got = accuracy.math_in_steps(torch, case, q, k, v, d_out, keep)
        want = with_gradients(
            lambda *t: definition(*t, "causal", keep=keep / 0.75), (q, k, v), d_out
        )
        for a, b in zip(got, want, strict=True):
            self.assertLess(accuracy.relative_error(a, b), 1e-12)
        self.assertTrue(visible("causal", 9, 13).any(1).all())

    def test_numpy_alone_computes_the_same_checks(self):
        for case in accuracy.CASES:
            row = accuracy._checked(accuracy._run_numpy, case, "cpu")
            self.assertTrue(row["ok"], row)

    def test_dropout_is_compared_by_its_mask(self):
        ones = torch.ones(1, 2, accuracy.CASES[1].seqlen_q, accuracy.CASES[1].seqlen_k)
        self.patch(_ops, "dropout_keep", lambda *_: ones)
        row = accuracy._checked(accuracy._run_torch, accuracy.CASES[1], "cpu")
        self.assertFalse(row["ok"])


def built_for(sm):
    return {"cuda": "12.9.86", "architectures": [sm], "volta": [sm], "hopper": [], "why": "named"}


class CardsTest(Test):
    def test_a_card_without_code_is_a_finding(self):
        self.patch(_library, "build_info", lambda: built_for(75))
        self.patch(torch.cuda, "is_available", lambda: False)
        self.patch(_gpus, "visible_gpus", lambda: [("Tesla V100", 70), ("Tesla T4", 75)])
        status, text, _ = called("check")
        self.assertEqual(status, 1)
        self.assertIn("Tesla V100, sm_70: NO CODE", text)
        self.assertIn("Tesla T4, sm_75: this library has code", text)
        self.assertIn(
            "spark_attention has no code for Tesla V100 (sm_70)", text.split("Verdict")[1]
        )

    def test_kernels_are_named_or_refused_by_head_dim(self):
        emulated = environment.kernels(_library.EMULATED, 0, 64)
        self.assertEqual(set(emulated), {"forward", "backward"})

        def kernels(backend, index, head_dim):
            if head_dim == 128:
                raise sa.UnsupportedError("slow here")
            return emulated

        self.patch(environment, "kernels", kernels)
        self.patch(environment, "sdpa_choices", lambda device: [])
        self.patch(_library, "build_info", lambda: built_for(70))
        card = environment._card("cuda:0", "Tesla V100", 70)
        self.assertFalse(_check.runs_on(card))
        report = {"cards": [card], "accuracy": [], "versions": {"PyTorch": "2", "NumPy": "2"}}
        text = "\n".join(page._cards(report))
        self.assertIn(f"head_dim 64: forward {emulated['forward']}, backward", text)
        self.assertIn("head_dim 128: slow here", text)

    def test_sdpas_choice_is_told(self):
        backends = torch.backends.cuda
        self.patch(backends, "can_use_flash_attention", lambda *_: False)
        self.patch(backends, "can_use_efficient_attention", lambda *_: True)
        if hasattr(backends, "can_use_cudnn_attention"):
            self.patch(backends, "can_use_cudnn_attention", lambda *_: False)
        found = environment.sdpa_choices("cpu")
        for row in found:
            self.assertEqual(row["possible"], ["efficient_attention", "math"])
            self.assertIn(row["choice"], ("math", "flash_attention"))  # of a CPU's
        text = "\n".join(page._choices(found))
        self.assertRegex(
            text, "SDPA by itself takes .* head_dim 64,.* 128.*; possible are efficient_a"
        )
        self.assertIn("sa.sdpa() takes the place of efficient_attention", text)
        # PyTorch 2.4's, without enable_gqa.
        self.patch(backends, "SDPAParams", lambda query, key, value, mask, dropout, causal: None)
        self.assertEqual(environment.sdpa_choices("cpu"), found)


class ProgramTest(Test):
    def run_program(self, *arguments, **variables):
        found = subprocess.run([sys.executable, "-B", "-m", "spark_attention", *arguments], text=True,
                               capture_output=True, env={**os.environ, **variables})  # fmt: skip
        return found.returncode, found.stdout, found.stderr

    def test_usage(self):
        self.assertIn("python -m spark_attention", called()[1])
        self.assertEqual(called()[0], 2)
        self.assertEqual(called("check", "--modle", "m:f")[0], 2)

    def test_runs_as_a_program(self):
        status, text, _ = self.run_program("check", "--json", "-", CUDA_VISIBLE_DEVICES="")
        self.assertEqual((status, json.loads(text)["findings"]), (0, []))

    @unittest.skipUnless(hasattr(sys, "orig_argv"), "Python 3.9 does not tell what was run")
    def test_a_library_that_cannot_be_loaded_is_status_3(self):
        status, _, errors = self.run_program("check", SPARK_ATTENTION_LIBRARY="/nowhere/library.so")
        self.assertEqual(status, 3)
        self.assertRegex(errors, "^spark_attention: /nowhere/library.so")
        self.assertNotIn("Traceback", errors)

    def test_a_model_without_pytorch_is_status_3(self):
        self.patch(__main__, "imported_torch", lambda: None)
        status, _, errors = called("check", "--model", "m:f")
        self.assertEqual(status, 3)
        self.assertIn("--model wants PyTorch", errors)


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class GpuTest(Test):
    def test_each_card_is_checked_or_says_why_not(self):
        report = _check.collect()
        devices = {row["device"] for row in report["accuracy"]}
        for card in report["cards"]:
            self.assertEqual(card["device"] in devices, _check.runs_on(card))
            self.assertTrue(card["no_code"] or card["kernels"])
            self.assertEqual(len(card["sdpa"]), 4)
        without_code = [card["no_code"] for card in report["cards"] if card["no_code"]]
        self.assertEqual(report["findings"], without_code)
        self.assertIn(report["cards"][0]["name"], page.text_of({**report, "model": None}))


if __name__ == "__main__":
    unittest.main()
