#!/usr/bin/env python3
"""Cases as figures read them, what they are told apart by, and their panels."""

import csv
import math
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from figures import bars, caption, panels
from figures.cases import read_run
from figures.test_records import BAND, H200, Runs, emulated, record


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


    def test_with_the_factor_that_predictions_have(self):
        software = {"name": "launches", "factor": 1.3}
        plain, multiplied = self.cases(
            emulated(), emulated("b", predicted={**BAND, "software": software})
        )
        self.assertEqual((plain.software, multiplied.software), (None, "launches=1.3"))
        self.assertEqual(caption.software_line([plain]), "")
        self.assertRegex(caption.software_line([plain, multiplied]), "multiplied: launches=1.3$")


class SameTruth(Runs):
    """A run's folder, its cases.csv, and the leaner table of --csv."""

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


if __name__ == "__main__":
    unittest.main()
