"""What torch_peers.py does without PyTorch: cases, masks, calls, records, errors.

Its cases are those of test_sparkbench.py, but in one test, which asks the program that was built.

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
import unittest.mock

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import peer_attention
import peer_check
import peer_masks
import peer_record
import peer_timer
import sparkbench_cases
import torch_peers

STAND_IN = str(HERE / "test_sparkbench.py")

SCHEMA = json.loads((HERE.parent / "results" / "sparkbench.run.schema.json").read_text("utf-8"))
SCHEMA["$defs"]["problem"]["properties"].setdefault("mask", {"type": "string"})
METRICS = ("max_abs", "mean_abs", "rmse", "rel_l1", "rel_l2", "mean_rel", "max_rel", "cosine_diff")


def cases_of(*flags):
    flags = ["--sparkbench", STAND_IN, *flags]
    arguments, others = torch_peers.make_parser().parse_known_args(flags)
    return sparkbench_cases.plan_cases(arguments, others, list(peer_attention.PEERS))


def case_of(kernel, mask, *flags):
    (case,) = cases_of(
        "--kernel", kernel, "--mask", mask, "--headdim", "64", "--dropout", "0", "--seqlen", "64",
        *flags,
    )  # fmt: skip
    return case


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
    def test_every_kernel_is_on_every_problem(self):
        cases = cases_of()
        self.assertEqual(len(cases), 2 * 2 * 2 * 2 * len(peer_attention.PEERS))
        self.assertEqual(len({case.id for case in cases}), len(cases))
        self.assertEqual(cases[0].problem, cases[3].problem)

    def test_ids_are_the_reference_s(self):
        case = case_of("torch-flash", "window:5", "--pass", "bwd", "--batch", "32")
        self.assertEqual(case.id, "torch-flash/bwd/b32/h2/sq64/sk64/d64/window:5/p0")

    def test_globs_select_and_must_select(self):
        kernels = {case.kernel for case in cases_of("--kernel", "torch-f*,torch-math")}
        self.assertEqual(kernels, {"torch-flash", "torch-math"})
        with self.assertRaisesRegex(sparkbench_cases.CasesError, "--kernel: unknown 'torch-x'"):
            cases_of("--kernel", "torch-x")

    def test_sparkbench_s_refusal_is_passed_on(self):
        refused = {("--seqlen", "12x"): "cannot read '12x'", ("--bogus", "1"): "--bogus"}
        for flags, said in refused.items():
            with self.subTest(flags), self.assertRaises(sparkbench_cases.CasesError) as raised:
                cases_of(*flags)
            self.assertIn(said, str(raised.exception))
            self.assertEqual(raised.exception.exit_code, 2)

    def test_a_missing_program_is_named(self):
        with self.assertRaisesRegex(sparkbench_cases.CasesError, "--sparkbench: no program /no/w"):
            cases_of("--sparkbench", "/no/where")

    def test_a_program_without_cases_is_refused(self):
        for text in ("a table", "{}", '{"cases": [{"id": "x", "problem": {}}]}'):
            with self.subTest(text), tempfile.TemporaryDirectory() as folder:
                program = pathlib.Path(folder) / "sparkbench"
                program.write_text(f"#!/bin/sh\necho '{text}'\n", "utf-8")
                program.chmod(0o755)
                with self.assertRaisesRegex(sparkbench_cases.CasesError, "build it anew"):
                    cases_of("--sparkbench", str(program))

    def test_repro_lines_are_the_peers_own(self):
        case = case_of("torch-math", "band:3:1", "--seed", "9")
        self.assertEqual(
            case.repro,
            "sweeps/torch_peers.py --kernel torch-math --pass fwd --mask band:3:1 --headdim 64 "
            "--seqlen 64 --seed 9",
        )

    def test_the_built_program_plans_them(self):
        program = os.environ.get("SPARKBENCH_PROGRAM", str(sparkbench_cases.BUILT))
        if not pathlib.Path(program).exists():
            self.skipTest(f"there is no {program}")
        command = [program, "sweep", "--help"]
        if "--mask" not in subprocess.run(command, capture_output=True, text=True).stdout:
            self.skipTest(f"{program} has no --mask")
        flags = ["--sparkbench", program, "--preset", "paper-forward", "--dropout", "0.1"]
        flags += ["--mask", "causal,window:256"]
        arguments, others = torch_peers.make_parser().parse_known_args(flags)
        cases = sparkbench_cases.plan_cases(arguments, others, ["torch-flash"])
        self.assertEqual(len(cases), 2 * 6 * 2)
        ids = {case.id: case for case in cases}
        case = ids["torch-flash/fwd/b32/h32/sq512/sk512/d64/causal/p0.1"]
        self.assertEqual(case.planned["flops"], 2 * 32 * 32 * 512 * 512 * 64)
        self.assertEqual(case.io_bytes, 4 * 2 * 32 * 32 * 512 * 64 + 4 * 32 * 32 * 512)
        self.assertTrue(case.repro.startswith("sweeps/torch_peers.py --kernel torch-flash "))


def mask_of(name, seqlen_q=7, seqlen_k=7):
    return peer_masks.Mask(name, seqlen_q, seqlen_k)


class Masks(unittest.TestCase):
    def rows(self, mask):
        """A string of x and . for each row."""
        return [
            "".join("x" if mask.sees(row, key) else "." for key in range(mask.seqlen_k))
            for row in range(mask.seqlen_q)
        ]

    def test_they_are_those_of_mask_spec(self):
        self.assertEqual(self.rows(mask_of("full", 2, 3)), ["xxx", "xxx"])
        self.assertEqual(self.rows(mask_of("causal", 2, 3)), ["xx.", "xxx"])
        self.assertEqual(self.rows(mask_of("window:2", 3, 3)), ["x..", "xx.", ".xx"])
        self.assertEqual(self.rows(mask_of("window:1", 2, 3)), [".x.", "..x"])
        self.assertEqual(self.rows(mask_of("window:2", 3, 1)), [".", ".", "x"])
        self.assertEqual(self.rows(mask_of("band:1:1", 3, 3)), ["xx.", "xxx", ".xx"])
        self.assertEqual(self.rows(mask_of("prefix:2", 3, 3)), ["xx.", "xx.", "xxx"])

    def test_counted_pairs_are_the_seen_ones(self):
        names = ("full", "causal", "window:1", "window:5", "band:2:1", "band:9:9", "prefix:3")
        for name in names:
            for lengths in ((7, 7), (3, 9), (9, 3)):
                mask = mask_of(name, *lengths)
                with self.subTest(mask):
                    self.assertEqual(mask.visible_pairs(), "".join(self.rows(mask)).count("x"))

    def test_blind_rows_are_found(self):
        self.assertTrue(mask_of("causal", 9, 3).has_blind_rows())
        self.assertFalse(mask_of("causal", 3, 9).has_blind_rows())
        self.assertFalse(mask_of("prefix:1", 9, 3).has_blind_rows())

    def test_near_misses_are_a_key_off(self):
        def names(name):
            return [miss.name for miss in mask_of(name).near_misses()]

        self.assertEqual(names("window:5"), ["window:4", "window:6"])
        self.assertEqual(names("window:1"), ["window:2"])
        self.assertEqual(names("window:7"), ["window:6"])
        self.assertEqual(names("window:8"), [])
        self.assertEqual(names("band:0:2"), ["band:1:2", "band:0:1", "band:0:3"])
        self.assertEqual(names("prefix:3"), ["prefix:2", "prefix:4"])
        self.assertEqual(names("causal") + names("full"), [])

    def test_peers_decline_what_they_lack(self):
        def why(kernel, mask, *flags):
            return peer_masks.why_unsupported(case_of(kernel, mask, *flags))

        for kernel, masks in peer_masks.MASKS.items():
            for mask in ("full", "causal", "window:5", "band:3:1", "prefix:9"):
                with self.subTest((kernel, mask)):
                    self.assertEqual(why(kernel, mask) == "", mask.split(":")[0] in masks)
        self.assertIn("no mask window:5; it has full, causal", why("torch-cudnn", "window:5"))
        self.assertIn("top left", why("torch-cudnn", "causal", "--seqlen-k", "80"))
        self.assertIn("without a visible key", why("torch-efficient", "causal", "--seqlen-k", "8"))
        self.assertEqual(why("torch-unfused", "causal", "--seqlen-k", "8"), "")
        self.assertIn("are normal", why("torch-math", "full", "--input", "uniform"))


class FakeTensor:
    """Notes how it was turned."""

    def __init__(self, name):
        self.name = name

    def detach(self):
        return self

    def transpose(self, *_axes):
        return FakeTensor(self.name[:-1] if self.name.endswith("'") else self.name + "'")


class FakeTorch:
    """Notes the calls of torch.ops.aten."""

    def __init__(self):
        self.calls = []
        self.ops = self.aten = self

    def __getattr__(self, name):
        def call(*arguments, **options):
            names = [x.name if isinstance(x, FakeTensor) else x for x in arguments]
            self.calls.append((name, names, options))
            return [FakeTensor(x) for x in ("o'", "lse", "state", "unused", "more", "more")]

        return call


class Calls(unittest.TestCase):
    """Of kernels that scaled_dot_product_attention gives no window."""

    def calls_of(self, kernel, mask, *flags):
        torch = FakeTorch()
        passes = peer_attention.passes_of(torch, case_of(kernel, mask, *flags), 0.25)
        o = passes.forward([FakeTensor(name) for name in "qkv"])
        self.assertEqual(o.name, "o")
        gradients = [x.name for x in passes.backward(FakeTensor("do"))]
        self.assertEqual(gradients, ["o", "lse'", "state'"])
        return torch.calls

    def test_flash_counts_offsets(self):
        forward, backward = self.calls_of("torch-flash", "window:5")
        options = {"scale": 0.125, "window_size_left": 4, "window_size_right": 0}
        inputs = ["q'", "k'", "v'"]
        taken = [*inputs, None, None, 64, 64, 0.25, False, False]
        self.assertEqual(forward, ("_flash_attention_forward", taken, options))
        saved = ["o'", "lse", None, None, 64, 64, 0.25, False, "state", "unused"]
        self.assertEqual(backward, ("_flash_attention_backward", ["do'", *inputs, *saved], options))
        (_, _, band), _ = self.calls_of("torch-flash", "band:3:1")
        self.assertEqual((band["window_size_left"], band["window_size_right"]), (3, 1))
        (_, _, causal), _ = self.calls_of("torch-flash", "causal", "--seqlen-k", "80")
        self.assertEqual((causal["window_size_left"], causal["window_size_right"]), (-1, 0))

    def test_efficient_counts_keys(self):
        forward, backward = self.calls_of("torch-efficient", "window:5", "--seqlen-k", "80")
        options = {"scale": 0.125, "window_size": 5}
        inputs = ["q'", "k'", "v'"]
        self.assertEqual(
            forward,
            (
                "_efficient_attention_forward",
                [*inputs, None, None, None, 64, 80, 0.25, 2, True],
                options,
            ),
        )
        saved = [None, "o'", None, None, 64, 80, "lse", 0.25, "state", "unused", 2, False]
        self.assertEqual(
            backward, ("_efficient_attention_backward", ["do'", *inputs, *saved], options)
        )

    def test_what_sdpa_spells_is_sdpa_s(self):
        for kernel in peer_attention.BACKENDS:
            for mask in ("full", "causal"):
                passes = peer_attention.passes_of(FakeTorch(), case_of(kernel, mask), 0.0)
                self.assertIsInstance(passes, peer_attention.Sdpa)
                self.assertEqual(passes.hidden, {"is_causal": mask == "causal"})


class FakeScores:
    """Notes what is done to it, in the order."""

    def __init__(self, steps=(), shape=(2, 3, 64, 64)):
        self.steps, self.shape = steps, shape

    def then(self, *step):
        return FakeScores((*self.steps, step), self.shape)

    def flatten(self, *_axes):
        return self

    def transpose(self, *_axes):
        return self

    def new_empty(self, *_shape):
        return FakeScores()

    def unflatten(self, axis, sizes):
        return self.then("unflatten", axis, sizes)

    def masked_fill_(self, mask, value):
        return self.then("hide", mask, value)

    def masked_fill(self, mask, value):
        return self.then("fill", mask, value)


class FakeFunctions:
    """PyTorch's functions that the unfused chain calls."""

    def __init__(self):
        self.nn = self.functional = self

    def baddbmm(self, _unread, q, _k, beta, alpha):
        return q.then("scores", beta, alpha)

    def softmax(self, scores, axis):
        return scores.then("softmax", axis)

    def dropout(self, p, dropout_p):
        return p.then("dropout", dropout_p)

    def bmm(self, p, _v):
        return p.then("product")


