#!/usr/bin/env python3
"""Tests which faults are found when planted into the kernels, one at a time.

    cmake -S . -B build-plant -G Ninja -DSPARKBENCH_PLANT_FAULTS=ON -DSPARKBENCH_CUDA=OFF
    ninja -C build-plant
    harness/e2e/planted_faults_study.py build-plant                      # all, the table on stdout
    harness/e2e/planted_faults_study.py build-plant --only kMask --sweep # some, only by the sweeps
    harness/e2e/planted_faults_study.py --check                          # the list and the table agree

kernels/base/planted_fault.h lists the faults. For each of them the study runs `sweep` and `accuracy`
over the grids below, and the kernels' tests of its section, until one of them finds it. Found
means
    incorrect  a case has the status `incorrect`, by its numbers
    finding    the emulated machine found a wrong access: a race, a hang, a bound
    failed     a case could not run, or the program crashed
Exit status 1 if nothing finds a fault, or if a build without a planted fault is not correct.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "kernels/base/planted_fault.h"
TABLE = ROOT / "harness/e2e/planted_faults.md"

BATCH = ["--batch", "2", "--heads", "2", "--heads-k", "1"]
GROUPS = ["--batch", "1", "--heads", "4", "--heads-k", "2"]
ONE_HEAD = ["--batch", "2", "--heads", "1"]
# A user's grids. A grid named by a fault's section comes first for that fault.
SWEEPS = {
    "dense": ["--pass", "fwd,bwd", "--headdim", "64", "--seqlen", "200", "--mask",
              "causal,window:48", "--dropout", "0.1", *BATCH],
    "far scores": ["--pass", "fwd", "--headdim", "64", "--seqlen", "200", "--mask", "full",
                   "--dropout", "0", "--input-scale", "4", *ONE_HEAD],
    "many keys": ["--pass", "bwd", "--headdim", "64", "--seqlen", "130", "--seqlen-k", "650",
                  "--mask", "full", "--dropout", "0.1", *ONE_HEAD],
    "cross": ["--pass", "fwd,bwd", "--headdim", "64", "--seqlen", "200", "--seqlen-k", "65,127,230",
              "--mask", "full,causal", "--dropout", "0.1", *BATCH],
    "wide": ["--pass", "fwd,bwd", "--headdim", "80,128", "--seqlen", "100", "--mask", "full",
             "--dropout", "0.1", *GROUPS],
    "packed": ["--pass", "fwd,bwd", "--headdim", "64", "--lengths", "uniform:20:150", "--mask",
               "causal,prefix:40", "--dropout", "0.1", *BATCH],
    "patterns": ["--pass", "fwd,bwd", "--headdim", "64", "--seqlen", "200", "--mask",
                 "blocked:48,sink:4/window:9", "--dropout", "0", *BATCH],
    "passes": ["--pass", "fwd,bwd", "--headdim", "64", "--seqlen", "520", "--mask",
               "window:64+causal-strided:4", "--dropout", "0", *ONE_HEAD],
    "deterministic": ["--pass", "bwd", "--deterministic", "--headdim", "64", "--seqlen", "129",
                      "--mask", "full,causal", "--dropout", "0.1", *BATCH],
    "windows": ["--pass", "bwd", "--headdim", "64", "--seqlen", "200", "--mask", "window:48",
                "--dropout", "0.1", *ONE_HEAD],
    "long": ["--pass", "fwd,bwd", "--headdim", "64", "--seqlen", "4k", "--mask",
             "longformer:64:8", "--dropout", "0", "--batch", "1", "--heads", "1"],
}
ACCURACY = ["--pass", "fwd,bwd", "--headdim", "64", "--seqlen", "200", "--mask", "causal",
            "--dropout", "0.1", *BATCH]
DEVICES = {"volta": "emulated-v100", "hopper": "emulated-h100"}

# The kernels' tests: those of a section with the word, else those of the pass.
TESTS = {
    "volta": {"packed": ["volta_packed_test"],
              "patterns": ["volta_sparse_test", "volta_passes_test", "volta_sparse_parts_test"],
              "forward": ["volta_forward_test", "volta_mask_test", "volta_dropout_offset_test",
                          "fp32_scores_test"],
              "backward": ["volta_backward_test", "volta_group_test", "volta_backward_relay_test"]},
    "hopper": {"packed": ["hopper_packed_test"],
               "patterns": ["hopper_sparse_test"],
               "forward": ["hopper_forward_test", "volta_dropout_offset_test", "fp32_scores_test"],
               "backward": ["hopper_backward_test", "hopper_dq_sums_test",
                            "hopper_carried_backward_test"]},
}
# Only the tests that compare results; other comparisons take long.
COMPARING = "--gtest_filter=" + ":".join(
    f"*{word}*" for word in ("Definition", "Pictures", "EachSequence", "SequenceAlone", "DqAlone",
                             "InMemory", "Follows", "Zero", "NearlyAsRight", "SameBitsWith",
                             "AreNotRounded"))
OF_BACKWARD = re.compile(r"\bd[QKVPS]\b|\bD\b|backward|relay")
FAULT = re.compile(r'F\((k\w+), (\w+), "([^"]*)"\)')
SECTION = re.compile(r"/\* (.*) \*/")


class PlantedFault:
    """A fault in the kernels of one generation; a fault in both generations counts twice."""

    def __init__(self, name, kernels, sentence, section):
        self.name, self.kernels, self.sentence, self.section = name, kernels, sentence, section

    def grids(self):
        """Grids of SWEEPS that the fault's words name come first; "long" is only for patterns."""
        grids = [grid for grid in SWEEPS if grid != "long" or "patterns" in self.section]
        words = f"{self.section}, {self.sentence}"
        return sorted(grids, key=lambda grid: (grid not in self.sentence, grid not in words))

    def test_names(self):
        of_section = [word for word in ("packed", "patterns") if word in self.section]
        of_pass = "backward" if OF_BACKWARD.search(self.sentence) else "forward"
        return TESTS[self.kernels][of_section[0] if of_section else of_pass]


