"""Whole cases and their records on this machine's CPU, with fake memory, clock and profiles.
Skipped without PyTorch."""

import contextlib
import json
import types
import unittest
from unittest import mock

import peer_record
import torch_peers
from peer_record_test import SCHEMA, check_schema
from test_peers import layer_of, layers_of, torch_or_skip

torch = torch_or_skip()
import peer_layer_launches  # noqa: E402
import peer_layer_record  # noqa: E402
import peer_layer_run  # noqa: E402
from peer_layer_launches import MARK, Event  # noqa: E402

PROFILE = peer_layer_launches.profile
STATE = dict.fromkeys(SCHEMA["$defs"]["device_state"]["required"])
NVML = types.SimpleNamespace(state=lambda: STATE)


def profile_with_kernels(_torch, function):
    """Two kernels, and one in each stage."""
    events = PROFILE(torch, function)
    marks = [event for event in events if event.name.startswith(MARK)]
    of_stages = [Event("kernel", True, mark.begin, mark.begin) for mark in marks]
    return [*events, *of_stages] if marks else [*events, *(Event("kernel", True, 0, 1),) * 2]


class Timer:
    """Every launch takes 2 ms."""

    def __init__(self, *_unused):
        self.flush = torch.zeros(1)

    def time(self, launch):
        launch()
        return [2.0, 2.0, 2.0], "noise"

    def hold_cycles(self, launch):
        launch()
        return 1


class EventOfStage:
    """Consecutive events are 0.1 ms apart."""

    def __init__(self, enable_timing):
        pass

    def record(self):
        pass

    def elapsed_time(self, _end):
        return 0.1


class Graph:
    def replay(self):
        pass


@contextlib.contextmanager
def machine(profile=profile_with_kernels, graph=Graph):
    """1,000 bytes in use and a peak of 5,000, for any function."""
    nothing = lambda *_unused, **_unused_too: None  # noqa: E731
    stream = types.SimpleNamespace(wait_stream=nothing)
    cuda = {
        "empty_cache": nothing, "synchronize": nothing, "reset_peak_memory_stats": nothing,
        "memory_allocated": lambda: 1000, "max_memory_allocated": lambda: 5000, "_sleep": nothing,
        "Event": EventOfStage, "Stream": lambda: stream, "current_stream": lambda: stream,
        "CUDAGraph": graph, "stream": lambda _stream: contextlib.nullcontext(),
        "graph": lambda _graph, stream: contextlib.nullcontext(),
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        for name, replacement in cuda.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, replacement))
        stack.enter_context(mock.patch("peer_layer_launches.profile", profile))
        stack.enter_context(mock.patch("peer_timer.Timer", Timer))
        yield


