"""python -m sparkbench COMMAND: the program, whose --kernel also takes Python functions."""

import sys

from ._program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv))
