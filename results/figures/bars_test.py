#!/usr/bin/env python3
"""Bars, layers and advice: what is compared with what, and how it is drawn."""

import copy
import json
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from figures import advice, bars, difference, layers, panels, style
from figures.cases import read_run
from figures.test_records import BAND, H200, PLAIN, Draws, Runs, emulated, layer_record, record


class Compares(Runs):
    def test_with_a_reference_of_the_run_or_of_another(self):
        fast = {"median": 0.5, "q1": 0.4, "q3": 0.5}
        cases = self.cases(record("slow")) + self.cases(record("fast", time_ms=fast), name="two")
        ratio = bars.speedups(cases, "slow")["two", cases[1].id]
        self.assertEqual((ratio.low, ratio.value, ratio.high), (1.9 / 0.5, 4.0, 2.2 / 0.4))
        with self.assertRaisesRegex(ValueError, "--reference: no time of 'z'; the runs have times of fast"):
            bars.speedups(cases, "z")

    def test_the_published_records_speedups(self):
        ratios = bars.speedups(read_run(H200), "cublas-fp16")
        with open(H200 / "run.json", encoding="utf-8") as file:
            for case in json.load(file)["cases"]:
                if case["speedup"]:
                    found = ratios["paper-forward", case["id"]].value
                    self.assertAlmostEqual(found, case["speedup"]["ratio"])

    def test_two_runs_by_the_cases_that_both_have(self):
        longer = {"median": 2.2, "q1": 2.2, "q3": 2.2}
        cases = self.cases(record(), record("b")) + self.cases(record(time_ms=longer), name="two")
        cases = [c if c.kernel == "b" else copy.copy(c) for c in cases]
        one, two = cases[0], cases[2]
        ratio, doubt = difference.ratio_and_doubt(one, two)
        self.assertAlmostEqual(ratio, 1.1)
        self.assertAlmostEqual(doubt, 3 * 1.1 * math.sqrt(2e-6 + 9e-6))


class Baselines(Runs):
    def test_are_cublas_where_the_runs_have_it(self):
        both = self.cases(record("unfused-fp16"), record("cublas-fp16"))
        self.assertEqual(bars.baseline_of(both, None), "cublas-fp16")
        self.assertEqual(bars.baseline_of(both[:1], None), "unfused-fp16")
        self.assertEqual(bars.baseline_of(both, "cudnn"), "cudnn")


class Layers(Runs):
    def cases_of_layers(self):
        return self.cases(
            layer_record("unfused-fp16", "unfused", ms=4.0),
            layer_record("ours", "unfused", ms=3.0),
            layer_record("ours", "fused", ms=2.0),
        )

    def test_have_stages_and_a_rest(self):
        one = self.cases(layer_record("ours", "fused"))[0]
        self.assertEqual(one.stages, {"qkv": 1.0, "mha": 1.0})
        self.assertEqual((one.axes["ffn"], one.axes["rest"], one.axes["bias"]), (8192, "fused", "true"))
        self.assertEqual((one.mark, one.kind), ("", "predicted"))
        self.assertIsNone(self.cases(record())[0].axes["rest"])

    def test_are_series_by_kernel_and_rest(self):
        made = layers.of_layers(self.cases_of_layers())
        names = [series for series, _ in panels.Panels(made).series]
        self.assertEqual(names, ["unfused-fp16, rest unfused", "ours, rest fused", "ours, rest unfused"])
        with self.assertRaisesRegex(ValueError, "no case is of an encoder layer"):
            layers.of_layers(self.cases(record()))

    def test_are_compared_with_the_unfused_one(self):
        made = layers.of_layers(self.cases_of_layers())
        reference = bars.baseline_of(made, None, layers.UNFUSED)
        self.assertEqual(reference, "unfused-fp16, rest unfused")
        ratios = sorted(ratio.value for ratio in bars.speedups(made, reference).values())
        self.assertEqual(ratios, [1.0, 4.0 / 3.0, 2.0])


