"""sparkbench: verifies and times fused attention kernels, among them functions of Python.

    python -m sparkbench sweep --kernel mine.py:attention --seqlen 4k

`kernel` says what sparkbench has to know of a function beyond its arguments; `Problem` is what it is
asked to compute. harness/python/README.md begins with the shortest function."""

from ._kernel import MASKS, Kernel, kernel
from ._problem import Layer, Problem

__all__ = ["MASKS", "Kernel", "Layer", "Problem", "kernel"]
