"""Verdicts."""

import math
import unittest

import peer_attention
import peer_verdict
from test_peers import mask_of


class Verdicts(unittest.TestCase):
    def errors(self, rel_l2, nonfinite=0):
        return {
            "rel_l2": rel_l2, "max_abs": rel_l2, "rmse": rel_l2, "nonfinite": nonfinite,
            "want_max_abs": 1.0, "want_rms": 1.0, "unit_max": 0.0, "unit_rms": 0.0,
        }  # fmt: skip

    def judge(self, is_reference, error, of_unfused):
        """(why it is incorrect, codes of the warnings)"""
        why, warnings = peer_verdict.judge(is_reference, {"o": error}, {"o": of_unfused}, 2.0)
        return why, [warning["code"] for warning in warnings]

    def test_twice_the_unfused_error_passes(self):
        limit = 2 * 1e-2 + peer_verdict.TOLERANCE_FLOOR
        self.assertEqual(peer_verdict.why_wrong(self.errors(limit), self.errors(1e-2), 2.0), "")
        self.assertNotEqual(
            peer_verdict.why_wrong(self.errors(1.01 * limit), self.errors(1e-2), 2.0), ""
        )

    def test_an_unfused_computation_that_errs_grants_no_more(self):
        most = peer_verdict.MOST_GRANTED
        doubtful = self.errors(2 * most)
        self.assertEqual(self.judge(False, self.errors(most), doubtful), ("", ["W-UNFUSED-INACCURATE"]))
        self.assertIn("too much", self.judge(False, self.errors(1.1 * most), doubtful)[0])

    def test_a_unit_of_fp16_passes(self):
        error, none = self.errors(2.0**-10), self.errors(0.0)
        self.assertNotEqual(self.judge(False, error, none)[0], "")
        error.update(unit_max=2.0**-10, unit_rms=2.0**-10)
        self.assertEqual(peer_verdict.why_wrong(error, none, 2.0), "")

    def test_every_output_is_judged(self):
        errors = {"o": self.errors(0.0), **self.gradients()}
        judged = lambda: peer_verdict.judge(False, errors, errors, 2.0)  # noqa: E731
        self.assertEqual(judged(), ("", []))
        errors["o"]["nonfinite"] = 3
        self.assertIn("o: 3 elements are not finite", judged()[0])
        errors["dk"]["nonfinite"] = 2
        self.assertIn("; dk: 2 elements", judged()[0])

    def test_nan_does_not_pass(self):
        good = self.errors(1e-2)
        self.assertNotEqual(peer_verdict.why_wrong(self.errors(math.nan), good, 2.0), "")
        self.assertNotEqual(peer_verdict.why_wrong(self.errors(0.0, 1), good, 2.0), "")

    def test_a_finite_reference_is_never_incorrect(self):
        bad, good = self.errors(0.5), self.errors(1e-3)
        self.assertIn("o: rel_l2 0.5 exceeds 2 x 0.001", self.judge(False, bad, good)[0])
        self.assertEqual(
            self.judge(True, bad, good), ("", ["W-REFERENCE-INACCURATE", "W-ERROR-OVER-UNFUSED"])
        )
        self.assertEqual(self.judge(True, good, good), ("", []))
        why, codes = self.judge(True, self.errors(math.nan, 3), good)
        self.assertIn("o: 3 elements are not finite", why)
        self.assertEqual(codes, [])

    def test_an_overflowing_unfused_computation_measures_nothing(self):
        overflowed = self.errors(math.nan, 7)
        within, beyond = self.errors(2.0**-8), self.errors(1.01 * 2.0**-8)
        self.assertEqual(self.judge(False, within, overflowed), ("", ["W-UNFUSED-NOT-FINITE"]))
        self.assertIn("exceeds 0.00391", self.judge(False, beyond, overflowed)[0])
        self.assertEqual(self.judge(True, beyond, overflowed), ("", ["W-REFERENCE-INACCURATE"]))
        self.assertNotEqual(self.judge(True, self.errors(math.nan, 1), overflowed)[0], "")

    def test_gradients_of_a_finite_reference_pass_with_warnings(self):
        bad = self.gradients(dk=0.5)
        for errors in bad.values():
            errors["rel_l2"] = errors["rmse"]
        why, warnings = peer_verdict.judge(True, bad, bad, 2.0)
        self.assertEqual(why, "")
        self.assertIn("dk: rmse 0.5 exceeds 0.00781: these inputs", warnings[0]["message"])

    def test_a_ratio_beside_rounding_errors_says_nothing(self):
        tiny, error = self.errors(1e-9), self.errors(2.0**-12)
        self.assertEqual(self.judge(False, error, tiny), ("", []))

    def gradients(self, **rmse):
        """dq, dk and dv with wanted size 1, or all zero."""
        return {
            name: {"nonfinite": 0, "rmse": value, "max_abs": value, "want_rms": size,
                   "want_max_abs": size, "rel_l2": value, "unit_max": 0.0, "unit_rms": 0.0}
            for name, value, size in (
                ("dq", rmse.get("dq", 0.0), 0.0), ("dk", rmse.get("dk", 0.0), 0.0),
                ("dv", rmse.get("dv", 0.0), 1.0),
            )
        }  # fmt: skip

    def test_gradients_are_measured_by_the_largest(self):
        floor, none = peer_verdict.TOLERANCE_FLOOR, self.gradients()
        for name in peer_attention.GRADIENTS:
            good = self.gradients(**{name: floor})
            self.assertEqual(peer_verdict.why_gradients_wrong(good, none, 2.0), "")
            bad = self.gradients(**{name: 1.01 * floor})
            self.assertIn(f"{name}: rmse", peer_verdict.why_gradients_wrong(bad, none, 2.0))
        nan = self.gradients(dk=math.nan)
        self.assertIn("dk: rmse", peer_verdict.why_gradients_wrong(nan, none, 2.0))

    def test_exactly_one_window_may_agree(self):
        mask, asked = mask_of("window:5"), []

        def agrees_with_six(miss):
            asked.append(miss.name)
            return miss.name == "window:6"

        self.assertEqual(peer_verdict.why_in_doubt(mask, lambda miss: False), "")
        self.assertIn(
            "agrees with window:5 and with window:6",
            peer_verdict.why_in_doubt(mask, agrees_with_six),
        )
        self.assertEqual(asked, ["window:4", "window:6"])


if __name__ == "__main__":
    unittest.main()
