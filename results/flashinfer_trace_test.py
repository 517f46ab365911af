#!/usr/bin/env python3
"""Runs as traces of FlashInfer-Bench, and its workloads as command lines."""

import ast
import contextlib
import importlib.util
import io
import itertools
import json
import pathlib
import shlex
import struct
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import flashinfer_trace  # noqa: E402
from flashinfer import definitions, exported, imported  # noqa: E402

ACCURACY = {"output": "o", "max_abs": 0.5, "max_rel": 2.0, "rel_l2": 0.01, "error_over_unfused": 1.5,
            "bitwise_repeatable": True}  # fmt: skip


def problem_of(**fields):
    problem = {
        "pass": "fwd", "batch": 2, "heads": 8, "heads_k": 2, "seqlen_q": 16, "seqlen_k": 32,
        "head_dim": 64, "mask": "full", "dropout_p": 0.0, "lengths": None, "scale": 0.125,
        "seed": 0, "layer": None,
    }  # fmt: skip
    return {**problem, **fields}


def case_of(status="ok", reason=None, **fields):
    case = {
        "kernel": "mine", "status": status, "valid": True, "warnings": [], "repro": "sparkbench it",
        "reason": reason and {"code": reason, "message": "because"}, "accuracy": dict(ACCURACY),
        "time_ms": {"median": 2.0}, "speedup": {"over_median_ms": 5.0, "ratio": 2.5},
        "libraries": {"mine": "1.2"}, "problem": problem_of(),
    }  # fmt: skip
    return {**case, **fields}


