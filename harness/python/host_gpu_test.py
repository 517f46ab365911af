#!/usr/bin/env python3
"""Every installed peer on a GPU, on small shapes: exit status, verdicts and times.

    python harness/python/host_gpu_test.py             after pip install ./harness/python
    python harness/python/host_gpu_test.py Functions   in two minutes: no peers, whose compilers take long
"""

import collections
import unittest

import test_host

test_host.need("torch")
import host_layers_test  # noqa: E402
import torch  # noqa: E402

if not torch.cuda.is_available():
    print("skipped: no CUDA device")
    raise SystemExit(77)

# A right kernel is ok, or does not support the problem.
ALLOWED = {"ok", "skipped"}
FLAGS = ("--device", "cuda:0", "--heads", "4", "--batch", "2")
NO_DROPOUT = ("--dropout", "0")

WRONG = """
    import torch
    import sparkbench

    def sdpa(q, k, v, *, causal, softmax_scale):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, scale=softmax_scale).transpose(1, 2)

    def wrong_scale(q, k, v, *, causal, softmax_scale):
        return sdpa(q, k, v, causal=causal, softmax_scale=1.02 * softmax_scale)

    def stale(q, k, v, *, causal, softmax_scale, kept={}):
        if q.shape not in kept:
            kept[q.shape] = sdpa(q, k, v, causal=causal, softmax_scale=softmax_scale)
        return kept[q.shape]

    def on_another_stream(q, k, v, *, causal, softmax_scale, streams=[]):
        if not streams:
            streams.append(torch.cuda.Stream())
        streams[0].wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(streams[0]):
            out = sdpa(q, k, v, causal=causal, softmax_scale=softmax_scale)
        torch.cuda.current_stream().wait_stream(streams[0])
        return out

    def writes_k(q, k, v, *, causal, softmax_scale):
        k.data[0, 0, 0, 0] += 1
        return sdpa(q, k, v, causal=causal, softmax_scale=softmax_scale)

    def raises(q, k, v):
        raise ValueError("not on a GPU either")

    def writes_out_of_bounds(q, k, v):
        torch.cuda.current_stream()
        index = torch.tensor([1 << 40], device=q.device)
        return torch.index_select(q, 1, index)

    def too_large(q, k, v):
        return torch.empty(1 << 50, dtype=torch.float16, device=q.device)
"""


def statuses(ran):
    return collections.Counter(case["status"] for case in ran.cases)


def kernels_and_statuses(ran):
    return [(case["kernel"], case["status"]) for case in ran.cases]


def say(ran):
    print(ran.err)
    for case in ran.cases:
        reason = (case["reason"] or {}).get("message", "")
        time_ms = (case["time_ms"] or {}).get("median")
        print(f"{case['id']:<70} {case['status']:<10} {time_ms} {reason}", flush=True)


