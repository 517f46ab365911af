#!/usr/bin/env python3
"""Tests of plot.py on cases. Tests that draw are skipped without matplotlib."""

import argparse
import copy
import csv
import hashlib
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parent
sys.path.insert(0, str(ROOT))
from figures import advice, bars, difference, layers, lines, panels, roofline, sheet, style
from figures.cases import read_run

PLAIN = argparse.Namespace(width=None, metric="rel_l1", reference=None)
H200 = ROOT / "published/h200/paper-forward"
TORCH = ROOT / "published/h200/torch-forward.json"


def record(kernel="a", seqlen=512, **changes):
    """A case as in JSON; changes are given by path, "problem.mask"."""
    case = {
        "id": f"{kernel}/{seqlen}/{sorted(changes.items())}",
        "kernel": kernel,
        "problem": {
            "pass": "fwd",
            "batch": 16384 // seqlen,
            "heads": 32,
            "seqlen_q": seqlen,
            "seqlen_k": seqlen,
            "head_dim": 64,
            "causal": False,
            "mask": "full",
            "dropout_p": 0.0,
        },
        "status": "ok",
        "reason": None,
        "time_ms": {"median": 2.0, "q1": 1.9, "q3": 2.2},
        "sampling": {"median_error": 0.001},
        "flops": 8e9,
        "bytes": 1e6,
        "memory_bytes": {"peak": None, "predicted": 1 << 21, "unfused": 1 << 22},
        "accuracy": {"rel_l1": 0.001, "rel_l2": 0.001, "max_abs": 0.01, "nonfinite": 0},
        "predicted": None,
        "device": "cuda:0",
        "provenance": {"device_name": "T"},
        "input": "normal",
        "input_scale": 1,
    }
    for path, value in changes.items():
        at = case
        *way, last = path.split(".")
        for name in way:
            at = at[name]
        at[last] = value
    return case


BAND = {"chip": "V100-SXM2", "time_ms": {"low": 1.0, "likely": 2.0, "high": 4.0}}


def emulated(kernel="a", seqlen=512, **changes):
    """A case of an emulated V100 with a predicted time."""
    return record(
        kernel, seqlen, **{"time_ms": None, "predicted": BAND, "device": "emulated-v100", **changes}
    )


def layer_record(kernel, rest, seqlen=512, ms=2.0, **changes):
    """An encoder layer with a prediction."""
    shape = {"hidden": 2048, "ffn": 8192, "activation": "gelu-tanh", "norm": "post", "bias": True}
    band = {"low": 0.9 * ms, "likely": ms, "high": 1.2 * ms}
    half = {"likely": ms / 2}
    return record(
        kernel,
        seqlen,
        **{
            "id": f"{kernel}/{seqlen}/{rest}",
            "problem.layer": {**shape, "rest": rest},
            "status": "skipped",
            "reason": {"code": "E-ONLY-PREDICTED", "message": ""},
            "time_ms": None,
            "predicted": {"time_ms": band},
            "device": "emulated-v100",
            "layer": {
                "stages": [
                    {"name": "qkv", "time_ms": None, "predicted_ms": half},
                    {"name": "mha", "time_ms": None, "predicted_ms": half},
                ]
            },
            **changes,
        },
    )


