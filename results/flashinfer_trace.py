#!/usr/bin/env python3
"""Runs as FlashInfer-Bench's traces, and its workloads as sweeps.

    results/flashinfer_trace.py export RUN... -o FOLDER     # definitions/, workloads/, traces/
    results/flashinfer_trace.py import FOLDER -o LENGTHS    # a command line for each workload

RUN is a folder of --out, or a file of --json. FOLDER is a trace set as FlashInfer-Bench reads it.
What has no counterpart there is left out, and a line on the error stream says how many cases and why.
Workloads of attention over ragged sequences become `sparkbench sweep --lengths file:...`; their
lengths are written to the folder LENGTHS.
"""

import argparse
import pathlib
import sys

from flashinfer import exported, imported


def parser():
    found = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = found.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="write runs as a trace set")
    export.add_argument("run", nargs="+", help="folder of --out, or file of --json")
    export.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER")
    read = commands.add_parser("import", help="print a command line for each workload")
    read.add_argument("folder", type=pathlib.Path, help="of a trace set")
    read.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="LENGTHS")
    return found


def say_left_out(left_out):
    for why, count in sorted(left_out.items()):
        print(f"left out: {count}: {why}", file=sys.stderr)


def main(argv):
    arguments = parser().parse_args(argv[1:])
    try:
        if arguments.command == "export":
            count, left_out = exported.export(arguments.run, arguments.output)
            print(f"{count} traces in {arguments.output}")
        else:
            lines, left_out = imported.lines_of(arguments.folder, arguments.output)
            print("\n".join(lines))
            count = len(lines)
    except (OSError, ValueError) as error:
        print(f"flashinfer_trace.py: {error}", file=sys.stderr)
        return 2
    say_left_out(left_out)
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
