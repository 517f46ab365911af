"""The cases of the peers. One test uses the built program."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import peer_attention
import sparkbench_cases
import torch_peers
from test_peers import case_of, cases_of


class Cases(unittest.TestCase):
    def test_every_kernel_is_on_every_problem(self):
        cases = cases_of()
        self.assertEqual(len(cases), 2 * 2 * 2 * 2 * (len(peer_attention.PEERS) - 3))
        self.assertEqual(len({case.id for case in cases}), len(cases))
        self.assertEqual(cases[0].problem, cases[3].problem)

    def test_ids_are_the_reference_s(self):
        case = case_of("torch-flash", "window:5", "--pass", "bwd", "--batch", "32")
        self.assertEqual(case.id, "torch-flash/bwd/b32/h2/sq64/sk64/d64/window:5/p0")

    def test_globs_select_and_must_select(self):
        kernels = {case.kernel for case in cases_of("--kernel", "torch-f*,torch-math")}
        self.assertEqual(kernels, {"torch-flash", "torch-flex", "torch-math"})
        with self.assertRaisesRegex(sparkbench_cases.CasesError, "--kernel: unknown 'torch-x'"):
            cases_of("--kernel", "torch-x")
        with self.assertRaisesRegex(sparkbench_cases.CasesError, "did you mean 'torch-flash'"):
            cases_of("--kernel", "torch-falsh")

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


if __name__ == "__main__":
    unittest.main()
