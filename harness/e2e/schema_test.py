#!/usr/bin/env python3
"""What the program writes as JSON follows the schemas in results/, which find what does not.

    schema_test.py PROGRAM

Exits with 77, which CTest takes for skipped, without the Python package jsonschema.
"""

import copy
import functools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: the Python package jsonschema is not installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS = ROOT / "results/published/h200"
PROGRAM = ""
TINY = "--device emulated-v100 --headdim 64 --heads 2 --batch 1 --dropout 0.1 --causal true"
LAYER = "encoder --device emulated-v100 --headdim 64 --hidden 128 --ffn 256 --dropout 0.1"
RUN_COMMANDS = (
    f"sweep {TINY} --seqlen 9,17 --pass fwd,bwd,fwd+bwd --tag night=1",
    f"sweep {TINY} --seqlen 9 --no-verify",
    f"sweep {TINY.replace('--causal true', '--mask sink:4+window:3,where:k%2==0')} --seqlen 9",
    f"sweep {TINY} --lengths uniform:3:9",
    f"sweep {TINY} --seqlen 128k --batch 16384 --kernel unfused-fp16",  # too large for any machine
    f"accuracy {TINY} --seqlen 9 --deterministic --pass bwd",
    f"run {TINY} --seqlen 9 --kernel volta-fp32acc --seed 7",
    f"{LAYER} --seqlen 9 --batch 1 --rest fused,unfused --kernel volta-fp32acc,unfused-fp16",
    f"{LAYER} --seqlen 9 --batch 1 --rest eager --kernel volta-fp32acc --software-factor a=2",
    f"{LAYER} --lengths uniform:3:9 --batch 2 --rest fused --pass fwd+bwd --kernel volta-fp16acc",
    "encoder --preset paper-encoder --device emulated-v100 --headdim 64 --seqlen 2k --ffn 8192",
    f"report {RUNS}/paper-backward",
    f"merge {RUNS}/paper-forward {RUNS}/torch-forward.json --allow build,device,method",
)


@functools.cache
def schema(name):
    loaded = json.loads((ROOT / f"results/sparkbench.{name}.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def written(command, *codes):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "out.json"
        words = [PROGRAM, *command.split(), "--json", str(path)]
        result = subprocess.run(words, capture_output=True, text=True, check=False)
        assert result.returncode in (codes or (0,)), (words, result.returncode, result.stderr)
        return json.loads(path.read_text("utf-8"))


def problems(validator, document):
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


class Documents(unittest.TestCase):
    def test_runs_follow_their_schema(self):
        statuses = set()
        for command in RUN_COMMANDS:
            with self.subTest(command):
                run = written(command, 0, 2)  # 2: nothing ran of a kernel that was named
                statuses |= {case["status"] for case in run["cases"]}
                self.assertEqual(problems(schema("run"), run), [])
        self.assertLessEqual({"ok", "skipped", "unverified", "predicted"}, statuses)

    def test_a_difference_follows_its_schema(self):
        command = f"diff {RUNS}/torch-forward.json {RUNS}/fa4-forward.json --allow device,libraries"
        self.assertEqual(problems(schema("diff"), written(command, 1)), [])
        self.assertNotEqual(problems(schema("diff"), {}), [])

    def test_the_schema_finds_what_is_wrong(self):
        good = written(f"sweep {TINY} --seqlen 9 --pass bwd --kernel volta-fp32acc")
        for damage in (
            lambda run, case: run.pop("method"),
            lambda run, case: run["schema"].update(version="2.0.0"),
            lambda run, case: run["method"].update(deterministic="yes"),
            lambda run, case: case.pop("speedup"),
            lambda run, case: case.update(extra=1),
            lambda run, case: case.update(status="fine"),
            lambda run, case: case.update(time_ms=0),
            lambda run, case: case["problem"].update(batch=-1),
            lambda run, case: case["problem"].pop("mask"),
            lambda run, case: case["problem"].update({"pass": "both"}),
            lambda run, case: case["emulation"].pop("mma"),
            lambda run, case: case["emulation"].update(mma=None),
            lambda run, case: case["accuracy"].pop("dv"),
            lambda run, case: case["accuracy"].update(o=1),
            lambda run, case: case["accuracy"]["dq"].update(max_abs="small"),
            lambda run, case: case["accuracy"]["dq"].pop("output_hash"),
        ):
            wrong = copy.deepcopy(good)
            damage(wrong, wrong["cases"][0])
            self.assertNotEqual(problems(schema("run"), wrong), [])
        good["cases"][0]["bound"] = {"chip": "V100-SXM2", "tflops": 98.5}  # of earlier versions
        self.assertEqual(problems(schema("run"), good), [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
