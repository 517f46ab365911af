#!/usr/bin/env python3
"""`python -m sparkbench` with NumPy functions on an emulated device: verdicts, failures, usage errors,
streams and exit statuses. Needs no PyTorch."""

import os
import signal
import subprocess
import sys
import unittest

import test_host

test_host.need("numpy")
from test_host import sweep  # noqa: E402

KERNELS = """
    import numpy
    import sparkbench

    def scores(q, k, sees, softmax_scale):
        group = q.shape[2] // k.shape[2]
        k = numpy.repeat(k.astype(numpy.float64), group, axis=2)
        s = numpy.einsum("bqhd,bkhd->bhqk", q.astype(numpy.float64), k) * softmax_scale
        rows, keys = s.shape[2:]
        seen = [[[sees(h, i, j) for j in range(keys)] for i in range(rows)] for h in range(s.shape[1])]
        return numpy.where(numpy.array(seen)[None], s, -numpy.inf)

    def attend(q, k, v, sees, softmax_scale):
        s = scores(q, k, sees, softmax_scale)
        top = s.max(-1, keepdims=True)
        top = numpy.where(numpy.isfinite(top), top, 0)
        p = numpy.exp(s - top)
        total = p.sum(-1, keepdims=True)
        with numpy.errstate(divide="ignore"):
            lse = (numpy.log(total) + top)[..., 0]
        p = p / numpy.where(total == 0, 1, total)
        v = numpy.repeat(v.astype(numpy.float64), q.shape[2] // v.shape[2], axis=2)
        return numpy.einsum("bhqk,bkhd->bqhd", p, v), lse, p

    def differentiate(d_out, q, k, v, out, lse, *, sees, softmax_scale):
        _, _, p = attend(q, k, v, sees, softmax_scale)
        group = q.shape[2] // k.shape[2]
        d_out, q, k, v = (x.astype(numpy.float64) for x in (d_out, q, k, v))
        whole_k, whole_v = (numpy.repeat(x, group, axis=2) for x in (k, v))
        dv = numpy.einsum("bhqk,bqhd->bkhd", p, d_out)
        dp = numpy.einsum("bqhd,bkhd->bhqk", d_out, whole_v)
        ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * softmax_scale
        dq = numpy.einsum("bhqk,bkhd->bqhd", ds, whole_k)
        dk = numpy.einsum("bhqk,bqhd->bkhd", ds, q)
        of_key_heads = lambda x: x.reshape(*k.shape[:3], group, k.shape[3]).sum(3)
        return [x.astype(numpy.float16) for x in (dq, of_key_heads(dk), of_key_heads(dv))]

    @sparkbench.kernel(name="right", version="1.2", tensors="numpy", gqa=True, backward=differentiate)
    def right(q, k, v, *, sees, softmax_scale):
        out, lse, _ = attend(q, k, v, sees, softmax_scale)
        return out.astype(numpy.float16), lse.astype(numpy.float32)

    @sparkbench.kernel(tensors="numpy")
    def heads_first(q, k, v, *, sees, softmax_scale):
        out = attend(q, k, v, sees, softmax_scale)[0].astype(numpy.float16)
        return numpy.ascontiguousarray(out.swapaxes(1, 2)).swapaxes(1, 2)

    def faulty(name):
        return sparkbench.kernel(name=name, tensors="numpy")

    @faulty("wrong-scale")
    def wrong_scale(q, k, v, *, sees, softmax_scale):
        return right(q, k, v, sees=sees, softmax_scale=1.01 * softmax_scale)[0]

    @faulty("wrong-lse")
    def wrong_lse(q, k, v, *, sees, softmax_scale):
        out, lse = right(q, k, v, sees=sees, softmax_scale=softmax_scale)
        return out, lse + numpy.float32(0.1)

    @faulty("stale")
    def stale(q, k, v, *, sees, softmax_scale, kept={}):
        key = q.shape
        if key not in kept:
            kept[key] = right(q, k, v, sees=sees, softmax_scale=softmax_scale)
        return kept[key]

    @faulty("stale-by-address")
    def stale_by_address(q, k, v, *, sees, softmax_scale, kept={}):
        key = q.ctypes.data
        if key not in kept:
            kept[key] = right(q, k, v, sees=sees, softmax_scale=softmax_scale)
        return kept[key]

    @faulty("ignores-strides")
    def ignores_strides(q, k, v, *, sees, softmax_scale):
        memory = numpy.lib.stride_tricks.as_strided(k, (k.size,), k.strides[-1:])
        return right(q, memory.reshape(k.shape), v, sees=sees, softmax_scale=softmax_scale)

    @faulty("unwritten")
    def unwritten(q, k, v, *, kept=[]):
        kept.append(numpy.full(q.shape, numpy.nan, numpy.float16))
        return kept[-1]

    @faulty("raises")
    def raises(q, k, v, *, sees):
        if q.shape[1] == 17:
            raise ValueError("seventeen is too many")
        return right(q, k, v, sees=sees, softmax_scale=0.125)

    @faulty("declines")
    def declines(q, k, v):
        raise NotImplementedError("not today")

    @faulty("returns-float32")
    def returns_float32(q, k, v):
        return q.astype(numpy.float32)

    @faulty("returns-rows")
    def returns_rows(q, k, v):
        return q[:, :1]

    @faulty("returns-text")
    def returns_text(q, k, v):
        return "out"

    @faulty("returns-input")
    def returns_input(q, k, v):
        return q

    @faulty("writes-input")
    def writes_input(q, k, v):
        q[...] = 0
        return q.copy()

    @faulty("exits")
    def exits(q, k, v):
        raise SystemExit(3)

    @faulty("dies")
    def dies(q, k, v):
        import os
        print("about to die")
        os.abort()
"""
FILES = {"kernels.py": KERNELS, "more.py": "import kernels\nagain = kernels.right\n"}


