"""The layers and what each computes. One test compares with the built program."""

import os
import pathlib
import unittest

import peer_layers
import sparkbench_cases
from test_peers import layer_of, layers_of


class Layers(unittest.TestCase):
    def test_each_is_on_every_problem_once(self):
        cases = layers_of("--mask", "full,causal")
        self.assertEqual(len(cases), 2 * (3 * 5 + 1))
        self.assertEqual(len({case.id for case in cases}), len(cases))
        self.assertEqual({case.kernel for case in cases}, set(peer_layers.LAYERS))

    def test_ids_say_what_pytorch_fuses(self):
        end = "b3/h4/sq24/sk24/d16/causal/p0/hidden64/ffn96/gelu-tanh/norm-post/rest-"
        for kernel, rest in (("torch-eager-flash", "unfused"), ("torch-script-math", "fused"),
                             ("torch-compile-cudnn", "fused"), ("torch-encoder-layer", "fused")):  # fmt: skip
            case = layer_of(kernel, "causal")
            self.assertEqual(case.id, f"{kernel}/fwd/{end}{rest}")
            self.assertEqual(case.shape["rest"], rest)

    def test_a_rest_cannot_be_asked_for(self):
        for flags in (("--rest", "fused"), ("--rest=fused",)):
            with self.assertRaisesRegex(sparkbench_cases.CasesError, "--rest.*choose by --kernel"):
                layers_of(*flags)

    def test_unknown_names_are_refused(self):
        with self.assertRaisesRegex(sparkbench_cases.CasesError, "--kernel: unknown 'torch-flash'"):
            layers_of("--kernel", "torch-flash")

    def test_repro_lines_are_the_peers_own(self):
        self.assertEqual(
            layer_of("torch-script-math", "causal", "--seed", "9").repro,
            "sweeps/torch_peers.py --layer encoder --kernel torch-script-math --pass fwd --mask "
            "causal --headdim 16 --seqlen 24 --seed 9",
        )


class Refusals(unittest.TestCase):
    def why(self, kernel, mask="full", *flags):
        return peer_layers.why_unsupported(layer_of(kernel, mask, *flags))

    def test_the_fast_path_says_where_it_does_not_apply(self):
        refused = {
            ("--pass", "bwd"): "forward passes alone",
            ("--dropout", "0.1"): "no dropout",
            ("--activation", "gelu-tanh"): "relu and gelu-erf",
            ("--bias", "false"): "with biases alone",
            ("--headdim", "64"): "no odd number of heads, as 1",
        }
        for flags, said in refused.items():
            flags = ("--activation", "relu", *flags)
            self.assertIn(said, self.why("torch-encoder-layer", "causal", *flags))
        self.assertEqual(self.why("torch-encoder-layer", "window:5", "--activation", "relu"), "")

    def test_masks_of_booleans_are_not_everyone_s(self):
        for way in peer_layers.WAYS:
            for mask in ("window:5", "sink:1+window:4"):
                for backend in ("unfused", "math", "efficient"):
                    self.assertEqual(self.why(f"torch-{way}-{backend}", mask), "")
                for backend in ("flash", "cudnn"):
                    self.assertIn("has full, causal", self.why(f"torch-{way}-{backend}", mask))

    def test_what_is_unknown_is_refused(self):
        self.assertIn(
            "do not know the uniform", self.why("torch-eager-math", "full", "--input", "uniform")
        )
        self.assertIn("zones", self.why("torch-eager-math", "zones:file.txt"))

    def test_a_layer_calls_the_attention_of_its_name(self):
        flash, math = "aten::_scaled_dot_product_flash_attention", "aten::bmm"
        why = peer_layers.why_another_attention
        self.assertEqual(why("torch-compile-flash", {flash, math}), "")
        self.assertEqual(why("torch-compile-flash", {flash + "_backward", math}), "")
        self.assertIn("called flash", why("torch-eager-math", {flash + "_backward", math}))
        self.assertEqual(why("torch-eager-unfused", {math}), "")
        self.assertIn("called flash in the place of math", why("torch-script-math", {flash}))
        self.assertIn("called no fused attention", why("torch-compile-cudnn", {math}))
        self.assertIn("did not take", why("torch-encoder-layer", {math}))
        self.assertEqual(why("torch-encoder-layer", {peer_layers.FAST_PATH_OPERATION}), "")


class BuiltProgram(unittest.TestCase):
    def test_it_plans_the_layers(self):
        program = os.environ.get("SPARKBENCH_PROGRAM", str(sparkbench_cases.BUILT))
        if not pathlib.Path(program).exists():
            self.skipTest(f"there is no {program}")
        for bias in ("true", "false"):
            flags = ("--norm", "pre", "--bias", bias, "--preset", "quick-encoder", "--pass", "fwd")
            case = layer_of("torch-compile-flash", "causal", *flags, program=program)
            without = "" if bias == "true" else "bias-false/"
            self.assertEqual(
                case.id,
                "torch-compile-flash/fwd/b3/h4/sq24/sk24/d16/causal/p0/hidden64/ffn96/gelu-tanh/"
                f"norm-pre/{without}rest-fused",
            )
            self.assertEqual(peer_layers.why_unsupported(case), "")
            stood_for = layer_of("torch-compile-flash", "causal", *flags)
            of_program, of_stand_in = (one.planned["layer"] for one in (case, stood_for))
            self.assertEqual(of_program["weight_bytes"], of_stand_in["weight_bytes"])
            self.assertEqual(set(of_program), set(of_stand_in))
            names = [
                [stage["name"] for stage in one["stages"]] for one in (of_program, of_stand_in)
            ]
            self.assertEqual(*names)
            self.assertNotIn("--rest", case.repro)
            self.assertIn("--hidden 64 --ffn 96", case.repro)


if __name__ == "__main__":
    unittest.main()
