#!/usr/bin/env python3
"""Does `sparkbench diff` find a planted slowdown, and stay silent without one?

    results/study/planted_regressions.py [--pairs 1000] [--seed 1] [--sparkbench PATH] [RUN ...]

A RUN is a stored run with clock readings; by default the complete ones in
results/published/h200/paper-*. The script makes --pairs second runs, from each stored run in
turn, and lets the program compare each with its original. It plants:

- Samples. Each case resamples its stored samples with their clock readings. A block of samples
  keeps
its position, because the first block often has another clock than the rest.
- Run to run. The times are multiplied by the ratio of two real sweeps of that case
(repeatability.csv), or of a case of that kernel and pass, or of any case. The whole ratio counts
as the kernel's (its cycles), although part of it is the clock's.
- Clock. The clock changes by a factor per case, uniform in +- 2 % (or 0.5 %). The time follows
  it
completely, not at all, or in part ("sm", "memory", "mixed").
- Slowdown. 0; or, in a tenth as many pairs, 4 % or 2 % in every case.

Prints one line for each combination: the pairs of runs, their cases, the shares that are slow,
fast, clock, ambiguous and same, and the number of pairs with a false alarm: a case that is slow
or fast without a slowdown, or fast with one. Exit status 1 if fewer than 95 % are found, or
there is an alarm.
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import functools
import itertools
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "results/published/h200"
WHAT_FOLLOWS = ("sm", "memory", "mixed")
PARTS = ("slow", "fast", "clock", "ambiguous", "same")
PLANTED = ((0.0, 0.02), (0.04, 0.02), (0.02, 0.005))  # slowdown, range of the clock's factor
LEAST_FOUND = 0.95


@dataclasses.dataclass
class Plan:
    sparkbench: str
    seed: int
    runs: list  # (path, run) pairs
    ratios: dict
    slowdown: float = 0.0
    clock: float = 0.0
    follows: str = "sm"


def read_run(path):
    file = path / "run.json" if path.is_dir() else path
    return json.loads(file.read_text(encoding="utf-8"))


def group_of(case_id):
    """Kernel and pass."""
    return "/".join(case_id.split("/")[:2])


def read_run_ratios(path):
    """{case id, or kernel and pass, or "": ratios of the medians of any two sweeps}"""
    ratios = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            case = row.pop("id")
            for first, second in itertools.permutations([float(text) for text in row.values()], 2):
                for key in (case, group_of(case), ""):
                    ratios.setdefault(key, []).append(second / first)
    return ratios


def run_ratios_of(ratios, case_id):
    return ratios.get(case_id) or ratios.get(group_of(case_id)) or ratios[""]


def redraw(draw, count, block):
    """Indices of as many samples, each from its own block."""
    blocks = (range(begin, min(begin + block, count)) for begin in range(0, count, block))
    return [index for part in blocks for index in draw.choices(part, k=len(part))]


def time_exponent(draw, follows):
    """The dependence of a time on the clock: ms ~ clock ** -exponent."""
    return {"sm": 1.0, "memory": 0.0}.get(follows, draw.random())


def replant(draw, case, block, time_factor, clock_factor):
    """A copy of the case with resampled samples, and with times and clocks multiplied."""
    times, clocks = case["time_ms"]["samples"], case["clock_mhz"]["samples"]
    indices = redraw(draw, len(times), block)
    samples = [times[i] * time_factor for i in indices]
    mhz = [clocks[i] and clocks[i] * clock_factor for i in indices]
    return case | {
        "time_ms": case["time_ms"] | {"samples": samples, "median": statistics.median(samples)},
        "clock_mhz": case["clock_mhz"] | {"samples": mhz},
    }


def make_second(draw, run, plan):
    """The run as it might be repeated another night, with the planted changes."""
    cases = []
    for case in run["cases"]:
        off = 1 + draw.uniform(-plan.clock, plan.clock)
        between = draw.choice(run_ratios_of(plan.ratios, case["id"]))
        factor = (1 + plan.slowdown) * between * off ** -time_exponent(draw, plan.follows)
        cases.append(replant(draw, case, run["method"]["block_samples"], factor, off))
    changed = run | {"cases": cases}
    changed.pop("run_hash", None)  # of the program's text
    return changed


def verdicts_of(sparkbench, path, other):
    """For each case the program's verdict on its time, for the run at `path` and then `other`."""
    with tempfile.TemporaryDirectory() as name:
        second, found = (pathlib.Path(name) / file for file in ("second", "diff"))
        second.write_text(json.dumps(other), encoding="utf-8")
        command = [sparkbench, "diff", path, second, "--json", found]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode not in (0, 1):
            raise RuntimeError(result.stderr)
        diff = json.loads(found.read_text(encoding="utf-8"))
    has_slow = any(count["verdict"] == "slow" for count in diff["counts"])
    if (result.returncode == 1) != has_slow:
        raise RuntimeError(f"exit status {result.returncode}, and slow: {has_slow}")
    findings = [{each["verdict"] for each in case["findings"]} for case in diff["cases"]]
    return [next(part for part in PARTS if part in found) for found in findings]