def statuses(ran):
    return [case["status"] for case in ran.cases]


class RightFunctions(unittest.TestCase):
    def test_are_ok_with_every_mask_pass_and_shared_heads(self):
        ran = sweep(
            FILES, "kernels.py:right", "--seqlen", "17", "--pass", "fwd,bwd,fwd+bwd", "--mask",
            "full,causal,window:5,band:2:3,prefix:4,sink:2+window:4", "--heads", "4", "--heads-k",
            "2",
        )  # fmt: skip
        self.assertEqual(ran.status, 0, ran)
        self.assertEqual(statuses(ran), ["ok"] * 18, ran)
        case = ran.cases[0]
        self.assertEqual(case["kernel"], "right")
        self.assertEqual(case["libraries"]["right"], "1.2")
        self.assertIn("kernels.py", case["libraries"])
        self.assertRegex(case["repro"], "^python -m sparkbench .*--kernel kernels.py:right ")
        self.assertLess(case["accuracy"]["lse_max_abs"], 1e-3)

    def test_may_return_any_layout_and_no_lse(self):
        ran = sweep(FILES, "kernels.py:heads_first", "--seqlen", "17", "--causal", "true")
        self.assertEqual(statuses(ran), ["ok"], ran)
        self.assertIn("W-NO-LSE", [each["code"] for each in ran.cases[0]["warnings"]])

    def test_see_other_lengths_of_rows_than_of_keys(self):
        ran = sweep(FILES, "kernels.py:right", "--seqlen", "9", "--seqlen-k", "5", "--causal",
                    "true", "--pass", "fwd,bwd")  # fmt: skip
        self.assertEqual(statuses(ran), ["ok", "ok"], ran)

    def test_are_found_in_modules(self):
        ran = sweep(FILES, "more:again", "--seqlen", "17")
        self.assertEqual(statuses(ran), ["ok"], ran)

    def test_run_beside_the_programs_kernels(self):
        ran = sweep(FILES, "unfused-fp16,kernels.py:right", "--seqlen", "17")
        self.assertEqual(statuses(ran), ["ok", "ok"], ran)


