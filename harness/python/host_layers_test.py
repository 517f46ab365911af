#!/usr/bin/env python3
"""`python -m sparkbench encoder` with layers of PyTorch on an emulated device, in the host's memory."""

import unittest

import test_host

test_host.need("torch")
import torch  # noqa: E402
from host_abi_test import layer_problem  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from sparkbench.peers import torch_layers  # noqa: E402

KERNELS = """
    import torch
    import sparkbench
    from torch.nn import functional as f
    from sparkbench.peers import torch_layers

    @sparkbench.kernel(layer=True)
    def plain(problem):
        n, h = problem.layer, problem.heads

        def layer(x, w):
            q, k, v = f.linear(x, w["w_qkv"], w["b_qkv"]).chunk(3, -1)
            q, k, v = (t.unflatten(-1, (h, -1)).transpose(1, 2) for t in (q, k, v))
            o = f.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            a = f.linear(o, w["w_o"], w["b_o"])
            z = f.layer_norm(x + a, [n.hidden], w["gamma_1"], w["beta_1"], n.EPSILON)
            g = f.gelu(f.linear(z, w["w_1"], w["b_1"]), approximate="tanh")
            y = z + f.linear(g, w["w_2"], w["b_2"])
            return f.layer_norm(y, [n.hidden], w["gamma_2"], w["beta_2"], n.EPSILON)
        return layer

    @sparkbench.kernel(layer=True)
    def without_bias(problem):
        layer = plain(problem)
        return lambda x, w: layer(x, {**w, "b_2": torch.zeros_like(w["b_2"])})

    @sparkbench.kernel(layer=True)
    def wrong_gradient(problem):
        layer = plain(problem)
        return lambda x, w: layer(x, w) + (w["b_1"] - w["b_1"].detach()).sum()

    @sparkbench.kernel(layer=True)
    def blind(problem):
        layer = plain(problem)
        return lambda x, w: layer(x, {**w, "w_o": w["w_o"].detach()})

    @sparkbench.kernel(layer=True)
    def flat(problem):
        layer = plain(problem)
        return lambda x, w: layer(x, w).flatten(0, 1)

    @sparkbench.kernel(layer=True)
    def overwrites(problem):
        layer = plain(problem)
        return lambda x, w: layer(x, w) + w["gamma_2"].mul_(1.5).sum() * 0

    def attention(q, k, v):
        return q
"""
SMALL = ("--device", "emulated-v100", "--headdim", "16", "--hidden", "64", "--ffn", "96",
         "--batch", "2")  # fmt: skip


def encoder(kernel, *arguments):
    flags = [*SMALL, "--kernel", kernel, *arguments]
    flags += [] if "--lengths" in arguments else ["--seqlen", "24"]
    for flag, value in (("--dropout", "0"), ("--mask", "full"), ("--rest", "unfused")):
        if flag not in arguments:
            flags += [flag, value]
    return test_host.run(["encoder", *flags], {"kernels.py": KERNELS})


class Layers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ran = encoder("kernels.py", "--pass", "fwd,bwd", "--mask", "full,causal")
        cls.cases = {
            (case["kernel"], case["problem"]["pass"], case["problem"]["mask"]): case
            for case in cls.ran.cases
        }

    def check(self, kernel, direction, status, why="", mask="full"):
        case = self.cases[kernel, direction, mask]
        self.assertEqual(case["status"], status, case["reason"])
        self.assertIn(why, (case["reason"] or {"message": ""})["message"])
        return case

    def test_one_of_ten_lines_is_ok(self):
        forward, backward = (self.check("plain", direction, "ok") for direction in ("fwd", "bwd"))
        self.assertEqual((forward["layer"]["launches"], forward["layer"]["stages"]), (0, []))
        self.assertEqual([part["of"] for part in forward["layer"]["errors"]], ["output"])
        self.assertIn("--kernel kernels.py:plain ", forward["repro"])
        names = {part["of"] for part in backward["layer"]["errors"]}
        self.assertEqual(len(names), 14)
        self.assertLessEqual({"output", "dx", "dWqkv", "dbqkv", "dW2", "dgamma1", "dbeta2"}, names)

    def test_what_is_wrong_is_named(self):
        self.assertEqual(self.ran.status, 1, self.ran)
        self.check("without_bias", "fwd", "incorrect", "output: ")
        self.check("wrong_gradient", "bwd", "incorrect", "db1: ")
        self.check("wrong_gradient", "fwd", "ok")

    def test_what_is_no_result_says_why(self):
        self.check("blind", "bwd", "skipped", "no gradient for w_o")
        self.check("flat", "fwd", "failed", "its y has shape [24, 64]; allowed: [1, 24, 64]")
        self.check("overwrites", "fwd", "failed", "it wrote to its input gamma_2")
        self.check("plain", "fwd", "skipped", "has no mask causal", mask="causal")
        ran = encoder("kernels.py:plain", "--lengths", "uniform:1:9")
        self.assertIn("sequences of one length", ran.cases[0]["reason"]["message"])

    def test_attention_and_layers_are_not_taken_for_each_other(self):
        ran = encoder("kernels.py:attention")
        self.assertEqual(ran.status, 2, ran)
        self.assertIn("computes attention by itself", ran.err)
        ran = test_host.sweep({"kernels.py": KERNELS}, "kernels.py:plain", "--seqlen", "17")
        self.assertEqual(ran.status, 2, ran)
        self.assertIn("computes whole layers; allowed: sparkbench encoder", ran.err)