class Runs(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)

    def run_of(self, *records, name="one", peaks=(100.0, 1000.0)):
        path = self.folder / f"{name}.json"
        device = {"name": "T", "peak_tflops": peaks[0], "peak_gbps": peaks[1]}
        document = {"environment": {"device": device}, "cases": list(records)}
        path.write_text(json.dumps(document), "utf-8")
        return path

    def cases(self, *records, name="one"):
        return read_run(self.run_of(*records, name=name))

    def plot(self, *arguments):
        return subprocess.run(
            [sys.executable, "-B", ROOT / "plot.py", *map(str, arguments)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )


class ReadsCases(Runs):
    def test_alike_from_json_and_csv(self):
        for one, other in zip(read_run(H200), read_run(H200 / "cases.csv")):
            self.assertEqual(one.id, other.id)
            self.assertEqual(one.axes, other.axes)
            self.assertAlmostEqual(one.time.value, other.time.value)
            self.assertEqual(one.errors, other.errors)
            self.assertEqual(one.mark, other.mark)

    def test_with_times_of_their_kind(self):
        band = {"time_ms": {"low": 1.0, "likely": 2.0, "high": 4.0}}
        measured, predicted, none = self.cases(
            record(predicted=band),
            record("b", time_ms=None, predicted=band, device="emulated-v100"),
            record("c", time_ms=None, device="emulated-v100"),
        )
        self.assertEqual([c.kind for c in (measured, predicted, none)], ["measured", "predicted", "emulated"])
        self.assertEqual(bars.throughput(measured).value, 4.0)
        self.assertEqual((bars.throughput(predicted).low, bars.throughput(predicted).high), (2.0, 8.0))
        self.assertIsNone(bars.throughput(none))

    def test_with_a_mark_where_they_failed(self):
        def mark(status, code):
            return self.cases(record(status=status, reason={"code": code, "message": ""}))[0].mark

        self.assertEqual(mark("failed", "E-OUT-OF-MEMORY"), "OOM")
        self.assertEqual(mark("skipped", "E-OOM-PREDICTED"), "OOM")
        self.assertEqual(mark("skipped", "E-UNSUPPORTED"), "n/s")
        self.assertEqual(mark("incorrect", "E-INCORRECT"), "wrong")
        self.assertEqual(mark("unverified", "E-UNVERIFIED"), "")
        self.assertEqual(mark("predicted", "E-OOM-PREDICTED"), "")

    def test_with_no_error_where_an_output_is_not_finite(self):
        broken, unverified = self.cases(
            record(accuracy={"rel_l1": 0.0, "nonfinite": 3}), record("b", accuracy=None)
        )
        self.assertTrue(math.isnan(broken.errors["rel_l1"]))
        self.assertEqual(unverified.errors, {})

    def test_with_the_worst_gradient(self):
        gradients = {n: {"rel_l1": e, "nonfinite": 0} for n, e in zip(("dq", "dk", "dv"), (1, 3, 2))}
        changes = {"problem.pass": "bwd", "accuracy": gradients}
        self.assertEqual(self.cases(record(**changes))[0].errors["rel_l1"], 3)
        of_both = {"problem.pass": "fwd+bwd", "accuracy": {**gradients, "o": None}}
        self.assertEqual(self.cases(record(**of_both))[0].errors["rel_l1"], 3)
        of_both["accuracy"]["o"] = {"output": "o", "rel_l1": 4, "nonfinite": 0}
        self.assertEqual(self.cases(record(**of_both))[0].errors["rel_l1"], 4)
        gradients["dv"]["nonfinite"] = 1
        self.assertTrue(math.isnan(self.cases(record(**changes))[0].errors["rel_l1"]))


class MakesPanels(Runs):
    def test_of_what_tells_cases_apart(self):
        found = panels.Panels(
            self.cases(
                record(),
                record(**{"problem.mask": "causal"}),
                record(**{"problem.dropout_p": 0.1}),
                record(seqlen=1024),
            )
        )
        self.assertEqual(found.axes, ["mask", "dropout"])
        self.assertEqual([found.title(key) for key in found.keys][0], "causal, dropout 0")
        self.assertEqual(len(found.keys), 3)

    def test_of_models_in_one_panel_by_name(self):
        small = record(model="BERT", **{"problem.head_dim": 32})
        large = record(model="ViT", seqlen=1024, **{"problem.mask": "causal"})
        found = panels.Panels(self.cases(small, large))
        self.assertEqual((found.axes, found.lengths, found.x_label), ([], ["BERT", "ViT"], "model"))
        twice = record(model="BERT", **{"problem.head_dim": 64})
        self.assertEqual(panels.panel_axes(self.cases(small, twice)), ["head_dim"])

    def test_not_of_a_batch_that_follows_the_length(self):
        self.assertEqual(panels.panel_axes(self.cases(record(), record(seqlen=1024))), [])
        other = record(seqlen=1024, **{"problem.batch": 5})
        self.assertEqual(panels.panel_axes(self.cases(record(), record(seqlen=1024), other)), ["batch"])

    def test_that_never_average(self):
        twice = [record(), record(id="again")]
        with self.assertRaisesRegex(ValueError, "two cases of a are one point"):
            panels.Panels(self.cases(*twice))

    def test_with_a_series_for_each_run_that_shares_cases(self):
        both = self.cases(record()) + self.cases(record(), record("b"), name="two")
        labels = [panels.series_label(each) for each in panels.Panels(both).series]
        self.assertEqual(labels, ["a, one", "a, two", "b, two"])
        apart = self.cases(record()) + self.cases(record("b"), name="two")
        self.assertEqual(panels.Panels(apart).series, [("a", ""), ("b", "")])

    def test_of_chosen_cases(self):
        cases = self.cases(record(), record(**{"problem.dropout_p": 0.1}))
        self.assertEqual(len(panels.where(cases, ["dropout=0.1"])), 1)
        with self.assertRaisesRegex(ValueError, "--where dropout: no case has 0.2; .* 0, 0.1"):
            panels.where(cases, ["dropout=0.2"])
        with self.assertRaisesRegex(ValueError, "allowed: AXIS=VALUE, of device, model, pass"):
            panels.where(cases, ["colour=red"])
        with self.assertRaisesRegex(ValueError, "--kernel: no case of 'z'; the runs have a"):
            panels.of_kernels(cases, ["z"])

    def test_asks_for_the_name_that_was_meant(self):
        cases = self.cases(record("volta-fp32acc"), record(**{"problem.mask": "causal"}))
        for call, meant in (
            (lambda: panels.where(cases, ["maks=full"]), "--where 'maks=full', did you mean 'mask'"),
            (lambda: panels.where(cases, ["mask=casual"]), "no case has casual, did you mean 'causal'"),
            (lambda: panels.of_kernels(cases, ["volta-fp32ac"]), "did you mean 'volta-fp32acc'"),
            (lambda: bars.speedups(cases, "Volta-fp32acc"), "did you mean 'volta-fp32acc'"),
        ):
            with self.assertRaisesRegex(ValueError, re.escape(meant)):
                call()


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


class Looks(unittest.TestCase):
    def test_of_a_kernel_are_the_same_in_every_figure(self):
        few = style.looks_of([("volta-fp32acc", "")])
        many = style.looks_of([("cudnn", ""), ("mine", ""), ("volta-fp32acc", "")])
        self.assertEqual(few["volta-fp32acc", ""], many["volta-fp32acc", ""])
        self.assertEqual(many["volta-fp32acc", ""].colour, style.KERNELS["volta-fp32acc"]["colour"])
        layer = style.looks_of([("volta-fp32acc, rest fused", "")])
        self.assertEqual(layer["volta-fp32acc, rest fused", ""], few["volta-fp32acc", ""])

    def test_of_kernels_differ(self):
        colours = [each["colour"] for each in style.KERNELS.values()] + list(style.OTHER_COLOURS)
        self.assertEqual(len(set(colours)), len(colours))
        others = style.colours_of_kernels([f"mine{i}" for i in range(len(style.OTHER_COLOURS))])
        self.assertEqual(len(set(others.values())), len(others))

    def test_of_two_runs_of_a_kernel_differ(self):
        one, other = style.looks_of([("cudnn", "a"), ("cudnn", "b")]).values()
        self.assertNotEqual(one.colour, other.colour)
        self.assertEqual((one.line, other.line), ("-", "--"))

    def test_of_every_kernel_of_the_program_are_in_the_table(self):
        names = set()
        for path in ROOT.glob("published/**/run.json"):
            names |= {case["kernel"] for case in json.loads(path.read_text("utf-8"))["cases"]}
        self.assertLessEqual(names, style.KERNELS.keys())

    def test_the_specified_peaks_are_the_programs(self):
        text = (ROOT.parent / "harness/timing/gpu_peaks.cc").read_text("utf-8")
        for chip, (tflops, gbps) in roofline.SPECIFIED.items():
            self.assertIn(f'{{"{chip}", {{{tflops:g}, {gbps:g}}}}}', text)

    def test_ticks_of_a_log_scale_are_few(self):
        self.assertEqual(sheet.log_ticks(8, 120, 5), [10, 20, 50, 100])
        self.assertEqual(sheet.log_ticks(60, 15000, 4), [100, 1000, 10000])


class Baselines(Runs):
    def test_are_cublas_where_the_runs_have_it(self):
        both = self.cases(record("unfused-fp16"), record("cublas-fp16"))
        self.assertEqual(bars.baseline_of(both, None), "cublas-fp16")
        self.assertEqual(bars.baseline_of(both[:1], None), "unfused-fp16")
        self.assertEqual(bars.baseline_of(both, "cudnn"), "cudnn")


class SameTruth(Runs):
    """A run's folder, its cases.csv, and the shorter table of --csv give the same cases."""

    def test_from_json_and_csv(self):
        rows = {
            "id": "x", "kernel": "ours", "pass": "fwd+bwd", "batch": 1, "heads": 2, "seqlen_q": 9,
            "seqlen_k": 9, "head_dim": 64, "mask": "full", "dropout_p": 0, "status": "ok",
            "device": "emulated-v100", "device_name": "V100", "input": "normal", "input_scale": 1,
            "dq_rel_l1": 0.1, "dk_rel_l1": 0.2, "dv_rel_l1": 0.3, "o_rel_l1": 0.4,
            "dq_nonfinite": 0, "dk_nonfinite": 0, "dv_nonfinite": 0, "o_nonfinite": 0,
            "predicted_chip": "V100-SXM2", "predicted_time_ms_low": 1,
            "predicted_time_ms_likely": 2, "predicted_time_ms_high": 4,
        }  # fmt: skip
        path = self.folder / "lean.csv"
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows)
            writer.writeheader()
            writer.writerow(rows)
        (case,) = read_run(path)
        self.assertEqual((case.errors["rel_l1"], case.kind, case.chip), (0.4, "predicted", "V100-SXM2"))
        self.assertEqual((case.kind_of_result, case.axes["dropout_scale"]), ("emulated", "applied"))
        self.assertEqual(case.axes["heads_k"], 2)


