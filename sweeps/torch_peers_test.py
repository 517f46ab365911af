"""What torch_peers.py does without PyTorch: cases, records, errors.

Records are validated with jsonschema where it is installed, else by their fields' names.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import peer_cases
import peer_record
import peer_timer
import torch_peers

SCHEMA = json.loads((HERE.parent / "results" / "sparkbench.run.schema.json").read_text("utf-8"))
METRICS = ("max_abs", "mean_abs", "rmse", "rel_l1", "rel_l2", "mean_rel", "max_rel", "cosine_diff")


def cases_of(*flags):
    arguments = torch_peers.make_parser().parse_args(flags)
    return peer_cases.expand_cases(arguments, list(torch_peers.KERNELS))


def accuracy_of(output):
    names = SCHEMA["$defs"]["accuracy"]["required"]
    accuracy = dict.fromkeys(names)
    accuracy.update({name: 1e-4 for name in METRICS}, output=output, oracle="exact-fp64")
    accuracy.update(checked_elements=64, mismatches=0, nonfinite=0, worst_index=[0, 1, 2, 3])
    return accuracy


def check_fields(value, schema, where="run"):
    """The part of the schema that catches a missing, a misspelt and a superfluous field."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if isinstance(value, dict) and schema.get("additionalProperties") is False:
        assert set(schema["required"]) <= set(value) <= set(schema["properties"]), where
        for name, inner in value.items():
            check_fields(inner, schema["properties"][name], f"{where}.{name}")
    if isinstance(value, list):
        for inner in value:
            check_fields(inner, schema.get("items", {}), where)


def check_schema(run):
    try:
        import jsonschema
    except ImportError:
        check_fields(run, SCHEMA)
    else:
        jsonschema.validate(run, SCHEMA)


