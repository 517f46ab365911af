#!/usr/bin/env python3
"""Lines, rooflines, and what every sheet has: looks, scales, captions, room for all of it."""

import argparse
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from figures import bars, layers, lines, panels, roofline, sheet, style
from figures.cases import read_run
from figures.test_records import BAND, PLAIN, RESULTS, Draws, emulated, layer_record, record


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
        for path in RESULTS.glob("published/**/run.json"):
            names |= {case["kernel"] for case in json.loads(path.read_text("utf-8"))["cases"]}
        self.assertLessEqual(names, style.KERNELS.keys())

    def test_the_specified_peaks_are_the_programs(self):
        text = (RESULTS.parent / "harness/timing/gpu_peaks.cc").read_text("utf-8")
        for chip, (tflops, gbps) in roofline.SPECIFIED.items():
            self.assertIn(f'{{"{chip}", {{{tflops:g}, {gbps:g}}}}}', text)

    def test_ticks_of_a_log_scale_are_few(self):
        self.assertEqual(sheet.log_ticks(8, 120, 5), [10, 20, 50, 100])
        self.assertEqual(sheet.log_ticks(60, 15000, 4), [100, 1000, 10000])


class DrawsLines(Draws):
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


class DrawsRooflines(Draws):
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


class Sheets(Draws):
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


if __name__ == "__main__":
    unittest.main()