class Refuses(Runs):
    def test_a_figure_of_no_name(self):
        result = self.plot(self.run_of(record()), "--figure", "speedp")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--figure: unknown 'speedp', did you mean 'speedup'?; allowed:", result.stderr)

    def test_sizes_that_no_figure_has(self):
        for flag, typed in (("--width", "1"), ("--width", "wide"), ("--font-size", "nan")):
            result = self.plot(self.run_of(record()), flag, typed)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, f"{flag}: '{typed}': allowed: a number from \\d+ to \\d+")

    def test_a_missing_matplotlib_and_says_how_to_get_it(self):
        hidden = self.folder / "hidden"
        hidden.mkdir()
        (hidden / "matplotlib.py").write_text("raise ImportError('hidden')")
        result = subprocess.run(
            [sys.executable, "-B", ROOT / "plot.py", self.run_of(record())],
            env={"PYTHONPATH": str(hidden), "PYTHONSAFEPATH": ""},
            cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("matplotlib is missing; install it: ", result.stderr)
        was = sys.prefix
        try:
            sys.prefix = "/a/venv"
            self.assertIn("-m pip install matplotlib", style.how_to_install())
            sys.prefix = sys.base_prefix
            self.assertIn("apt-get install python3-matplotlib", style.how_to_install())
        finally:
            sys.prefix = was

    def test_bad_input_with_one_line_and_2(self):
        run = self.run_of(record())
        for arguments, words in (
            ((self.folder / "none.json",), "none.json: .*No such file"),
            ((run, "-o", "a.bmp"), "-o a.bmp: allowed: a file of .svg, .pdf, .png"),
            ((run, "--where", "x"), "--where 'x': allowed"),
            ((run, "--figure", "diff"), "diff compares two runs, and 1 are given"),
            ((run, "--figure", "error", "--kernel", "b"), "--kernel: no case of 'b'"),
            ((run, "--figure", "speedup"), "--reference: no time of 'cublas-fp16'"),
        ):
            result = self.plot(*arguments)
            if result.returncode == 3:
                self.skipTest("no matplotlib")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertRegex(result.stderr, words)
            self.assertEqual(result.stderr.count("\n"), 1)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["one.json"])


