"""python -m spark_attention check: see kernels/python/README.md."""

import argparse
import json
import sys

from . import _check
from ._check.environment import imported_torch
from ._check.model import ModelError

_EPILOG = (
    "exit status: 0 all is well; 1 a wrong result, or a card without code; 2 wrong usage, or a model "
    "that cannot be run; 3 the library cannot be loaded, or --model without PyTorch"
)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m spark_attention", epilog=_EPILOG)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    check = commands.add_parser(
        "check",
        epilog=_EPILOG,
        help="tell what there is and whether it computes right",
        description="Tells versions and cards, compares small passes with fp64, and tells what of a "
        "model's attention runs on the kernels.",
    )
    check.add_argument(
        "--model",
        metavar="module:factory",
        help="or path/file.py:factory; the factory takes no arguments and returns (module, inputs): "
        "one pass is run under sa.sdpa()",
    )
    check.add_argument(
        "--json",
        metavar="FILE",
        help="write the report there too; -: print it instead of the page",
    )
    return parser


def main(arguments=None):
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return _check.USAGE
    if given.model is not None and imported_torch() is None:
        return _fail(_check.ENVIRONMENT, "--model wants PyTorch, which is not installed")
    try:
        report = _check.collect(given.model)
    except ModelError as error:
        return _fail(_check.USAGE, error)
    try:
        _write(report, given.json)
    except OSError as error:
        return _fail(_check.USAGE, f"--json: {error}")
    return _check.FINDING if report["findings"] else _check.OK


def _write(report, json_file):
    from ._check import page

    text = json.dumps(_check.as_json(report), indent=2)
    if json_file == "-":
        print(text)
        return
    print(page.text_of(report))
    if json_file is not None:
        with open(json_file, "w", encoding="utf-8") as file:
            file.write(text + "\n")


def _fail(status, why):
    print(f"spark_attention check: {why}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