def diff_pair(plan, number):
    """The verdicts for that pair of the plan; depends only on the number."""
    draw = random.Random(f"{plan.seed} {plan.slowdown} {plan.clock} {plan.follows} {number}")
    path, run = plan.runs[number % len(plan.runs)]
    return verdicts_of(plan.sparkbench, path, make_second(draw, run, plan))


class Tally:
    def __init__(self):
        self.pairs = self.alarms = 0
        self.counts = dict.fromkeys(PARTS, 0)

    def add(self, verdicts, slowdown):
        self.pairs += 1
        for verdict in verdicts:
            self.counts[verdict] += 1
        false = ("fast",) if slowdown else ("slow", "fast")
        self.alarms += any(verdict in false for verdict in verdicts)

    def share(self, verdict):
        return self.counts[verdict] / sum(self.counts.values())

    def line(self, slowdown, clock, follows):
        parts = " ".join(f"{100 * self.share(part):>11.3f}" for part in PARTS)
        cases = sum(self.counts.values())
        return (f"{100 * slowdown:>10.0f} {100 * clock:>7.1f} {follows:>7} {self.pairs:>6} "
                f"{cases:>7} {parts} {self.alarms:>7}")


def has_timed_clocks(run):
    return all(case["time_ms"] and case["clock_mhz"] for case in run["cases"])


def measure(plan, pairs, jobs):
    """Prints one line of the table. Returns whether the requirement holds."""
    tally = Tally()
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for verdicts in pool.map(functools.partial(diff_pair, plan), range(pairs), chunksize=5):
            tally.add(verdicts, plan.slowdown)
    print(tally.line(plan.slowdown, plan.clock, plan.follows), flush=True)
    return tally.alarms == 0 and (plan.slowdown == 0 or tally.share("slow") >= LEAST_FOUND)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", type=pathlib.Path, metavar="RUN")
    parser.add_argument("--pairs", type=int, default=1000, help="unchanged; a tenth of it planted")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sparkbench", default=str(ROOT / "build/harness/sparkbench"))
    parser.add_argument("--clock", choices=WHAT_FOLLOWS, help="one of the three alone")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args(argv[1:])
    paths = arguments.runs or sorted(PUBLISHED.glob("paper-*"))
    runs = [(path, read_run(path)) for path in paths]
    if not arguments.runs:
        runs = [(path, run) for path, run in runs if run["run"]["complete"]]
    if not runs or not all(has_timed_clocks(run) for path, run in runs):
        parser.error("RUN: every case needs a time and its clock readings")
    plan = Plan(arguments.sparkbench, arguments.seed, runs,
                read_run_ratios(PUBLISHED / "repeatability.csv"))
    print(f"{'slowdown %':>10} {'clock %':>7} {'follows':>7} {'pairs':>6} {'cases':>7} "
          + " ".join(f"{part + ' %':>11}" for part in PARTS) + f" {'alarms':>7}")
    holds = True
    for follows in [arguments.clock] if arguments.clock else WHAT_FOLLOWS:
        for slowdown, clock in PLANTED:
            pairs = max(arguments.pairs // 10, 1) if slowdown else arguments.pairs
            planted = dataclasses.replace(plan, slowdown=slowdown, clock=clock, follows=follows)
            holds &= measure(planted, pairs, arguments.jobs)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