class Draws(Runs):
    def setUp(self):
        super().setUp()
        try:
            self.pyplot = style.load_pyplot()
        except style.MissingMatplotlib as missing:
            self.skipTest(str(missing))

    def texts(self, figure):
        found = [text.get_text() for axes in figure.axes for text in axes.texts]
        return found + [axes.get_title() for axes in figure.axes] + [figure.get_supxlabel()]

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

    def test_a_cross_where_an_output_is_not_finite(self):
        broken = {"rel_l1": 0.0, "nonfinite": 3}
        cases = self.cases(record(), record(seqlen=1024, accuracy=broken))
        figure = lines.draw_error(self.pyplot, cases, PLAIN)
        self.assertIn("x: not finite: a at 1k", figure.get_supxlabel())

    def test_captions_say_where_errors_and_sizes_are_from(self):
        band = {"time_ms": {"low": 1.0, "likely": 2.0, "high": 4.0}}
        cases = self.cases(
            record(time_ms=None, predicted=band, device="emulated-v100"),
            record("b", time_ms=None, device="emulated-v100"),
        )
        of_errors = lines.draw_error(self.pyplot, cases, PLAIN).get_supxlabel()
        self.assertIn("T: errors of emulated results", of_errors)
        self.assertNotIn("predicted", of_errors)
        of_memory = lines.draw_memory(self.pyplot, cases, PLAIN).get_supxlabel()
        self.assertIn("T: predicted", of_memory)
        self.assertNotIn("emulated", of_memory)

    def test_no_memory_of_a_kernel_that_there_is_not(self):
        lacks = {"code": "E-UNSUPPORTED", "message": "b has no backward pass"}
        both = {"problem.pass": "fwd+bwd", "time_ms": None}
        cases = self.cases(record(**both), record("b", status="skipped", reason=lacks, **both))
        figure = lines.draw_memory(self.pyplot, cases, PLAIN)
        (axes,) = figure.axes
        self.assertEqual(len(axes.lines), 2)  # its line, its markers
        self.assertEqual([each.get_text() for each in figure.legends[0].texts], ["a"])

    def test_a_roof_of_what_is_predicted(self):
        cases = read_run(self.run_of(emulated(), emulated("b", 1024), peaks=(None, None)))
        figure = roofline.draw_roofline(self.pyplot, cases, PLAIN)
        roof = figure.axes[0].lines[0].get_ydata()
        self.assertEqual(max(roof), 125.0)
        labels = [text.get_text() for legend in figure.legends for text in legend.texts]
        self.assertIn("V100-SXM2 by its data sheet: 125 TFLOP/s, 900 GB/s", labels)
        self.assertRegex(figure.get_supxlabel(), "predicted by a model, not measured \\(hollow\\)")
        low, high = figure.axes[0].get_ylim()
        for case in cases:
            self.assertTrue(low < bars.throughput(case).low < bars.throughput(case).high < high)

    def test_points_that_coincide_apart(self):
        slow = {**BAND, "time_ms": {"low": 8.0, "likely": 9.0, "high": 10.0}}
        cases = self.cases(emulated("a"), emulated("b"), emulated("c", predicted=slow))
        figure = roofline.draw_roofline(self.pyplot, cases, PLAIN)
        figure.draw_without_rendering()
        xs = [line.get_transform().transform(line.get_xydata())[0][0] for line in figure.axes[0].lines
              if line.get_marker() in style.OTHER_MARKERS]  # fmt: skip
        self.assertEqual(len(set(round(x) for x in xs)), 3)
        self.assertIn("points that coincide stand side by side", figure.get_supxlabel())

    def test_no_roofline_without_a_roof(self):
        for unknown in (emulated(predicted={**BAND, "chip": "V9"}), record()):
            cases = read_run(self.run_of(unknown, peaks=(None, None)))
            with self.assertRaisesRegex(ValueError, "--figure roofline: no peak .* of T are known"):
                roofline.draw_roofline(self.pyplot, cases, PLAIN)

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

    def test_sizes_with_their_unit(self):
        figure = lines.draw_memory(self.pyplot, self.cases(record(), record(seqlen=1024)), PLAIN)
        figure.draw_without_rendering()
        labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
        self.assertTrue(labels)
        for label in labels:
            self.assertRegex(label, r"^\d+(\.\d+)? [KM]iB$")
        self.assertEqual(lines.size_text(1 << 29), "512 MiB")

    def test_lines_that_coincide_apart(self):
        more = {"peak": None, "predicted": 1 << 23, "unfused": 1 << 23}
        cases = self.cases(record("a"), record("b"), record("c", memory_bytes=more))
        figure = lines.draw_memory(self.pyplot, cases, PLAIN)
        lines_of = [line for line in figure.axes[0].lines if line.get_linestyle() != "None"]
        dashed = [line for line in lines_of if line.is_dashed()]
        self.assertEqual((len(lines_of), len(dashed)), (3, 2))
        self.assertIn("where lines coincide", figure.get_supxlabel())
        self.assertNotEqual(dashed[0].get_color(), dashed[1].get_color())

    def test_points_without_lines_of_models(self):
        more = {"peak": None, "predicted": 1 << 30, "unfused": 1 << 31}
        cases = self.cases(record(model="BERT"), record(model="ViT", seqlen=9, memory_bytes=more))
        (axes,) = lines.draw_memory(self.pyplot, cases, PLAIN).axes
        self.assertEqual({line.get_linestyle() for line in axes.lines}, {"None"})
        low, high = axes.get_ylim()
        self.assertTrue(low <= 1 << 21 and 1 << 30 <= high, (low, high))
        self.assertEqual(axes.get_xlabel(), "model")

    def test_one_scale_or_the_caption_says_so(self):
        def scales(error):
            worse = {"rel_l1": error, "nonfinite": 0}
            other = record("a", accuracy=worse, **{"problem.mask": "causal"})
            figure = lines.draw_error(self.pyplot, self.cases(record(), other), PLAIN)
            return {axes.get_ylim() for axes in figure.axes}, figure.get_supxlabel()

        limits, text = scales(0.002)
        self.assertEqual(len(limits), 1)
        self.assertNotIn("scale", text)
        limits, text = scales(0.05)
        self.assertEqual(len(limits), 2)
        self.assertIn("each panel has a scale of its own", text)

    def test_whose_bar_is_whose_in_a_legend(self):
        cases = self.cases(layer_record("unfused-fp16", "unfused"), layer_record("ours", "fused"))
        figure = layers.draw_layers(self.pyplot, cases, PLAIN)
        stages, letters = ([text.get_text() for text in each.texts] for each in figure.legends)
        self.assertEqual(stages, list(layers.STAGES))
        self.assertEqual(letters, ["a: unfused-fp16, rest unfused", "b: ours, rest fused"])
        self.assertIn("predicted by a model, not measured (hatched)", figure.get_supxlabel())

    def assert_nothing_is_cut(self, figure, what):
        figure.draw_without_rendering()
        page, renderer = figure.bbox, figure.canvas.get_renderer()
        texts = [*figure.legends, *[text for axes in figure.axes for text in self.around(axes)]]
        for artist in [*texts, figure._supxlabel]:
            box = artist.get_window_extent(renderer)
            is_within = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
            self.assertTrue(is_within, f"{what}: {artist} {box} of {page}")
        for axes in figure.axes:
            for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
                boxes = [each.get_window_extent(renderer) for each in labels if each.get_text()]
                for one, other in zip(boxes, boxes[1:]):
                    self.assertFalse(one.overlaps(other), f"{what}: tick labels {labels}")

    @staticmethod
    def around(axes):
        return [axes.title, axes.xaxis.label, axes.yaxis.label] if axes.axison else []

    def test_nothing_is_cut_at_any_size(self):
        kernels = ("unfused-fp16", "volta-fp16acc-o16", "volta-fp32acc", "volta-mixedacc", "volta-fp16acc")
        grid = self.cases(
            *(
                emulated(kernel, seqlen, **{"problem.mask": mask})
                for kernel in kernels
                for seqlen in (512, 1024, 4096, 16384)
                for mask in ("full", "where:q-k<128")
            )
        )
        one = panels.where(grid, ["mask=full"])
        made = self.cases(*(layer_record(kernel, "fused") for kernel in kernels))
        figures = {
            bars.draw_throughput: (grid, one),
            bars.draw_speedup: (grid, one),
            lines.draw_error: (grid, one),
            lines.draw_memory: (grid, one),
            roofline.draw_roofline: (grid, one),
            layers.draw_layers: (made,),
            layers.draw_layer_speedup: (self.cases_of_layers(),),
        }
        for draw, all_cases in figures.items():
            for cases in all_cases:
                for width, font_size in ((3.3, 8), (7, 12)) if cases is grid else ((None, 8), (2.5, 7)):
                    self.pyplot = style.load_pyplot(font_size)
                    arguments = argparse.Namespace(width=width, metric="rel_l1", reference=None)
                    figure = draw(self.pyplot, cases, arguments)
                    self.assertEqual(figure.get_figwidth(), width or figure.get_figwidth())
                    self.assert_nothing_is_cut(figure, f"{draw.__name__} {width} {font_size}")
                    self.pyplot.close(figure)

    def cases_of_layers(self):
        rests = [(k, rest) for k in ("unfused-fp16", "volta-fp32acc") for rest in ("fused", "unfused")]
        return self.cases(*(layer_record(*each, ms=2.0 + i) for i, each in enumerate(rests)))

    def test_x_titles_below_every_column(self):
        masks = ("full", "causal", "window:9", "window:8", "window:7")
        cases = self.cases(*(record(**{"problem.mask": mask}) for mask in masks))
        figure = bars.draw_throughput(self.pyplot, cases, PLAIN)
        titled = [axes.get_xlabel() for axes in figure.axes if axes.axison]
        self.assertEqual(titled, ["", "", *3 * ["sequence length"]])

    def test_of_the_size_that_was_asked_for(self):
        run = self.run_of(record())
        result = self.plot(run, "--width", "3.3", "--font-size", "6", "-o", "a.svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = (self.folder / "a.svg").read_text("utf-8")
        self.assertIn(f'width="{3.3 * 72:g}pt"', text)

    def test_the_same_bytes_each_time(self):
        hashes = set()
        for name in ("a.svg", "b.svg"):
            result = self.plot(H200, "-o", name)
            self.assertEqual((result.returncode, result.stdout), (0, f"{name}\n"), result.stderr)
            hashes.add(hashlib.sha256((self.folder / name).read_bytes()).hexdigest())
        self.assertEqual(len(hashes), 1)

    def test_every_figure_in_every_format(self):
        other = self.run_of(record(), name="two")
        one = self.run_of(record(), record("cublas-fp16"))
        for figure in ("throughput", "speedup", "error", "memory", "roofline", "diff", "advice"):
            for suffix in style.FORMATS:
                runs = (one, other) if figure == "diff" else (one,)
                result = self.plot(*runs, "--figure", figure, "-o", f"{figure}.{suffix}")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertGreater((self.folder / f"{figure}.{suffix}").stat().st_size, 1000)

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

    def test_layers_with_and_without_memory(self):
        oom = {"reason": {"code": "E-OOM-PREDICTED", "message": ""}, "predicted": None}
        run = self.run_of(
            layer_record("unfused-fp16", "unfused"),
            layer_record("unfused-fp16", "unfused", 1024, **oom),
            layer_record("ours", "fused"),
            layer_record("ours", "fused", 1024),
        )
        for figure in ("layers", "layer-speedup"):
            result = self.plot(run, "--figure", figure, "-o", f"{figure}.svg")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("OOM", (self.folder / "layers.svg").read_text("utf-8"))

    def test_published_runs_together(self):
        result = self.plot(H200, TORCH, "--figure", "speedup", "-o", "speedup.svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue("n/s: not supported" in (self.folder / "speedup.svg").read_text("utf-8"))


if __name__ == "__main__":
    unittest.main()