class Peers(unittest.TestCase):
    def check(self, ran, kernels):
        ok = {case["kernel"] for case in ran.cases if case["status"] == "ok"}
        bad = [case for case in ran.cases if case["status"] not in ("ok", "skipped")]
        self.assertEqual((ran.status, ok, bad), (0, kernels, []), ran)

    def test_each_way_is_ok(self):
        ran = encoder(
            "peers:torch-*", "--rest", "unfused,fused", "--pass", "fwd,fwd+bwd",
            "--norm", "pre", "--activation", "relu", "--mask", "causal",
        )  # fmt: skip
        ways = {f"torch-{way}-{x}" for way in torch_layers.WAYS for x in ("unfused", "math")}
        self.check(ran, ways | {"torch-encoder-layer"})

    def test_masks_activations_and_biases_are_theirs(self):
        ran = encoder(
            "peers:torch-eager-*", "--activation", "gelu-tanh,gelu-erf", "--bias", "both",
            "--mask", "full,window:5,sink:1+window:3", "--dropout", "0,0.1",
        )  # fmt: skip
        self.check(ran, {"torch-eager-unfused", "torch-eager-math"})
        self.assertEqual([case["status"] for case in ran.cases], ["ok"] * (2 * 2 * 2 * 3 * 2))
        for case in ran.cases:  # verified without dropout
            has_own = "W-OWN-DROPOUT-MASK" in [each["code"] for each in case["warnings"]]
            self.assertEqual(has_own, case["problem"]["dropout_p"] > 0)

    def test_why_the_fast_path_is_not_taken(self):
        why = torch_layers.why_not_fast
        self.assertIsNone(why(layer_problem(activation="relu")))
        for fields, said in (
            ({"rest": "unfused"}, "--rest fused"),
            ({"direction": "bwd"}, "forward passes"),
            ({"dropout_p": 0.1}, "no dropout"),
            ({"activation": "gelu-tanh"}, "relu and gelu-erf"),
            ({"bias": False}, "needs biases"),
            ({"heads": 3}, "even number of heads, which 3 is not"),
        ):
            self.assertIn(said, why(layer_problem(**{"activation": "relu", **fields})))


class Calls(TorchDispatchMode):
    """The names of what PyTorch computes."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        self.names.add(str(function))
        return function(*arguments, **(options or {}))


class Attention(unittest.TestCase):
    def test_is_the_one_of_the_name(self):
        flash = "aten._scaled_dot_product_flash_attention_for_cpu.default"
        problem = layer_problem()
        weights = {name: torch.randn(shape) for name, shape in problem.layer.weights.items()}
        for attention, has_flash in (("flash", True), ("math", False), ("unfused", False)):
            layer = torch_layers.prepared("eager", attention, problem)
            with Calls() as calls:
                layer(torch.randn(problem.x_shape), weights)
            self.assertEqual(flash in calls.names, has_flash, attention)
            self.assertEqual("aten.baddbmm.default" in calls.names, attention == "unfused")


if __name__ == "__main__":
    unittest.main()