class FakeHidden:
    """Of a mask, what it hides."""

    def __invert__(self):
        return self

    def all(self, _axis, keepdim):
        return "sees none"


class UnfusedChain(unittest.TestCase):
    def steps_of(self, mask, dropout_p, *flags):
        case = case_of("torch-unfused", mask, *flags)
        hidden = FakeHidden()
        with unittest.mock.patch.object(peer_masks.Mask, "dense", lambda *_: hidden):
            passes = peer_attention.passes_of(FakeFunctions(), case, dropout_p)
        o = passes.forward([FakeScores() for _ in "qkv"])
        return [tuple("hidden" if x is hidden else x for x in step) for step in o.steps]

    def test_a_full_mask_is_three_calls(self):
        heads = ("unflatten", 0, (2, 3))
        self.assertEqual(
            self.steps_of("full", 0.0),
            [("scores", 0, 0.125), ("softmax", -1), ("product",), heads],
        )

    def test_masks_and_dropout_are_a_call_each(self):
        names = [step[0] for step in self.steps_of("window:5", 0.25)]
        self.assertEqual(names, ["scores", "hide", "softmax", "dropout", "product", "unflatten"])
        steps = self.steps_of("causal", 0.25)
        self.assertEqual(steps[1], ("hide", "hidden", float("-inf")))
        self.assertEqual(steps[3], ("dropout", 0.25))

    def test_rows_without_a_key_become_zeros(self):
        steps = self.steps_of("causal", 0.0, "--seqlen-k", "8")
        self.assertEqual(steps[2:4], [("softmax", -1), ("fill", "sees none", 0.0)])


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
        with self.assertRaises(Exception):
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
        want = math.sqrt(math.pi / 2) * 2 / 1.3489795 / math.sqrt(5) / 3
        self.assertAlmostEqual(peer_record.relative_median_error(samples), want)

    def test_hashes_are_fnv1a_of_64_bits(self):
        self.assertEqual(peer_record.fnv1a(""), "cbf29ce484222325")
        self.assertEqual(peer_record.fnv1a("a"), "af63dc4c8601ec8c")


