#!/usr/bin/env python3
"""What plot.py makes of outputs that are not finite. Needs no matplotlib."""

import csv
import json
import math
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import plot


def row(seqlen, rel_l1, nonfinite):
    return {
        "kernel": "a",
        "pass": "fwd",
        "head_dim": 64,
        "causal": "false",
        "seqlen_q": seqlen,
        "rel_l1": rel_l1,
        "nonfinite": nonfinite,
        "tflops": None,
    }


class NotFinite(unittest.TestCase):
    def points(self, rows):
        (kernels,) = plot.collect(rows, "rel_l1").values()
        return sorted(kernels["a"].items())

    def test_leaves_a_gap_where_one_of_several_is(self):
        points = self.points([row(512, 0.001, 0), row(1024, 0.001, 0), row(1024, None, 7)])
        self.assertEqual(points[0], (512, [0.1]))
        self.assertTrue(any(map(math.isnan, points[1][1])))
        self.assertEqual(plot.label_of("a", points), "a (not finite at 1024)")

    def test_is_no_zero_in_early_records(self):
        ((_, (value,)),) = self.points([row(512, 0.0, 64)])
        self.assertTrue(math.isnan(value))

    def test_is_told_from_a_case_that_was_not_verified(self):
        self.assertEqual(plot.collect([row(512, None, None)], "rel_l1"), {})

    def test_is_read_alike_from_json_and_csv(self):
        gradients = {name: {"rel_l1": 0.0, "nonfinite": 0} for name in plot.GRADIENTS}
        gradients["dk"]["nonfinite"] = 3
        problem = {"pass": "bwd", "head_dim": 64, "causal": False, "seqlen_q": 512}
        case = {"kernel": "a", "problem": problem, "accuracy": gradients, "tflops": None}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.json"
            path.write_text(json.dumps({"cases": [case]}), "utf-8")
            from_json = plot.read_rows(path)
            table = path.with_suffix(".csv")
            with open(table, "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, from_json[0])
                writer.writeheader()
                writer.writerows(from_json)
            for rows in (from_json, plot.read_rows(table)):
                self.assertTrue(math.isnan(plot.value_of(rows[0], "rel_l1")))


if __name__ == "__main__":
    unittest.main()