def run_of(*cases):
    return {
        "run": {"started_at": "2026-11-29T12:00:00Z"}, "build": {"version": "0.1.0"},
        "environment": {"driver_version": "580", "device": {"name": "NVIDIA H200"}},
        "cases": list(cases),
    }  # fmt: skip


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def export(self, *cases):
        """(traces, left out)"""
        file = self.folder / "run.json"
        file.write_text(json.dumps(run_of(*cases)))
        _, left_out = exported.export([self.folder], self.folder / "set")
        return self.lines("traces"), left_out

    def lines(self, kind):
        files = sorted((self.folder / "set" / kind).rglob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


class Export(Folder):
    def evaluation(self, **fields):
        (trace,), left_out = self.export(case_of(**fields))
        self.assertEqual(left_out, {})
        return trace["evaluation"]

    def test_a_correct_case_has_errors_and_times(self):
        (trace,), _ = self.export(case_of())
        self.assertEqual(trace["solution"], "mine")
        self.assertEqual(trace["definition"], "sparkbench_attention_fwd_full_h8_kv2_d64")
        self.assertEqual(trace["workload"]["axes"], {"batch": 2, "seqlen_q": 16, "seqlen_k": 32})
        evaluation = trace["evaluation"]
        self.assertEqual(evaluation["status"], "PASSED")
        self.assertEqual(evaluation["correctness"]["max_absolute_error"], 0.5)
        self.assertEqual(evaluation["correctness"]["max_relative_error"], 2.0)
        self.assertEqual(
            evaluation["performance"],
            {"latency_ms": 2.0, "reference_latency_ms": 5.0, "speedup_factor": 2.5},
        )
        self.assertEqual(evaluation["environment"]["hardware"], "NVIDIA H200")
        self.assertEqual(
            evaluation["environment"]["libs"], {"sparkbench": "0.1.0", "driver": "580", "mine": "1.2"}
        )
        self.assertEqual(evaluation["timestamp"], "2026-11-29T12:00:00Z")
        self.assertIn("repeat: sparkbench it", evaluation["log"])

    def test_statuses_are_theirs(self):
        for fields, status, has_errors in (
            ({"status": "incorrect", "reason": "E-INCORRECT"}, "INCORRECT_NUMERICAL", True),
            ({"status": "incorrect", "reason": "E-WRITES", "accuracy": None}, "RUNTIME_ERROR", False),
            ({"status": "failed", "reason": "E-RUN", "accuracy": None}, "RUNTIME_ERROR", False),
            ({"status": "failed", "reason": "E-TIMEOUT", "accuracy": None}, "TIMEOUT", False),
        ):
            with self.subTest(fields):
                evaluation = self.evaluation(**fields, time_ms=None, speedup=None)
                self.assertEqual(evaluation["status"], status)
                self.assertEqual(evaluation["correctness"] is not None, has_errors)
                self.assertIsNone(evaluation["performance"])
                self.assertIn(": because", evaluation["log"])

    def test_the_worst_output_counts(self):
        accuracy = {
            "o": None,
            "dq": {**ACCURACY, "output": "dq", "max_abs": 0.25},
            "dv": {**ACCURACY, "output": "dv", "max_abs": 0.75, "max_rel": None},
        }
        evaluation = self.evaluation(accuracy=accuracy, problem=problem_of(**{"pass": "bwd"}))
        self.assertEqual(evaluation["correctness"]["max_absolute_error"], 0.75)
        self.assertEqual(evaluation["correctness"]["max_relative_error"], "NaN")
        self.assertEqual(set(evaluation["correctness"]["extra"]), {"dq", "dv"})

    def test_what_has_no_counterpart_is_counted(self):
        traces, left_out = self.export(
            case_of("skipped"), case_of(time_ms=None), case_of(valid=False),
            *(case_of(problem=problem_of(**fields)) for fields in (
                {"dropout_p": 0.1}, {"mask": "sink:2+window:4"}, {"mask": "strided:4"},
                {"lengths": "uniform:1:9"}, {"layer": {"hidden": 64}})),
        )  # fmt: skip
        self.assertEqual(traces, [])
        self.assertEqual(sum(left_out.values()), 8)
        self.assertEqual(left_out["correct cases without a valid time"], 2)
        self.assertEqual(left_out["a mask that is a pattern"], 2)

    def test_kernels_on_one_problem_share_its_workload(self):
        traces, _ = self.export(case_of(), case_of(kernel="other"))
        self.assertEqual(traces[0]["workload"], traces[1]["workload"])
        (workload,) = self.lines("workloads")
        self.assertEqual((workload["solution"], workload["evaluation"]), (None, None))

    def test_what_is_no_run_is_named(self):
        (self.folder / "run.json").write_text("{}")
        with self.assertRaisesRegex(ValueError, "^RUN .*allowed: a folder of --out"):
            exported.export([self.folder], self.folder / "set")


MASKS = ("full", "causal", "window:3", "band:2:1", "prefix:4")


class Definitions(unittest.TestCase):
    def test_references_are_functions_of_the_inputs(self):
        for mask, direction in itertools.product(MASKS, definitions.OUTPUTS):
            definition = definitions.definition_of(problem_of(mask=mask, **{"pass": direction}))
            functions = {
                each.name: each
                for each in ast.parse(definition["reference"]).body
                if isinstance(each, ast.FunctionDef)
            }
            arguments = [each.arg for each in functions["run"].args.args]
            self.assertEqual(arguments, list(definition["inputs"]))
            for tensor in (*definition["inputs"].values(), *definition["outputs"].values()):
                self.assertLessEqual(set(tensor["shape"] or ()), set(definition["axes"]))

    @unittest.skipIf(importlib.util.find_spec("torch") is None, "no torch")
    def test_references_compute_attention(self):
        import torch

        torch.manual_seed(0)
        for mask in MASKS:
            problem = problem_of(mask=mask, **{"pass": "fwd+bwd"})
            scope = {}
            exec(definitions.reference_of(problem), scope)
            q, k, v = (torch.randn(2, s, h, 64) for s, h in ((16, 8), (32, 2), (32, 2)))
            d_o = torch.randn(q.shape)
            o, lse, *gradients = scope["run"](q, k, v, d_o, 0.125)
            rows, keys = torch.arange(16)[:, None] + 16, torch.arange(32)[None]
            seen = {
                "full": keys >= 0, "causal": keys <= rows,
                "window:3": (keys <= rows) & (keys > rows - 3),
                "band:2:1": (keys >= rows - 2) & (keys <= rows + 1),
                "prefix:4": (keys <= rows) | (keys < 4),
            }[mask]  # fmt: skip
            inputs = [x.clone().requires_grad_() for x in (q, k, v)]
            want = torch.nn.functional.scaled_dot_product_attention(
                *(x.transpose(1, 2) for x in inputs), attn_mask=seen, enable_gqa=True
            ).transpose(1, 2)
            self.assertLess((o - want).abs().max().item(), 1e-5, mask)
            self.assertEqual(lse.shape, (2, 8, 16))
            for got, expected in zip(gradients, torch.autograd.grad(want, inputs, d_o)):
                self.assertLess((got - expected).abs().max().item(), 1e-4, mask)


def safetensors(**tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        packed = struct.pack(f"<{len(values)}i", *values)
        offsets = [len(data), len(data) + len(packed)]
        header[name] = {"dtype": "I32", "shape": [len(values)], "data_offsets": offsets}
        data += packed
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


class Import(Folder):
    def write(self, op_type, workload, name="gqa_ragged_prefill_causal_h8_kv2_d64"):
        constants = {"num_qo_heads": 8, "num_kv_heads": 2, "head_dim": 64}
        axes = {key: {"type": "const", "value": value} for key, value in constants.items()}
        definition = {"name": name, "op_type": op_type, "axes": axes}
        for path, text in (("definitions/a/d.json", json.dumps(definition)),
                           ("workloads/a/d.jsonl", json.dumps({"definition": name, "workload": workload}))):  # fmt: skip
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def ragged(self, **fields):
        (self.folder / "w.safetensors").write_bytes(safetensors(q=(0, 3, 10), kv=(0, 5, 20)))
        at = {"type": "safetensors", "path": "w.safetensors"}
        inputs = {"qo_indptr": {**at, "tensor_key": "q"}, "kv_indptr": {**at, "tensor_key": "kv"}}
        return {"uuid": "one", "axes": {"total_q": 10}, "inputs": {**inputs, **fields}}

    def lines_of(self):
        return imported.lines_of(self.folder, self.folder / "lengths")

    def test_ragged_sequences_become_a_file_of_lengths(self):
        self.write("gqa_ragged", self.ragged())
        (line,), left_out = self.lines_of()
        self.assertEqual(left_out, {})
        file = self.folder / "lengths" / "one.txt"
        self.assertEqual(file.read_text(), "3 5\n7 15\n")
        self.assertEqual(
            shlex.split(line),
            ["sparkbench", "sweep", "--lengths", f"file:{file}", "--heads", "8", "--heads-k", "2",
             "--headdim", "64", "--mask", "causal", "--dropout", "0"],
        )  # fmt: skip

    def test_exported_workloads_come_back(self):
        problem = problem_of(mask="band:2:1", **{"pass": "fwd+bwd"})
        self.export(case_of(problem=problem))
        (line,), _ = imported.lines_of(self.folder / "set", self.folder / "lengths")
        self.assertEqual(
            line,
            "sparkbench sweep --pass fwd+bwd --heads 8 --heads-k 2 --headdim 64 --batch 2 --seqlen 16 "
            "--seqlen-k 32 --mask band:2:1 --dropout 0",
        )

    def test_what_is_not_computed_here_is_counted(self):
        for op_type, workload, why in (
            ("gqa_paged", self.ragged(), "op_type gqa_paged"),
            ("gqa_ragged", self.ragged(sm_scale={"type": "scalar", "value": 0.5}), "softmax scale"),
        ):
            self.write(op_type, workload)
            lines, left_out = self.lines_of()
            self.assertEqual((lines, sum(left_out.values())), ([], 1))
            self.assertIn(why, next(iter(left_out)))

    def test_offsets_without_values_are_an_error(self):
        self.write("gqa_ragged", self.ragged(qo_indptr={"type": "random"}))
        with self.assertRaisesRegex(ValueError, "workload one: qo_indptr is no tensor in a file"):
            self.lines_of()

    def test_the_program_says_what_it_left_out(self):
        self.write("gqa_paged", self.ragged())
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = flashinfer_trace.main(["", "import", str(self.folder), "-o", "lengths"])
        self.assertEqual(status, 1)
        self.assertIn("left out: 1: workloads of op_type gqa_paged", err.getvalue())
        with contextlib.redirect_stderr(err):
            status = flashinfer_trace.main(["", "import", str(self.folder / "none"), "-o", "x"])
        self.assertEqual(status, 2)
        self.assertIn("allowed: the folder of a trace set", err.getvalue())


if __name__ == "__main__":
    unittest.main()