def listed_faults():
    faults, section = [], ""
    for line in HEADER.read_text().split("\n"):
        if heading := SECTION.search(line):
            section = heading[1]
        if fault := FAULT.search(line):
            name, kernels, sentence = fault.groups()
            for of in ("volta", "hopper") if kernels == "both" else (kernels,):
                faults.append(PlantedFault(name, of, sentence, section))
    return faults


class Runner:
    """Runs a program with a planted fault and returns how it was found; "" if it was not."""

    def __init__(self, build, name, seconds):
        self.build, self.seconds, self.is_reached = Path(build), seconds, False
        self.environment = {**os.environ, "SPARKBENCH_PLANTED_FAULT": name}

    def run(self, command):
        try:
            done = subprocess.run(command, capture_output=True, timeout=self.seconds, check=False,
                                  env=self.environment, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as late:
            self.is_reached |= b"planted fault reached" in (late.stderr or b"")
            return None
        self.is_reached |= b"planted fault reached" in done.stderr
        return done

    def program(self, verb, kernels, grid):
        # In one process, to see the message that a fault prints when it is reached.
        command = [self.build / "harness/sparkbench", verb, "--device", DEVICES[kernels],
                   "--kernel", f"{kernels}-*", *grid, "--fail-fast", "--in-process", "-q"]
        with tempfile.TemporaryDirectory(prefix="sparkbench_planted_") as folder:
            record = Path(folder) / "run.json"
            done = self.run([*command, "--json", record])
            if done is None:
                return "failed: does not end"
            if done.returncode == 0:
                return ""
            if done.returncode not in (1, 4):
                return f"failed: exit status {done.returncode}"
            cases = json.loads(record.read_text())["cases"]
        bad = [case for case in cases if case["status"] in ("incorrect", "failed")]
        if not bad:
            return f"failed: exit status {done.returncode} without a case"
        kind = bad[0]["status"]
        reason = bad[0]["reason"]
        if reason["code"] == "E-FINDING":
            kind = "finding"
        return f"{kind}: {reason['message']}"

    def sweep(self, fault):
        for grid in fault.grids():
            if found := self.program("sweep", fault.kernels, SWEEPS[grid]):
                return f"{grid}: {found}"
        return ""

    def accuracy(self, fault):
        return self.program("accuracy", fault.kernels, ACCURACY)

    def tests(self, fault):
        for test in fault.test_names():
            done = self.run([self.build / "kernels" / test, COMPARING, "--gtest_fail_fast"])
            if done is None:
                return None  # it hangs, or is only slow
            if done.returncode != 0:
                failed = re.search(rb"\[  FAILED  \] ([\w/]+\.\w+)", done.stdout)
                return failed[1].decode() if failed else f"{test}: status {done.returncode}"
        return ""


COLUMNS = ("sweep", "accuracy", "tests")


def study(build, fault, arguments):
    """{column: how it was found, "" if not, None if not tried}, and whether it was reached."""
    runner = Runner(build, fault.name, arguments.seconds)
    found = {column: getattr(runner, column)(fault) if getattr(arguments, column) else None
             for column in COLUMNS}
    return fault, found, runner.is_reached


def sound_kernels_are_wrong(build, arguments):
    """Findings without a planted fault; "" if there are none."""
    runner = Runner(build, "", arguments.seconds)
    for kernels in DEVICES:
        for verb, grid in [("accuracy", ACCURACY), *(("sweep", grid) for grid in SWEEPS.values())]:
            if found := runner.program(verb, kernels, grid):
                return f"{kernels}, {verb} {' '.join(grid)}: {found}"
    return ""


def cell(found):
    if found is None:
        return "–"  # not run, or timed out
    if found == "":
        return "**no**"
    return found if len(found) < 90 else found[:87] + "..."


def print_table(rows):
    print("| fault | kernels | what is wrong | sweep | accuracy | tests |")
    print("|---|---|---|---|---|---|")
    for fault, found, _ in rows:
        cells = [cell(found[column]).replace("|", "\\|") for column in COLUMNS]
        print(f"| `{fault.name}` | {fault.kernels} | {fault.sentence} | {' | '.join(cells)} |")
    for column in COLUMNS:
        tried = [found[column] for _, found, _ in rows if found[column] is not None]
        print(f"{column}: {sum(map(bool, tried))} of {len(tried)} found", file=sys.stderr)


def check():
    """The list, the kernels and the table of the last study must name the same faults."""
    listed = {fault.name for fault in listed_faults()}
    planted = set()
    for path in [*ROOT.glob("kernels/**/*.h"), *ROOT.glob("kernels/**/*.cc")]:
        if path != HEADER and not path.name.endswith("_test.cc"):
            planted |= set(re.findall(r"SPARK_(?:UNLESS_)?PLANTED\(\s*(k\w+)", path.read_text()))
    in_table = set(re.findall(r"^\| `(k\w+)` \|", TABLE.read_text(), re.MULTILINE))
    wrong = 0
    for what, names in (("planted", planted), (f"in {TABLE.name}", in_table)):
        for name in sorted(listed ^ names):
            where = "listed in planted_fault.h, not" if name in listed else "not listed, but"
            print(f"{name} is {where} {what}", file=sys.stderr)
            wrong += 1
    if len(listed) < 40:
        print(f"only {len(listed)} faults are listed", file=sys.stderr)
        wrong += 1
    print(f"{len(listed)} faults are listed, planted and in the table" if wrong == 0 else "wrong")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", nargs="?", help="a build with SPARKBENCH_PLANT_FAULTS")
    parser.add_argument("--only", default="", help="regular expression of faults")
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time")
    parser.add_argument("--seconds", type=float, default=600, help="for one program, at most")
    parser.add_argument("--check", action="store_true", help="compare the list with the table")
    for column in COLUMNS:
        parser.add_argument(f"--{column}", action="store_true", help=f"{column} alone, or several")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    if arguments.build is None:
        parser.error("give the folder of a build with SPARKBENCH_PLANT_FAULTS=ON")
    if not (arguments.sweep or arguments.accuracy or arguments.tests):
        arguments.sweep = arguments.accuracy = arguments.tests = True
    if wrong := not arguments.only and sound_kernels_are_wrong(arguments.build, arguments):
        print(f"found without a planted fault: {wrong}", file=sys.stderr)
        return 1
    faults = [fault for fault in listed_faults() if re.search(arguments.only, fault.name)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = []
        for row in pool.map(lambda fault: study(arguments.build, fault, arguments), faults):
            rows.append(row)
            note = "" if row[2] else " (never reached)"
            print(f"{row[0].name} {row[0].kernels}{note}: {row[1]}", file=sys.stderr, flush=True)
    print_table(rows)
    return 0 if all(any(found.values()) for _, found, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