class WrongFunctions(unittest.TestCase):
    def test_are_incorrect(self):
        for name in ("wrong_scale", "wrong_lse", "stale", "stale_by_address", "unwritten"):
            with self.subTest(name):
                ran = sweep(FILES, f"kernels.py:{name}", "--seqlen", "17")
                self.assertEqual((ran.status, statuses(ran)), (1, ["incorrect"]), ran)

    def test_fail_their_case_and_the_sweep_goes_on(self):
        ran = sweep(FILES, "kernels.py:raises", "--seqlen", "17,33")
        self.assertEqual((ran.status, statuses(ran)), (4, ["failed", "ok"]), ran)
        message = ran.cases[0]["reason"]["message"]
        self.assertIn("ValueError: seventeen is too many (kernels.py:", message)

    def test_cost_their_case_alone_if_they_kill_the_process(self):
        ran = sweep(FILES, "kernels.py:dies,kernels.py:right", "--seqlen", "17")
        self.assertEqual((ran.status, statuses(ran)), (4, ["failed", "ok"]), ran)
        self.assertEqual(ran.cases[0]["reason"]["code"], "E-SIGNAL")
        self.assertIn("about to die", ran.cases[0]["reason"]["message"])

    def test_are_told_what_was_wrong(self):
        for name, why in (
            ("returns_float32", "its o is float32; allowed: float16"),
            ("returns_rows", "its o has shape [1, 1, 2, 64]; allowed: [1, 17, 2, 64]"),
            ("returns_text", "it returned str; allowed: a numpy tensor"),
            ("returns_input", "its o is memory of its input q"),
            ("exits", "SystemExit: 3"),
        ):
            with self.subTest(name):
                ran = sweep(FILES, f"kernels.py:{name}", "--seqlen", "17")
                self.assertEqual((ran.status, statuses(ran)), (4, ["failed"]), ran)
                self.assertIn(why, ran.cases[0]["reason"]["message"])

    def test_are_found_if_they_ignore_strides(self):
        ran = sweep(FILES, "kernels.py:right,kernels.py:ignores_strides", "--seqlen", "17", "--layout",
                    "bshd,bhsd,qkv-packed,k-bhsd")  # fmt: skip
        self.assertEqual(statuses(ran), ["ok", "ok", *["ok", "incorrect"] * 3], ran)

    def test_must_not_write_to_their_inputs(self):
        ran = sweep(FILES, "kernels.py:writes_input", "--seqlen", "17")
        self.assertEqual((ran.status, statuses(ran)), (1, ["incorrect"]), ran)
        self.assertEqual(ran.cases[0]["reason"]["message"], "the kernel wrote its input q")


class UnsupportedProblems(unittest.TestCase):
    def test_are_skipped_with_the_reason(self):
        for name, flags, why in (
            ("declines", (), "NotImplementedError: not today"),
            ("unwritten", ("--causal", "true"), "unwritten has no mask causal; it has full"),
            ("unwritten", ("--dropout", "0.1"), "takes no argument 'dropout_p'"),
            ("unwritten", ("--heads-k", "1"), "takes no argument 'enable_gqa'"),
            ("unwritten", ("--pass", "bwd"), "has no"),
        ):
            with self.subTest((name, flags)):
                ran = sweep(FILES, f"kernels.py:{name}", "--seqlen", "17", *flags)
                self.assertEqual((ran.status, statuses(ran)), (2, ["skipped"]), ran)
                self.assertIn(why, ran.cases[0]["reason"]["message"])


class CommandLines(unittest.TestCase):
    def test_end_in_2_if_a_function_is_missing(self):
        for kernel, why in (
            ("kernels.py:nothing", "kernels.py has no 'nothing'; allowed: right, heads_first"),
            ("gone.py:f", "--kernel: 'gone.py:f': there is no file gone.py"),
            ("nowhere:f", "nowhere cannot be imported: ModuleNotFoundError"),
        ):
            with self.subTest(kernel):
                ran = sweep(FILES, kernel, "--seqlen", "17")
                self.assertEqual(ran.status, 2, ran)
                self.assertIn(why, ran.err)

    def test_have_every_command_and_its_exit_status(self):
        for arguments, status, says in (
            (("sweep", "--help"), 0, "--kernel"),
            (("list",), 0, "volta-fp32acc"),
            (("mask", "window:4", "--seqlen", "16"), 0, ""),
            (("swep",), 2, "did you mean"),
            (("--version",), 0, "sparkbench "),
            (("list", "--kernel", "kernels.py:right"), 0, "right"),
            (("sweep", "--device", "cuda:77"), 3, ""),
        ):
            with self.subTest(arguments):
                ran = test_host.run(arguments, FILES)
                self.assertEqual(ran.status, status, ran)
                self.assertIn(says, ran.out + ran.err)

    def test_run_in_this_process_if_asked(self):
        ran = sweep(FILES, "kernels.py:right", "--seqlen", "17", "--in-process")
        self.assertEqual((ran.status, statuses(ran)), (0, ["ok"]), ran)

    def test_end_of_a_closed_pipe_and_of_an_interrupt_as_the_program_does(self):
        command = [sys.executable, "-m", "sparkbench"]
        head = subprocess.run(
            " ".join(command) + " list --json | head -c 1; exit ${PIPESTATUS[0]}", shell=True,
            executable="/bin/bash", capture_output=True, text=True,
        )  # fmt: skip
        self.assertNotIn("Traceback", head.stderr)
        flags = ["sweep", *test_host.SMALL, "--kernel", "volta-*", "--seqlen", "64:4096:+64"]
        process = subprocess.Popen(
            [*command, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        while b"[1/" not in process.stderr.readline():  # it has not begun
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)


if __name__ == "__main__":
    unittest.main()