class Runs(unittest.TestCase):
    def records_of(self, cases, *flags, **of_machine):
        arguments = torch_peers.make_parser().parse_args(["--layer", "encoder", *flags])
        method = peer_record.make_method(arguments, peer_record.FLOP_CONVENTION, 1 << 20, True)
        runner = peer_layer_run.Runner(torch, "cpu", "aot_eager")
        records = []
        with machine(**of_machine):
            for position, case in enumerate(cases):
                record = peer_layer_record.begin_case(case, position, method)
                runner.run_case(torch, Timer(), case, record, arguments, NVML)
                records.append(json.loads(json.dumps(record)))
        self.check(records, arguments, method)
        return records

    def check(self, records, arguments, method):
        """Checks against the schema."""
        build = dict.fromkeys(SCHEMA["$defs"]["build"]["required"], "")
        build.update(git_sha=None, git_dirty=None, cuda_toolkit="12.8", cuda_archs=["sm_90"])
        device = dict.fromkeys(SCHEMA["$defs"]["device"]["required"])
        device.update(name="NVIDIA H200", kind="gpu", arithmetic="native")
        run = peer_record.begin_run(["torch_peers.py"], arguments, build, device, method)
        check_schema(json.loads(json.dumps({**run, "cases": records})))

    def record_of(self, kernel, *flags, **of_machine):
        return self.records_of([layer_of(kernel, "causal", *flags)], **of_machine)[0]

    def test_all_layers_have_whole_records(self):
        kernels = "torch-*-unfused,torch-*-math,torch-*-flash,torch-encoder-layer"
        flags = ("--kernel", kernels, "--mask", "causal", "--activation", "gelu-erf")
        cases = layers_of("--pass", "fwd,bwd,fwd+bwd", *flags)
        cases = [case for case in cases if case.direction == "fwd" or "-math" not in case.kernel]
        for record in self.records_of(cases):
            with self.subTest(record["id"]):
                is_eager = "-eager-" in record["kernel"]
                if record["kernel"] == "torch-encoder-layer" and record["problem"]["pass"] != "fwd":
                    self.assertEqual(record["reason"]["code"], "E-UNSUPPORTED")
                    self.assertIsNone(record["layer"])
                    continue
                self.assertEqual((record["status"], record["reason"]), ("ok", None))
                self.assertEqual(record["time_ms"]["median"], 2.0)
                layer = record["layer"]
                self.assertEqual((layer["launches"], layer["graph_ms"]), (2, 2.0))
                self.assertEqual(len(layer["stages"]), 7 if is_eager else 0)
                self.assertEqual(layer["attention_share"] is None, not is_eager)
                self.assertEqual(record["warnings"], [])
                is_forward = record["problem"]["pass"] == "fwd"
                self.assertEqual(record["accuracy"] is not None, is_forward)
                told = {error["of"] for error in layer["errors"]}
                self.assertEqual("dWqkv" in told, not is_forward)
                role = "reference" if record["kernel"] == "torch-eager-unfused" else "fused"
                self.assertEqual(record["role"], role)

    def test_stages_are_times_of_their_own(self):
        layer = self.record_of("torch-eager-math", "--pass", "fwd+bwd")["layer"]
        for stage in layer["stages"]:
            self.assertAlmostEqual(stage["time_ms"], 0.2)  # forward and backward
            self.assertEqual((stage["launches"], stage["flops"], stage["bytes"]), (2, 1000, 100))
        self.assertAlmostEqual(layer["attention_share"], 1 / 7)
        self.assertAlmostEqual(layer["gap_ms"], 2.0 - 7 * 0.2)

    def test_memory_is_the_inputs_and_what_comes_on_top(self):
        tokens = 2 * 3 * 24 * 64
        for direction, inputs in (("fwd", tokens), ("fwd+bwd", 2 * tokens), ("bwd", 2 * tokens)):
            record = self.record_of("torch-eager-math", "--pass", direction)
            self.assertEqual(record["layer"]["peak_bytes"], inputs + 4000)
            peak = record["layer"]["peak_bytes"] + record["layer"]["weight_bytes"]
            self.assertEqual(record["memory_bytes"]["peak"], peak)
        for kernel in ("torch-eager-unfused", "torch-encoder-layer"):  # with a table of the mask
            layer = self.record_of(kernel, "--activation", "relu")["layer"]
            self.assertEqual(layer["peak_bytes"], tokens + 24 * 24 + 4000)

    def test_with_dropout_errors_are_those_without(self):
        for kernel in ("torch-eager-unfused", "torch-compile-math"):
            record = self.record_of(kernel, "--dropout", "0.1", "--pass", "fwd+bwd")
            self.assertEqual(record["status"], "ok")
            self.assertEqual([w["code"] for w in record["warnings"]], ["W-OWN-DROPOUT-MASK"])
            self.assertEqual(record["problem"]["dropout_p_applied"], 0.1)
            self.assertLess(record["layer"]["errors"][0]["rel_l2"], 2.0**-9)

    def test_an_incorrect_layer_has_no_throughput(self):
        wrong = mock.patch("peer_layer_check.why_wrong", lambda name, *_others: f"{name}: too much")
        with wrong:
            record = self.record_of("torch-eager-math")
        self.assertEqual((record["status"], record["tflops"]), ("incorrect", None))
        self.assertEqual(record["reason"]["message"], "output: too much")
        self.assertIsNotNone(record["time_ms"])

    def test_another_attention_is_no_result(self):
        with mock.patch("peer_layers.BACKENDS", {"flash": "MATH"}):
            record = self.record_of("torch-script-flash")
        self.assertEqual((record["status"], record["time_ms"]), ("failed", None))
        self.assertIn("no fused attention in the place of flash", record["reason"]["message"])

    def test_what_pytorch_declines_is_skipped(self):
        for kernel in ("torch-eager-cudnn", "torch-compile-cudnn", "torch-script-cudnn"):
            record = self.record_of(kernel)
            self.assertEqual(
                (record["status"], record["reason"]["code"]), ("skipped", "E-UNSUPPORTED")
            )
            self.assertIn("No viable backend", record["reason"]["message"])
            self.assertLessEqual(len(record["reason"]["message"]), peer_layer_run.LONGEST_MESSAGE)
        record = self.record_of("torch-eager-flash", "--dropout", "0.1")  # which CPUs lack
        self.assertEqual(record["reason"]["code"], "E-UNSUPPORTED")
        self.assertEqual((record["accuracy"], record["warnings"]), (None, []))

    def test_too_little_memory_is_told(self):
        def draw(*_unused):
            raise torch.cuda.OutOfMemoryError("Tried to allocate 56 GiB")

        with mock.patch("peer_layer.draw_tensors", draw):
            record = self.record_of("torch-eager-math")
        self.assertEqual(record["reason"]["code"], "E-OUT-OF-MEMORY")

    def test_without_memory_for_the_oracle_a_layer_is_timed(self):
        def compute(*_unused):
            raise torch.cuda.OutOfMemoryError("Tried to allocate 56 GiB")

        with mock.patch("peer_layer_check.unfused_outputs", compute):
            record = self.record_of("torch-eager-math")
        self.assertEqual((record["status"], record["accuracy"]), ("ok", None))
        self.assertEqual(record["layer"]["errors"], [])
        self.assertEqual([w["code"] for w in record["warnings"]], ["W-NOT-VERIFIED"])

    def test_without_memory_for_its_stages_a_layer_has_none(self):
        def run(*_unused):
            raise torch.cuda.OutOfMemoryError("Tried to allocate 56 GiB")

        with mock.patch("peer_layer_stages.StagedLayer.run", run):
            record = self.record_of("torch-eager-math")
        self.assertEqual((record["status"], record["layer"]["stages"]), ("ok", []))
        self.assertEqual([w["code"] for w in record["warnings"]], ["W-NO-STAGES"])

    def test_without_a_profile_of_kernels_there_is_no_layer(self):
        record = self.record_of("torch-eager-math", profile=PROFILE)
        self.assertEqual((record["status"], record["layer"]), ("ok", None))
        self.assertEqual([w["code"] for w in record["warnings"]], ["W-NO-LAUNCHES"])

    def test_a_layer_that_is_no_graph_has_no_time_as_one(self):
        def fails():
            raise RuntimeError("operation not permitted when stream is capturing")

        record = self.record_of("torch-eager-math", graph=fails)
        self.assertEqual((record["status"], record["layer"]["graph_ms"]), ("ok", None))
        self.assertIn("stream is capturing", record["warnings"][0]["message"])

    def test_unverified_layers_have_no_errors(self):
        (record,) = self.records_of([layer_of("torch-eager-math")], "--no-verify")
        self.assertEqual((record["layer"]["errors"], record["accuracy"]), ([], None))


if __name__ == "__main__":
    unittest.main()
