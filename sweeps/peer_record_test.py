"""Records of peers: their fields, and that they follow the schema."""

import json
import math
import unittest

import peer_attention
import peer_nvml
import peer_record
import torch_peers
from test_peers import HERE, cases_of

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = json.loads((HERE.parent / "results" / "sparkbench.run.schema.json").read_text("utf-8"))
METRICS = ("max_abs", "mean_abs", "rmse", "rel_l1", "rel_l2", "mean_rel", "max_rel", "cosine_diff")


def accuracy_of(output):
    names = SCHEMA["$defs"]["accuracy"]["required"]
    accuracy = dict.fromkeys(names)
    accuracy.update({name: 1e-4 for name in METRICS}, output=output, oracle="exact-fp64")
    accuracy.update(checked_elements=64, mismatches=0, nonfinite=0, worst_index=[0, 1, 2, 3])
    return accuracy


def check_schema(run):
    """Skips the test without jsonschema."""
    if jsonschema is None:
        raise unittest.SkipTest("the Python package jsonschema is not installed")
    jsonschema.validate(run, SCHEMA)


class Records(unittest.TestCase):
    def run_of(self, cases):
        arguments = torch_peers.make_parser().parse_args(["--tag", "host=test"])
        build = dict.fromkeys(SCHEMA["$defs"]["build"]["required"], "")
        build.update(git_sha=None, git_dirty=None, cuda_toolkit="12.8", cuda_archs=["sm_70"])
        device = dict.fromkeys(SCHEMA["$defs"]["device"]["required"])
        device.update(name="Tesla V100", kind="gpu", arithmetic="native")
        method = peer_record.make_method(arguments, peer_record.FLOP_CONVENTION, 12 << 20, True)
        run = peer_record.begin_run(["torch_peers.py"], arguments, build, device, method)
        run["cases"] = [
            peer_record.begin_case(case, position, method)
            for position, case in enumerate(cases)
        ]
        run["run"]["complete"] = True
        return run

    def test_runs_follow_the_schema(self):
        cases = cases_of("--seqlen", "1024", "--headdim", "64", "--pass", "fwd,bwd")
        run = self.run_of(cases)
        for case, record in zip(cases, run["cases"]):
            accuracy = {name: accuracy_of(name) for name in peer_attention.GRADIENTS}
            accuracy = accuracy_of("o") if case.direction == "fwd" else accuracy
            peer_record.add_accuracy(record, accuracy, "")
            peer_record.add_timing(record, [1.0, 1.5, 1.25], "noise")
            peer_record.add_memory(record, case, 3 * case.io_bytes)
        peer_record.end_without_result(run["cases"][0], "skipped", "E-UNSUPPORTED", "declined")
        check_schema(json.loads(json.dumps(run)))

    def test_do_bench_s_method_is_not_claimed(self):
        arguments = torch_peers.make_parser().parse_args(["--timer", "do_bench"])
        method = peer_record.make_method(arguments, peer_record.FLOP_CONVENTION, 12 << 20, False)
        held = torch_peers.make_parser().parse_args([])
        of_held = peer_record.make_method(held, peer_record.FLOP_CONVENTION, 12 << 20, False)
        self.assertEqual(set(method), set(of_held))
        self.assertEqual((method["held"], method["flush_bytes"]), (False, None))
        self.assertEqual((of_held["held"], of_held["flush_bytes"]), (True, 24 << 20))
        run = self.run_of(cases_of("--seqlen", "1024", "--headdim", "64"))
        check_schema({**run, "method": method})

    def test_the_schema_finds_a_missing_field(self):
        run = self.run_of(cases_of("--seqlen", "1024", "--headdim", "64"))
        del run["cases"][0]["flops"]
        with self.assertRaisesRegex(Exception, "'flops' is a required property"):
            check_schema(run)

    def test_throughput_is_useful_work_over_the_median_time(self):
        (case,) = cases_of(
            "--kernel", "torch-flash", "--seqlen", "1024", "--headdim", "64", "--mask", "full",
            "--dropout", "0",
        )
        record = self.run_of([case])["cases"][0]
        peer_record.add_timing(record, [4.0, 1.0, 2.0], "noise")
        self.assertAlmostEqual(record["tflops"], case.planned["flops"] / 2e-3 * 1e-12)
        self.assertEqual(record["time_ms"]["q1"], 1.5)
        self.assertEqual(record["time_ms"]["samples"], [4.0, 1.0, 2.0])

    def test_an_incorrect_case_has_no_throughput(self):
        (case,) = cases_of(
            "--kernel", "torch-math", "--seqlen", "1024", "--headdim", "64", "--mask", "full",
            "--dropout", "0.1",
        )
        run = self.run_of([case])
        record = run["cases"][0]
        peer_record.add_accuracy(record, accuracy_of("o"), "rel_l2 0.1 exceeds 0.01")
        peer_record.add_timing(record, [1.0, 1.0], "noise")
        self.assertEqual((record["status"], record["tflops"]), ("incorrect", None))
        self.assertEqual(record["warnings"][0]["code"], "W-OWN-DROPOUT-MASK")
        self.assertEqual(peer_record.exit_code_of(run), 1)

    def test_sampling_ends_when_the_median_is_settled(self):
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

    def test_the_median_s_error_is_a_normal_s(self):
        samples = [1.0, 2.0, 3.0, 4.0, 5.0]  # quartiles 2 and 4
        quartile = peer_record.NORMAL_QUARTILE_RANGE / 2
        self.assertAlmostEqual(math.erfc(-quartile / math.sqrt(2)) / 2, 0.75, places=14)
        want = math.sqrt(math.pi / 2) * 2 / (2 * quartile) / math.sqrt(5) / 3
        self.assertAlmostEqual(peer_record.relative_median_error(samples), want)

    def test_hashes_are_fnv1a_of_64_bits(self):
        self.assertEqual(peer_record.fnv1a(""), "cbf29ce484222325")
        self.assertEqual(peer_record.fnv1a("a"), "af63dc4c8601ec8c")

    def test_a_kernel_that_never_ran_is_no_success(self):
        cases = cases_of("--kernel", "torch-math,torch-cudnn", "--mask", "window:5")
        run = self.run_of(cases)
        run["run"]["resolved"]["kernel"] = "torch-math,torch-cud*"
        for record in run["cases"]:
            if record["kernel"] == "torch-cudnn":
                peer_record.end_without_result(record, "skipped", "E-UNSUPPORTED", "declined")
        (why,) = peer_record.why_nothing_ran(run)
        self.assertRegex(why, r"--kernel: 'torch-cud\*': none of its \d+ cases ran: declined")
        self.assertEqual(peer_record.exit_code_of(run), 2)
        run["run"]["resolved"]["kernel"] = "torch-*"
        self.assertEqual(peer_record.exit_code_of(run), 0)

    def test_records_say_where_they_are_from(self):
        run = self.run_of(cases_of("--seqlen", "1024", "--headdim", "64"))
        run["environment"]["device"]["uuid"] = "GPU-0123"
        run["environment"]["driver_version"] = "580.95.05"
        for record in run["cases"]:
            record["provenance"] = peer_record.provenance_of(run)
            record["libraries"] = {"torch": "2.9.0"}
            record["device_state"] = dict.fromkeys(peer_nvml.STATE)
        provenance = run["cases"][0]["provenance"]
        self.assertEqual(provenance["run_id"], run["run"]["id"])
        self.assertEqual(provenance["device_uuid"], "GPU-0123")
        self.assertEqual(provenance["driver_version"], "580.95.05")
        check_schema(json.loads(json.dumps(run)))


if __name__ == "__main__":
    unittest.main()
