"""Errors of layers, and the verdicts on them. Skipped without PyTorch."""

import math
import unittest
from unittest import mock

from test_peers import layer_of, torch_or_skip

torch = torch_or_skip()
import peer_check  # noqa: E402
import peer_layer  # noqa: E402
import peer_layer_check  # noqa: E402

GRADIENTS = set(peer_layer.GRADIENTS.values())


def error(rel_l2, nonfinite=0):
    sizes = {"want_max_abs": 1.0, "want_rms": 1.0, "unit_max": 0.0, "unit_rms": 0.0}
    return {"rel_l2": rel_l2, "max_abs": rel_l2, "nonfinite": nonfinite, **sizes}


class Verdicts(unittest.TestCase):
    def why(self, of_layer, of_unfused, is_reference=False):
        return peer_layer_check.why_wrong("dWo", of_layer, of_unfused, 2.0, is_reference)

    def test_twice_the_unfused_layer_s_error_passes(self):
        self.assertEqual(self.why(error(2e-2), error(1e-2)), "")
        self.assertIn("dWo: rel_l2 0.03 exceeds 2 x 0.01", self.why(error(3e-2), error(1e-2)))
        self.assertIn("dWo", self.why(error(math.nan), error(1e-2)))

    def test_the_unfused_layer_is_the_measure(self):
        self.assertEqual(self.why(error(0.5), error(1e-2), True), "")
        self.assertIn("3 elements", self.why(error(math.nan, 3), error(1e-2), True))

    def test_beside_an_overflow_an_error_stands_alone(self):
        self.assertEqual(self.why(error(2.0**-9), error(math.nan, 1)), "")
        self.assertIn("exceeds", self.why(error(2.0**-7), error(math.nan, 1)))


class Units(unittest.TestCase):
    def test_are_those_of_fp16(self):
        want = torch.tensor([1.0, -2.5, 1e-6, 0.0], dtype=torch.float64)
        squares = [2.0**-20, 2.0**-18, 2.0**-48, 2.0**-48]
        units = peer_check.units_of(want)
        self.assertEqual(units["unit_max"], 2.0**-9)
        self.assertAlmostEqual(units["unit_rms"], (sum(squares) / 4) ** 0.5, 12)


class Checks(unittest.TestCase):
    def check(self, case, spoil=lambda layer: None, oracle=None):
        tensors = peer_layer.draw_tensors(torch, case, 1, "cpu")
        layer = peer_layer.Layer(torch, case, tensors, 0.0, "cpu", "aot_eager")
        spoil(layer)
        oracle = oracle or peer_layer_check.Oracle(torch, "cpu")
        return peer_layer_check.LayerCheck(torch, layer, 2.0, oracle)

    def test_a_right_layer_is_ok_in_all_parts(self):
        case = layer_of("torch-eager-math", "causal", "--pass", "fwd+bwd")
        check = self.check(case)
        self.assertEqual((check.why_incorrect(), check.warnings()), ("", []))
        parts = {part["of"]: part for part in check.parts()}
        self.assertEqual(set(parts), {"output", "before_residual"} | GRADIENTS)
        self.assertEqual(parts["output"]["checked_elements"], 3 * 24 * 64)
        self.assertEqual(parts["dWqkv"]["checked_elements"], 3 * 64 * 64)
        for part in parts.values():
            self.assertGreater(part["rel_l2"], 0)
            self.assertLess(part["rel_l2"], 2.0**-5)
            self.assertLess(part["over_unfused"], 2)
        self.assertIsNone(check.accuracy())

    def test_a_layer_without_biases_has_none_of_their_gradients(self):
        case = layer_of("torch-eager-math", "causal", "--pass", "bwd", "--bias", "false")
        found = {part["of"] for part in self.check(case).parts()}
        self.assertEqual(GRADIENTS - found, {"dbqkv", "dbo", "db1", "db2"})

    def test_a_wrong_layer_is_incorrect_and_says_where(self):
        def of_another_activation(layer):
            layer.module.activation = "gelu-erf"

        def of_a_larger_epsilon(layer):
            layer.module.norm_2.eps = 1e-1

        def of_no_mask(layer):
            layer.module.attention.causal = False

        for spoil in (of_another_activation, of_a_larger_epsilon, of_no_mask):
            with self.subTest(spoil.__name__):
                case = layer_of("torch-eager-math", "causal", "--activation", "relu")
                self.assertIn("output: rel_l2", self.check(case, spoil).why_incorrect())

    def test_a_wrong_gradient_alone_is_found(self):
        case = layer_of("torch-eager-math", "causal", "--pass", "bwd")

        def of_twice_the_gradient(layer):
            layer.module.down.bias.register_hook(lambda gradient: 2 * gradient)

        self.assertIn("db2: rel_l2", self.check(case, of_twice_the_gradient).why_incorrect())

    def test_of_many_tokens_the_first_sequences_are_compared(self):
        case = layer_of("torch-eager-math", "causal", "--pass", "fwd+bwd", "--seqlen", "90")
        for tokens, sequences in ((200, 2), (80, 1)):
            with mock.patch("peer_layer_check.CHECKED_TOKENS", tokens):
                check = self.check(case)
            self.assertEqual((check.count, check.why_incorrect()), (sequences, ""))
            self.assertEqual(check.parts()[0]["checked_elements"], sequences * 90 * 64)
            (warning,) = check.warnings()
            found = warning["code"], warning["value"]
            self.assertEqual(found, ("W-SAMPLED-ROWS", sequences * 90))

    def test_accuracy_is_the_output_s(self):
        case = layer_of("torch-eager-math")

        def of_one_wrong_column(layer):
            is_37 = torch.arange(64) == 37
            layer.module.norm_2.register_forward_hook(lambda _module, _inputs, y: y + is_37)

        accuracy = self.check(case, of_one_wrong_column).accuracy()
        self.assertEqual(accuracy["worst_index"][2:], [37 // 16, 37 % 16])
        self.assertLess(accuracy["worst_index"][0], 3)
        self.assertTrue(accuracy["bitwise_repeatable"])
        self.assertEqual((accuracy["output"], accuracy["nonfinite"]), ("o", 0))

    def test_the_oracle_is_kept_for_the_same_problem(self):
        oracle = peer_layer_check.Oracle(torch, "cpu")
        tensors = peer_layer.draw_tensors(torch, layer_of("torch-eager-math"), 1, "cpu")
        known = oracle.outputs(layer_of("torch-eager-math"), tensors)
        alike = layer_of("torch-compile-flash", "full", "--dropout", "0.1")
        self.assertIs(oracle.outputs(alike, tensors), known)
        others = (
            ("causal",),
            ("full", "--norm", "pre"),
            ("full", "--pass", "bwd"),
            ("full", "--seed", "1"),
        )
        for other in others:
            self.assertIsNot(oracle.outputs(layer_of("torch-eager-math", *other), tensors), known)
            oracle.outputs(alike, tensors)


if __name__ == "__main__":
    unittest.main()
