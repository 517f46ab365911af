"""What counts as wrong."""

import math
import unittest

import peer_attention
import peer_check
from test_peers import case_of, mask_of


class Verdicts(unittest.TestCase):
    def errors(self, rel_l2, nonfinite=0):
        return {"rel_l2": rel_l2, "max_abs": rel_l2, "nonfinite": nonfinite, "want_max_abs": 1.0}

    def test_twice_the_unfused_error_passes(self):
        limit = 2 * 1e-2 + peer_check.TOLERANCE_FLOOR
        self.assertEqual(peer_check.why_wrong(self.errors(limit), self.errors(1e-2), 2.0), "")
        self.assertNotEqual(
            peer_check.why_wrong(self.errors(1.01 * limit), self.errors(1e-2), 2.0), ""
        )

    def test_nan_does_not_pass(self):
        good = self.errors(1e-2)
        self.assertNotEqual(peer_check.why_wrong(self.errors(math.nan), good, 2.0), "")
        self.assertNotEqual(peer_check.why_wrong(self.errors(0.0, 1), good, 2.0), "")

    def test_the_first_and_the_last_head_are_checked(self):
        heads = peer_check.checked_heads(
            case_of("torch-math", "full", "--batch", "4", "--heads", "8")
        )
        self.assertEqual((heads[0], heads[-1], len(heads)), ((0, 0), (3, 7), 4))

    def test_a_key_head_is_that_of_its_readers(self):
        case = case_of("torch-math", "full", "--heads", "6", "--heads-k", "2")
        self.assertEqual(case.key_shape[2], 2)
        heads = [(0, 2), (0, 3), (1, 5)]
        keys = [peer_check.key_head_of(case, head) for head in heads]
        self.assertEqual(keys, [(0, 0), (0, 1), (1, 1)])

    def gradients(self, **rmse):
        """dq, dk and dv of wanted size 1, or of none at all."""
        return {
            name: {"nonfinite": 0, "rmse": value, "max_abs": value, "want_rms": size,
                   "want_max_abs": size}
            for name, value, size in (
                ("dq", rmse.get("dq", 0.0), 0.0), ("dk", rmse.get("dk", 0.0), 0.0),
                ("dv", rmse.get("dv", 0.0), 1.0),
            )
        }  # fmt: skip

    def test_gradients_are_measured_by_the_largest(self):
        floor, none = peer_check.TOLERANCE_FLOOR, self.gradients()
        for name in peer_attention.GRADIENTS:
            good = self.gradients(**{name: floor})
            self.assertEqual(peer_check.why_gradients_wrong(good, none, 2.0), "")
            bad = self.gradients(**{name: 1.01 * floor})
            self.assertIn(f"{name}: rmse", peer_check.why_gradients_wrong(bad, none, 2.0))
        nan = self.gradients(dk=math.nan)
        self.assertIn("dk: rmse", peer_check.why_gradients_wrong(nan, none, 2.0))

    def test_exactly_one_window_may_agree(self):
        mask, asked = mask_of("window:5"), []

        def agrees_with_six(miss):
            asked.append(miss.name)
            return miss.name == "window:6"

        self.assertEqual(peer_check.why_in_doubt(mask, lambda miss: False), "")
        self.assertIn(
            "agrees with window:5 and with window:6", peer_check.why_in_doubt(mask, agrees_with_six)
        )
        self.assertEqual(asked, ["window:4", "window:6"])


if __name__ == "__main__":
    unittest.main()
