"""Tests repeatability.py on runs with known spreads."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import repeatability


def run_of(medians, valid=True, mhz=None):
    return {
        "cases": [
            {
                "id": case,
                "valid": valid,
                "time_ms": median and {"median": median},
                "clock_mhz": mhz and {"median": mhz},
            }
            for case, median in medians.items()
        ]
    }


class Spreads(unittest.TestCase):
    def test_a_spread_is_the_range_over_the_middle(self):
        self.assertAlmostEqual(repeatability.spread_percent([1.0, 1.02, 1.01]), 100 * 0.02 / 1.01)

    def test_only_cases_that_all_runs_have_count(self):
        spreads = repeatability.spreads_of([{"a": 1.0, "b": 1.0}, {"a": 1.1, "c": 1.0}])
        self.assertEqual(list(spreads), ["a"])

    def test_nine_in_ten_leaves_one_of_ten_above(self):
        self.assertEqual(repeatability.of_nine_in_ten([float(i) for i in range(1, 11)]), 9.0)
        self.assertEqual(repeatability.of_nine_in_ten([3.0]), 3.0)


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def store(self, name, run):
        (self.folder / name).write_text(json.dumps(run), encoding="utf-8")

    def run_program(self, *arguments):
        command = [sys.executable, "-B", str(HERE / "repeatability.py"), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, check=False
        )

    def test_kernels_have_rows_and_cases_come_worst_first(self):
        self.store("1.json", run_of({"x/sq1": 1.0, "x/sq2": 2.0, "y/sq1": 5.0, "y/sq2": None}))
        (self.folder / "two").mkdir()
        self.store("two/run.json", run_of({"x/sq1": 1.0, "x/sq2": 2.02, "y/sq1": 5.5, "y/sq2": 1.0}))
        result = self.run_program("1.json", "two", "--cases")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line.split() for line in result.stdout.splitlines()]
        self.assertEqual(lines[1], ["x", "2", "0.50", "1.00", "1.00"])
        self.assertEqual(lines[2], ["y", "1", "9.52", "9.52", "9.52"])
        self.assertEqual(lines[3][:2], ["all", "3"])
        self.assertEqual([line[-1] for line in lines[4:]], ["y/sq1", "x/sq2", "x/sq1"])

    def test_a_slower_clock_is_no_difference_in_cycles(self):
        self.store("1.json", run_of({"x": 1.0}, mhz=1980))
        self.store("2.json", run_of({"x": 1.1}, mhz=1800))
        lines = self.run_program("1.json", "2.json").stdout.splitlines()
        self.assertEqual(lines[1].split()[2:], ["9.52", "9.52", "9.52"])
        self.assertEqual(lines[4].split()[:3], ["spread", "in", "cycles"])
        self.assertEqual(lines[5].split()[2:], ["0.00", "0.00", "0.00"])

    def test_what_cannot_be_compared_is_refused(self):
        self.store("1.json", run_of({"x": 1.0}))
        self.store("invalid.json", run_of({"x": 1.0}, valid=False))
        self.store("other.json", {"cases": [{}]})
        for arguments, says in (
            (("1.json",), "two or more"),
            (("1.json", "invalid.json"), "no case"),
            (("1.json", "other.json"), "no run can be read"),
            (("1.json", "missing.json"), "missing.json"),
        ):
            with self.subTest(arguments):
                result = self.run_program(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn(says, result.stderr)


if __name__ == "__main__":
    unittest.main()