class Peers(unittest.TestCase):
    def check(self, *flags, command="sweep", shape=FLAGS, peers="peers"):
        files = {"lengths.txt": "100\n512\n37\n"}
        ran = test_host.run([command, *shape, "--kernel", f"{peers},cublas-fp16", *flags], files)
        say(ran)
        self.assertIn(ran.status, (0, 2), ran)
        self.assertLessEqual(set(statuses(ran)), ALLOWED)
        self.assertGreater(statuses(ran)["ok"], 1)
        for case in ran.cases:
            if case["status"] == "ok":
                self.assertGreater(case["time_ms"]["median"], 0, case["id"])
                self.assertTrue(case["libraries"], case["id"])

    def test_forward_and_backward(self):
        self.check(*NO_DROPOUT, "--headdim", "64,128", "--seqlen", "512", "--causal", "both",
                   "--pass", "fwd,bwd")  # fmt: skip

    def test_masks(self):
        self.check(*NO_DROPOUT, "--headdim", "64", "--seqlen", "500", "--pass", "fwd,bwd", "--mask",
                   "window:100,band:60:30,prefix:80,sink:4+window:64")  # fmt: skip

    def test_shared_heads_and_dropout(self):
        self.check("--headdim", "64", "--seqlen", "512", "--pass", "fwd,bwd", "--heads-k", "2",
                   "--dropout", "0,0.1")  # fmt: skip

    def test_varlen(self):
        self.check(*NO_DROPOUT, "--headdim", "64", "--lengths", "file:lengths.txt", "--causal", "both", "--pass",
                   "fwd,bwd")  # fmt: skip


    def test_layers(self):
        # Layers that are compiled or scripted are compiled for each problem and pass: one problem.
        common = ("--hidden", "256", "--ffn", "512", "--headdim", "64", "--seqlen", "512",
                  "--activation", "relu")  # fmt: skip
        shape = ("--device", "cuda:0", "--batch", "2")
        self.check(*common, "--pass", "fwd,bwd,fwd+bwd", "--dropout", "0,0.1", "--mask", "causal",
                   "--rest", "unfused", command="encoder", shape=shape,
                   peers="peers:torch-eager-*,peers:torch-encoder-layer")  # fmt: skip
        self.check(*common, "--pass", "fwd+bwd", "--dropout", "0.1", "--mask", "full", "--rest",
                   "fused", command="encoder", shape=shape,
                   peers="peers:torch-compile-flash,peers:torch-script-cudnn")  # fmt: skip


class Functions(unittest.TestCase):
    def run_one(self, name, *flags):
        ran = test_host.run(
            ["sweep", *FLAGS, *NO_DROPOUT, "--headdim", "64", "--seqlen", "512", "--causal", "false",
             "--kernel", f"mine.py:{name}", *flags], {"mine.py": WRONG},
        )  # fmt: skip
        say(ran)
        return ran

    def test_that_are_right_are_timed_on_any_stream(self):
        for name in ("sdpa", "on_another_stream"):
            ran = self.run_one(name, "--pass", "fwd,bwd,fwd+bwd")
            self.assertEqual((ran.status, statuses(ran)["ok"]), (0, 3), ran)
            for case in ran.cases:
                self.assertGreater(case["memory_bytes"]["peak"], 0)

    def test_that_are_wrong_are_found(self):
        for name in ("wrong_scale", "stale"):
            ran = self.run_one(name)
            self.assertEqual((ran.status, statuses(ran)["incorrect"]), (1, 1), ran)

    def test_that_write_inputs_harm_no_other(self):
        ran = self.run_one("writes_k,mine.py:sdpa")
        self.assertEqual(kernels_and_statuses(ran), [("writes_k", "incorrect"), ("sdpa", "ok")], ran)
        self.assertEqual(ran.cases[0]["reason"]["message"], "the kernel wrote its input k")
        ran = test_host.run(
            ["encoder", "--device", "cuda:0", "--headdim", "64", "--hidden", "128", "--ffn", "256",
             "--batch", "2", "--seqlen", "128", "--mask", "full", *NO_DROPOUT, "--rest", "unfused",
             "--pass", "fwd", "--kernel", "mine.py:overwrites,mine.py:plain"],
            {"mine.py": host_layers_test.KERNELS},
        )  # fmt: skip
        say(ran)
        self.assertEqual(kernels_and_statuses(ran), [("overwrites", "failed"), ("plain", "ok")], ran)
        self.assertIn("it wrote to its input gamma_2", ran.cases[0]["reason"]["message"])

    def test_that_fail_cost_their_case(self):
        for name, code in (("raises", "E-RUN"), ("too_large", "E-OUT-OF-MEMORY"),
                           ("writes_out_of_bounds", None)):  # fmt: skip
            ran = self.run_one(name)
            self.assertEqual((ran.status, statuses(ran)["failed"]), (4, 1), ran)
            if code:
                self.assertEqual(ran.cases[0]["reason"]["code"], code, ran)


if __name__ == "__main__":
    unittest.main()
