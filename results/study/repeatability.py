#!/usr/bin/env python3
"""How much the medians of a case differ between several runs of one sweep.

    results/study/repeatability.py RUN RUN [RUN ...] [--cases]

A RUN is a run folder or a run.json. The spread of a case is (largest - smallest) / middle of its
medians, in percent; a case counts if every run has a valid time for it. Prints one row per kernel,
and one for all: the median spread, the spread that nine of ten cases stay below, and the worst. If
every run read the SM clock, a second table has the spread in clock cycles (median time x median
clock), which excludes the card's power governor. --cases also lists the cases, the worst first.
Exit status 2: nothing to compare.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys


def read_cases(path):
    """The cases of a run that have a valid time."""
    file = path / "run.json" if path.is_dir() else path
    cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
    return [case for case in cases if case["time_ms"] and case["valid"]]


def medians_in_ms(cases):
    """{case id: median}"""
    return {case["id"]: case["time_ms"]["median"] for case in cases}


def medians_in_cycles(cases):
    """{case id: median time x median clock}, for the cases with clock readings."""
    return {
        case["id"]: case["time_ms"]["median"] * case["clock_mhz"]["median"]
        for case in cases
        if case["clock_mhz"]
    }


def spread_percent(medians):
    return 100 * (max(medians) - min(medians)) / statistics.median(medians)


def spreads_of(runs):
    """{case id: spread} for the cases that all runs have."""
    common = set.intersection(*(set(run) for run in runs))
    return {case: spread_percent([run[case] for run in runs]) for case in sorted(common)}


def of_nine_in_ten(spreads):
    """The spread that nine of ten cases stay below."""
    ordered = sorted(spreads)
    return ordered[math.ceil(0.9 * len(ordered)) - 1]


def row(name, spreads):
    middle, most = statistics.median(spreads), of_nine_in_ten(spreads)
    return f"{name:<16} {len(spreads):>5} {middle:>9.2f} {most:>11.2f} {max(spreads):>8.2f}"


def report(unit, spreads):
    kernels = {}
    for case, spread in spreads.items():
        kernels.setdefault(case.split("/", 1)[0], []).append(spread)
    lines = [f"{'spread in ' + unit:<16} {'cases':>5} {'median %':>9} {'9 in 10 %':>11} {'worst %':>8}"]
    lines += [row(name, kernels[name]) for name in sorted(kernels)]
    return lines + [row("all", list(spreads.values()))]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN")
    parser.add_argument("--cases", action="store_true", help="list the cases, the worst first")
    arguments = parser.parse_args(argv[1:])
    if len(arguments.runs) < 2:
        parser.error("RUN: two or more are needed")
    try:
        runs = [read_cases(path) for path in arguments.runs]
        spreads = spreads_of([medians_in_ms(cases) for cases in runs])
        in_cycles = spreads_of([medians_in_cycles(cases) for cases in runs])
    except (OSError, KeyError, TypeError, ValueError) as error:
        parser.error(f"RUN: no run can be read ({error})")
    if not spreads:
        parser.error("RUN: there is no case of which all have a valid time")
    print("\n".join(report("time", spreads)))
    if in_cycles:
        print("\n".join(["", *report("cycles", in_cycles)]))
    if arguments.cases:
        for case in sorted(spreads, key=spreads.get, reverse=True):
            print(f"{spreads[case]:8.2f} %  {case}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