class DrawsBars(Draws):
    def test_bars_with_marks_and_hatches(self):
        band = {"time_ms": {"low": 1.0, "likely": 2.0, "high": 4.0}}
        oom = {"code": "E-OUT-OF-MEMORY", "message": ""}
        cases = self.cases(
            record(),
            record(seqlen=1024, time_ms=None, status="failed", reason=oom),
            record("b", time_ms=None, predicted=band, device="emulated-v100"),
        )
        figure = bars.draw_throughput(self.pyplot, cases, PLAIN)
        (axes,) = figure.axes
        self.assertEqual([text.get_text() for text in axes.texts], [" OOM", "–"])
        self.assertEqual([bar.get_height() for bar in axes.patches], [4.0, 4.0])
        self.assertEqual([bar.get_hatch() for bar in axes.patches], [None, style.PREDICTED_HATCH])
        self.assertRegex(figure.get_supxlabel(), "T: measured; .*T: predicted by a model, not measured")
        self.assertIn("OOM: out of memory", figure.get_supxlabel())

    def test_marks_are_no_kind_of_time(self):
        lacks = {"code": "E-UNSUPPORTED", "message": ""}
        cases = self.cases(
            emulated(), emulated("b"), emulated("b", 1024, predicted=None, status="skipped", reason=lacks)
        )
        figure = bars.draw_throughput(self.pyplot, cases, PLAIN)
        self.assertIn("T: predicted by a model", figure.get_supxlabel())
        self.assertNotIn("emulated", figure.get_supxlabel())
        hatches = [each.get_hatch() for each in figure.legends[0].get_patches()]
        self.assertEqual(hatches, [style.PREDICTED_HATCH] * 2)

    def test_predicted_speedups_hatched_with_their_band(self):
        speedup = {"over": "unfused-fp16", "low": 1.5, "likely": 2.0, "high": 3.0}
        cases = self.cases(
            emulated("unfused-fp16"), emulated("ours", predicted={**BAND, "speedup": speedup})
        )
        figure = bars.draw_speedup(self.pyplot, cases, PLAIN)
        (axes,) = figure.axes
        (bar,) = axes.patches
        self.assertEqual((bar.get_height(), bar.get_hatch()), (2.0, style.PREDICTED_HATCH))
        self.assertEqual(bars.own_ratio(cases[1], "unfused-fp16").high, 3.0)
        self.assertEqual(axes.get_ylabel(), "speed-up over unfused-fp16")
        self.assertIn("T: predicted by a model, not measured (hatched)", figure.get_supxlabel())

    def test_no_speedup_of_the_baseline_alone(self):
        with self.assertRaisesRegex(ValueError, "no kernel but 'unfused-fp16' has a time"):
            bars.draw_speedup(self.pyplot, self.cases(emulated("unfused-fp16")), PLAIN)

    def test_x_titles_below_every_column(self):
        masks = ("full", "causal", "window:9", "window:8", "window:7")
        cases = self.cases(*(record(**{"problem.mask": mask}) for mask in masks))
        figure = bars.draw_throughput(self.pyplot, cases, PLAIN)
        titled = [axes.get_xlabel() for axes in figure.axes if axes.axison]
        self.assertEqual(titled, ["", "", *3 * ["sequence length"]])

    def test_whose_bar_is_whose_in_a_legend(self):
        cases = self.cases(layer_record("unfused-fp16", "unfused"), layer_record("ours", "fused"))
        figure = layers.draw_layers(self.pyplot, cases, PLAIN)
        stages, letters = ([text.get_text() for text in each.texts] for each in figure.legends)
        self.assertEqual(stages, list(layers.STAGES))
        self.assertEqual(letters, ["a: unfused-fp16, rest unfused", "b: ours, rest fused"])
        self.assertIn("predicted by a model, not measured (hatched)", figure.get_supxlabel())

    def test_advice_on_one_problem_the_fastest_first(self):
        band = {"time_ms": {"low": 1.0, "likely": 3.0, "high": 4.0}}
        slow = record("b", time_ms=None, predicted=band, memory_bytes={}, device="emulated-v100")
        figure = advice.draw_advice(self.pyplot, self.cases(slow, record("a")), PLAIN)
        times, sizes, errors = figure.axes
        self.assertEqual([label.get_text() for label in times.get_yticklabels()], ["a", "b"])
        self.assertEqual([bar.get_width() for bar in times.patches], [2.0, 3.0])
        self.assertEqual([bar.get_hatch() for bar in times.patches], [None, style.PREDICTED_HATCH])
        self.assertEqual([text.get_text() for text in sizes.texts], [" not known"])
        self.assertEqual([bar.get_width() for bar in errors.patches], [0.1, 0.1])
        with self.assertRaisesRegex(ValueError, "the run has 2 problems"):
            advice.draw_advice(self.pyplot, self.cases(record(), record(seqlen=1024)), PLAIN)


if __name__ == "__main__":
    unittest.main()
