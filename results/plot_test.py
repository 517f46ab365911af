#!/usr/bin/env python3
"""What plot.py makes of cases. What draws needs matplotlib, and is skipped without."""

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
from figures import bars, difference, layers, lines, panels, style
from figures.cases import read_run

H200 = ROOT / "published/h200/paper-forward"
TORCH = ROOT / "published/h200/torch-forward.json"


def record(kernel="a", seqlen=512, **changes):
    """A case as JSON has it; changes by path, "problem.mask"."""
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


def layer_record(kernel, rest, seqlen=512, ms=2.0, **changes):
    """An encoder layer that is predicted."""
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

    def run_of(self, *records, name="one"):
        path = self.folder / f"{name}.json"
        device = {"name": "T", "peak_tflops": 100.0, "peak_gbps": 1000.0}
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
        with self.assertRaisesRegex(ValueError, "allowed: AXIS=VALUE, of device, pass"):
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
        ratios = sorted(ratio.value for ratio in bars.speedups(made, layers.UNFUSED).values())
        self.assertEqual(ratios, [1.0, 4.0 / 3.0, 2.0])


class Refuses(Runs):
    def test_a_figure_of_no_name(self):
        result = self.plot(self.run_of(record()), "--figure", "speedp")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--figure: unknown 'speedp', did you mean 'speedup'?; allowed:", result.stderr)

    def test_bad_input_with_one_line_and_2(self):
        run = self.run_of(record())
        for arguments, words in (
            ((self.folder / "none.json",), "none.json: .*No such file"),
            ((run, "-o", "a.bmp"), "-o a.bmp: allowed: a file of .svg, .pdf, .png"),
            ((run, "--where", "x"), "--where 'x': allowed"),
            ((run, "--figure", "diff"), "diff compares two runs, and 1 are given"),
            ((run, "--figure", "error", "--kernel", "b"), "--kernel: no case of 'b'"),
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
        figure = bars.draw_throughput(self.pyplot, cases, None)
        (axes,) = figure.axes
        self.assertEqual([text.get_text() for text in axes.texts], [" OOM", "–"])
        self.assertEqual([bar.get_height() for bar in axes.patches], [4.0, 4.0])
        self.assertEqual([bar.get_hatch() for bar in axes.patches], [None, style.PREDICTED_HATCH])
        self.assertRegex(figure.get_supxlabel(), "T: measured; .*T: predicted by a model, not measured")
        self.assertIn("OOM: out of memory", figure.get_supxlabel())

    def test_a_cross_where_an_output_is_not_finite(self):
        broken = {"rel_l1": 0.0, "nonfinite": 3}
        cases = self.cases(record(), record(seqlen=1024, accuracy=broken))
        figure = lines.line_figure(
            self.pyplot, cases, lines.error_of("rel_l1"), "", False, lambda case: case.kind_of_result
        )
        self.assertIn("x: not finite: a at 1k", figure.get_supxlabel())

    def test_captions_say_where_errors_and_sizes_are_from(self):
        band = {"time_ms": {"low": 1.0, "likely": 2.0, "high": 4.0}}
        cases = self.cases(
            record(time_ms=None, predicted=band, device="emulated-v100"),
            record("b", time_ms=None, device="emulated-v100"),
        )
        arguments = argparse.Namespace(metric="rel_l1")
        of_errors = lines.draw_error(self.pyplot, cases, arguments).get_supxlabel()
        self.assertIn("T: emulated", of_errors)
        self.assertNotIn("predicted", of_errors)
        of_memory = lines.draw_memory(self.pyplot, cases, arguments).get_supxlabel()
        self.assertIn("T: predicted", of_memory)
        self.assertNotIn("emulated", of_memory)

    def test_no_memory_of_a_kernel_that_there_is_not(self):
        lacks = {"code": "E-UNSUPPORTED", "message": "b has no backward pass"}
        both = {"problem.pass": "fwd+bwd", "time_ms": None}
        cases = self.cases(record(**both), record("b", status="skipped", reason=lacks, **both))
        figure = lines.draw_memory(self.pyplot, cases, None)
        (axes,) = figure.axes
        self.assertEqual(len(axes.lines), 1)
        self.assertEqual([each.get_text() for each in figure.legends[0].texts], ["a"])

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
        for figure in ("throughput", "speedup", "error", "memory", "roofline", "diff"):
            for suffix in style.FORMATS:
                runs = (one, other) if figure == "diff" else (one,)
                result = self.plot(*runs, "--figure", figure, "-o", f"{figure}.{suffix}")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertGreater((self.folder / f"{figure}.{suffix}").stat().st_size, 1000)

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
        self.assertIn("OOM", (self.folder / "speedup.svg").read_text("utf-8"))


if __name__ == "__main__":
    unittest.main()