class Cases(unittest.TestCase):
    def test_the_paper_s_grid_has_every_kernel_on_every_problem(self):
        cases = cases_of("--preset", "paper-forward")
        self.assertEqual(len(cases), 2 * 6 * 2 * 2 * len(torch_peers.KERNELS))
        self.assertEqual(len({case.id for case in cases}), len(cases))

    def test_ids_are_spelled_as_sparkbench_spells_them(self):
        (case,) = cases_of(
            "--kernel", "torch-flash", "--headdim", "64", "--seqlen", "512", "--pass", "bwd",
            "--causal", "true", "--dropout", "0.1",
        )
        self.assertEqual(case.id, "torch-flash/bwd/b32/h32/sq512/sk512/d64/causal/p0.1")

    def test_ranges_include_their_last_value(self):
        self.assertEqual(peer_cases.parse_numbers("512:4k:*2"), [512, 1024, 2048, 4096])
        self.assertEqual(peer_cases.parse_numbers("64:256:+64,1k"), [64, 128, 192, 256, 1024])

    def test_what_cannot_be_read_is_refused(self):
        for flags in (
            ("--seqlen", "0"), ("--seqlen", "1:8:*1"), ("--seqlen", "12x"), ("--causal", "maybe"),
            ("--dropout", "1"), ("--dropout", "nan"), ("--pass", "up"), ("--kernel", "torch-x"),
            ("--batch", "many"),
        ):
            with self.subTest(flags), self.assertRaises(Exception) as raised:
                cases_of(*flags)
            self.assertIn(flags[0], str(raised.exception))

    def test_flops_are_four_a_visible_pair_and_channel_and_backward_two_and_a_half_times_that(self):
        def flops(direction, causal):
            return peer_cases.Case("torch-math", direction, 2, 3, 64, 128, causal, 0.0).flops

        forward = 4 * 2 * 3 * 64 * 64 * 128
        self.assertEqual(flops("fwd", False), forward)
        self.assertEqual(flops("fwd", True), forward // 2)
        self.assertEqual(flops("bwd", False), forward * 5 // 2)
        self.assertEqual(flops("fwd+bwd", False), forward * 7 // 2)


class Records(unittest.TestCase):
    def run_of(self, cases):
        arguments = torch_peers.make_parser().parse_args(["--tag", "host=test"])
        build = dict.fromkeys(SCHEMA["$defs"]["build"]["required"], "")
        build.update(git_sha=None, git_dirty=None, cuda_toolkit="12.8", cuda_archs=["sm_70"])
        device = dict.fromkeys(SCHEMA["$defs"]["device"]["required"])
        device.update(name="Tesla V100", kind="gpu", arithmetic="native")
        method = peer_record.make_method(arguments, peer_cases.FLOP_CONVENTION, 12 << 20, True)
        run = peer_record.begin_run(["torch_peers.py"], arguments, build, device, method)
        run["cases"] = [
            peer_record.begin_case(case, position, 0, method)
            for position, case in enumerate(cases)
        ]
        run["run"]["complete"] = True
        return run

    def test_a_run_of_every_status_and_pass_follows_the_schema(self):
        cases = cases_of("--seqlen", "1k", "--headdim", "64", "--pass", "fwd,bwd")
        run = self.run_of(cases)
        for case, record in zip(cases, run["cases"]):
            accuracy = {name: accuracy_of(name) for name in torch_peers.GRADIENTS}
            accuracy = accuracy_of("o") if case.direction == "fwd" else accuracy
            peer_record.add_accuracy(record, accuracy, "")
            peer_record.add_timing(record, [1.0, 1.5, 1.25], "noise")
            peer_record.add_memory(record, case, 3 * case.io_bytes)
        peer_record.end_without_result(run["cases"][0], "skipped", "E-UNSUPPORTED", "declined")
        check_schema(json.loads(json.dumps(run)))

    def test_a_run_timed_by_do_bench_claims_nothing_of_its_method(self):
        arguments = torch_peers.make_parser().parse_args(["--timer", "do_bench"])
        method = peer_record.make_method(arguments, peer_cases.FLOP_CONVENTION, 12 << 20, False)
        held = torch_peers.make_parser().parse_args([])
        of_held = peer_record.make_method(held, peer_cases.FLOP_CONVENTION, 12 << 20, False)
        self.assertEqual(set(method), set(of_held))
        self.assertEqual((method["held"], method["flush_bytes"]), (False, None))
        self.assertEqual((of_held["held"], of_held["flush_bytes"]), (True, 24 << 20))
        run = self.run_of(cases_of("--seqlen", "1k", "--headdim", "64"))
        check_schema({**run, "method": method})

    def test_the_check_of_the_schema_finds_a_field_that_is_missing(self):
        run = self.run_of(cases_of("--seqlen", "1k", "--headdim", "64"))
        del run["cases"][0]["flops"]
        with self.assertRaises(Exception):
            check_schema(run)

    def test_throughput_is_useful_work_over_the_median_time(self):
        (case,) = cases_of(
            "--kernel", "torch-flash", "--seqlen", "1k", "--headdim", "64", "--causal", "false",
            "--dropout", "0",
        )
        record = self.run_of([case])["cases"][0]
        peer_record.add_timing(record, [4.0, 1.0, 2.0], "noise")
        self.assertAlmostEqual(record["tflops"], case.flops / 2e-3 * 1e-12)
        self.assertEqual(record["time_ms"]["q1"], 1.5)
        self.assertEqual(record["time_ms"]["samples"], [4.0, 1.0, 2.0])

    def test_an_incorrect_case_has_a_reason_and_no_throughput(self):
        (case,) = cases_of(
            "--kernel", "torch-math", "--seqlen", "1k", "--headdim", "64", "--causal", "false",
            "--dropout", "0.1",
        )
        run = self.run_of([case])
        record = run["cases"][0]
        peer_record.add_accuracy(record, accuracy_of("o"), "rel_l2 0.1 exceeds 0.01")
        peer_record.add_timing(record, [1.0, 1.0], "noise")
        self.assertEqual((record["status"], record["tflops"]), ("incorrect", None))
        self.assertEqual(record["warnings"][0]["code"], "W-OWN-DROPOUT-MASK")
        self.assertEqual(peer_record.exit_code_of(run), 1)

    def test_sampling_ends_when_the_median_is_settled_or_when_it_may_not_go_on(self):
        arguments = torch_peers.make_parser().parse_args([])
        quiet = [1.0 + 1e-4 * (i % 3) for i in range(50)]
        self.assertIsNone(peer_record.why_stop(quiet, 0.1, arguments))
        self.assertEqual(peer_record.why_stop(quiet, 0.5, arguments), "noise")
        self.assertIsNone(peer_record.why_stop(quiet[:49], 0.5, arguments))
        self.assertEqual(peer_record.why_stop(quiet[:1], 10.0, arguments), "time")
        drifting = [1.0] * 30 + [1.02] * 30
        self.assertIsNone(peer_record.why_stop(drifting, 0.5, arguments))
        swinging = ([1.0] * 10 + [1.1] * 10 + [1.05] * 10) * 3
        self.assertIsNone(peer_record.why_stop(swinging, 0.5, arguments))
        never_settled = 50 * drifting + [2.0] * 900
        self.assertEqual(peer_record.why_stop(never_settled, 9.0, arguments), "samples")

    def test_the_error_of_the_median_is_that_of_normal_samples_with_these_quartiles(self):
        samples = [1.0, 2.0, 3.0, 4.0, 5.0]  # quartiles 2 and 4
        want = math.sqrt(math.pi / 2) * 2 / 1.3489795 / math.sqrt(5) / 3
        self.assertAlmostEqual(peer_record.relative_median_error(samples), want)

    def test_hashes_are_fnv1a_of_64_bits(self):
        self.assertEqual(peer_record.fnv1a(""), "cbf29ce484222325")
        self.assertEqual(peer_record.fnv1a("a"), "af63dc4c8601ec8c")


class Sampling(unittest.TestCase):
    def test_the_gpu_rests_after_each_sample_to_keep_the_duty_cycle(self):
        now, rested = [0.0], []

        def take_sample():
            now[0] += 0.01
            return 9.9

        def sleep(seconds):
            rested.append(seconds)
            now[0] += seconds

        arguments = torch_peers.make_parser().parse_args(["--duty-cycle", "0.25"])
        samples, stop_reason = peer_timer.sample_until_settled(
            take_sample, arguments, lambda: now[0], sleep
        )
        self.assertEqual((samples, stop_reason), ([9.9] * 50, "noise"))
        self.assertEqual(len(rested), 50)
        for seconds in rested:
            self.assertAlmostEqual(seconds, 0.03)

    def test_a_duty_cycle_outside_0_01_to_1_is_refused(self):
        for text in ("0", "1.5", "nan", "half"):
            with self.subTest(text), self.assertRaises(SystemExit):
                torch_peers.make_parser().parse_args(["--duty-cycle", text])


class Verdicts(unittest.TestCase):
    def errors(self, rel_l2, nonfinite=0):
        return {"rel_l2": rel_l2, "max_abs": rel_l2, "nonfinite": nonfinite, "want_max_abs": 1.0}

    def test_twice_the_unfused_error_and_half_a_unit_pass_and_more_does_not(self):
        limit = 2 * 1e-2 + torch_peers.TOLERANCE_FLOOR
        self.assertEqual(torch_peers.why_wrong(self.errors(limit), self.errors(1e-2), 2.0), "")
        self.assertNotEqual(
            torch_peers.why_wrong(self.errors(1.01 * limit), self.errors(1e-2), 2.0), ""
        )

    def test_nan_and_what_is_not_finite_do_not_pass(self):
        good = self.errors(1e-2)
        self.assertNotEqual(torch_peers.why_wrong(self.errors(math.nan), good, 2.0), "")
        self.assertNotEqual(torch_peers.why_wrong(self.errors(0.0, 1), good, 2.0), "")

    def test_the_first_and_the_last_head_are_checked(self):
        case = peer_cases.Case("torch-math", "fwd", 4, 8, 64, 64, False, 0.0)
        heads = torch_peers.checked_heads(case)
        self.assertEqual((heads[0], heads[-1], len(heads)), ((0, 0), (3, 7), 4))


class Program(unittest.TestCase):
    def run_program(self, *flags, **environment):
        command = [sys.executable, str(HERE / "torch_peers.py"), *flags]
        environment = {**os.environ, **environment}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    def test_without_pytorch_it_says_so_and_ends_with_3(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "torch.py").write_text("raise ImportError('none here')")
            result = self.run_program("--preset", "quick", PYTHONPATH=folder)
        self.assertEqual(result.returncode, 3)
        self.assertIn("PyTorch 2.3 or later is missing", result.stderr)

    def test_a_wrong_flag_ends_with_2_and_names_it(self):
        result = self.run_program("--seqlen", "12x")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--seqlen", result.stderr)

    def test_a_dry_run_lists_the_cases(self):
        result = self.run_program("--dry-run", "--preset", "quick", "--kernel", "torch-cudnn")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(result.stdout.splitlines()), 2 * 2 * 2 * 2)


if __name__ == "__main__":
    unittest.main()
