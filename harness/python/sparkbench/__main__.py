"""python -m sparkbench COMMAND: the program, whose --kernel also takes Python functions."""

import sys

from ._program import main


def run():
    return main(sys.argv)


if __name__ == "__main__":
    sys.exit(run())