class Sampling(unittest.TestCase):
    def test_the_gpu_rests_after_each_sample(self):
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

    def test_a_duty_cycle_above_1_is_refused(self):
        for text in ("0", "1.5", "nan", "half"):
            with self.subTest(text), self.assertRaises(SystemExit):
                torch_peers.make_parser().parse_args(["--duty-cycle", text])


class Verdicts(unittest.TestCase):
    def errors(self, rel_l2, nonfinite=0):
        return {"rel_l2": rel_l2, "max_abs": rel_l2, "nonfinite": nonfinite, "want_max_abs": 1.0}

    def test_twice_the_unfused_error_passes(self):
        limit = 2 * 1e-2 + peer_check.TOLERANCE_FLOOR
        self.assertEqual(peer_check.why_wrong(self.errors(limit), self.errors(1e-2), 2.0), "")
        self.assertNotEqual(
            peer_check.why_wrong(self.errors(1.01 * limit), self.errors(1e-2), 2.0), ""
        )

    def test_nan_does_not_pass(self):
        good = self.errors(1e-2)
        self.assertNotEqual(peer_check.why_wrong(self.errors(math.nan), good, 2.0), "")
        self.assertNotEqual(peer_check.why_wrong(self.errors(0.0, 1), good, 2.0), "")

    def test_the_first_and_the_last_head_are_checked(self):
        heads = peer_check.checked_heads(
            case_of("torch-math", "full", "--batch", "4", "--heads", "8")
        )
        self.assertEqual((heads[0], heads[-1], len(heads)), ((0, 0), (3, 7), 4))


    def gradients(self, **rmse):
        """dq, dk and dv of wanted size 1, or of none at all."""
        return {
            name: {"nonfinite": 0, "rmse": value, "max_abs": value, "want_rms": size,
                   "want_max_abs": size}
            for name, value, size in (
                ("dq", rmse.get("dq", 0.0), 0.0), ("dk", rmse.get("dk", 0.0), 0.0),
                ("dv", rmse.get("dv", 0.0), 1.0),
            )
        }  # fmt: skip

    def test_gradients_are_measured_by_the_largest(self):
        floor, none = peer_check.TOLERANCE_FLOOR, self.gradients()
        for name in peer_attention.GRADIENTS:
            good = self.gradients(**{name: floor})
            self.assertEqual(peer_check.why_gradients_wrong(good, none, 2.0), "")
            bad = self.gradients(**{name: 1.01 * floor})
            self.assertIn(f"{name}: rmse", peer_check.why_gradients_wrong(bad, none, 2.0))
        nan = self.gradients(dk=math.nan)
        self.assertIn("dk: rmse", peer_check.why_gradients_wrong(nan, none, 2.0))

    def test_exactly_one_window_may_agree(self):
        mask, asked = mask_of("window:5"), []

        def agrees_with_six(miss):
            asked.append(miss.name)
            return miss.name == "window:6"

        self.assertEqual(peer_check.why_in_doubt(mask, lambda miss: False), "")
        self.assertIn(
            "agrees with window:5 and with window:6", peer_check.why_in_doubt(mask, agrees_with_six)
        )
        self.assertEqual(asked, ["window:4", "window:6"])


class Program(unittest.TestCase):
    def run_program(self, *flags, **environment):
        command = [sys.executable, str(HERE / "torch_peers.py"), "--sparkbench", STAND_IN, *flags]
        environment = {**os.environ, **environment}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    def test_without_pytorch_it_ends_with_3(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "torch.py").write_text("raise ImportError('none here')")
            result = self.run_program("--preset", "quick", PYTHONPATH=folder)
        self.assertEqual(result.returncode, 3)
        self.assertIn("PyTorch 2.3 or later is missing", result.stderr)

    def test_a_wrong_flag_ends_with_2(self):
        result = self.run_program("--seqlen", "12x")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--seqlen", result.stderr)

    def test_a_dry_run_lists_the_cases(self):
        result = self.run_program("--dry-run", "--preset", "quick", "--kernel", "torch-cudnn")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(result.stdout.splitlines()), 2 * 2 * 2 * 2)
        self.assertIn("torch-cudnn/fwd/b1/h2/sq512/sk512/d64/causal/p0.1\n", result.stdout)


if __name__ == "__main__":
    unittest.main()
