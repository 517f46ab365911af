#!/usr/bin/env python3
"""PyTorch's own tests of its memory-efficient attention, with these kernels in its place, on a GPU.

    curl -O https://raw.githubusercontent.com/pytorch/pytorch/v2.11.0/test/test_transformers.py
    python3 run_torch_sdpa_tests.py test_transformers.py [--tests REGEX] [--every N]

The file must be that of the installed PyTorch; it also imports expecttest. Runs each Nth of the tests
whose name the regular expression finds (by default those of fp16 against the math reference). Dropout
masks have other random numbers here, so the tests' questions about PyTorch's masks are answered with
these kernels' masks. Prints what ran here and what was left to PyTorch. The exit status is 0 if all
passed and some ran here.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import sys
import types
import unittest
import warnings

os.environ.setdefault("SPARK_ATTENTION_ALLOW_SLOW", "1")
os.environ.setdefault("SPARK_ATTENTION_GENERATION", "volta")

import torch
import torch.nn.functional as F

import spark_attention as sa
from spark_attention import _ledger, _ops

TESTS = "TestSDPACudaOnly.*mem_efficient_attention_vs_math_ref_grads.*(?<!b)float16"


def left_calls():
    return sum(count for line, count in _ledger.lines() if line.startswith("left to PyTorch"))


def answer_with_own_masks():
    pytorchs, served = torch._fill_mem_eff_dropout_mask_, F.scaled_dot_product_attention
    left_before_call = 0

    def call(*tensors, **options):
        nonlocal left_before_call
        if not torch.compiler.is_compiling():
            left_before_call = left_calls()
        return served(*tensors, **options)

    def fill(mask, dropout_p, seed, offset):
        """Above dropout_p where kept. The seed is the generator's, or as it was drawn from that. Where
        the call before was left to PyTorch, so is its mask."""
        if left_calls() > left_before_call:
            return pytorchs(mask, dropout_p, seed, offset)
        drawn = seed if seed >= 1 << 32 else _ops._mix(_ops._mix(seed) ^ offset) >> 1
        batch, heads, seqlen_q, seqlen_k = mask.shape
        q = torch.empty(batch, seqlen_q, heads, 64, dtype=torch.float16, device=mask.device)
        k = torch.empty(batch, seqlen_k, 1, 64, dtype=torch.float16, device=mask.device)
        return mask.copy_(_ops.dropout_keep(q, k, drawn, dropout_p))

    torch._fill_mem_eff_dropout_mask_, F.scaled_dot_product_attention = fill, call


def load(path):
    """As a module; what it imports of other test files is not wanted by these tests."""
    name = "test_cpp_extensions_open_device_registration"
    sys.modules.setdefault(name, types.SimpleNamespace(remove_build_path=None,
                                                       generate_faked_module=None))  # fmt: skip
    spec = importlib.util.spec_from_file_location("test_transformers", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def flatten(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from flatten(each)
        else:
            yield each


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--tests", default=TESTS, metavar="REGEX")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("run_torch_sdpa_tests.py: no GPU")
    if not given.file.is_file() or given.every < 1:
        sys.exit(f"run_torch_sdpa_tests.py: {given.file} is no file, or --every is below 1")
    module = load(given.file)
    found = [test for test in flatten(unittest.defaultTestLoader.loadTestsFromModule(module))
             if re.search(given.tests, test.id())][:: given.every]  # fmt: skip
    if not found:
        sys.exit(f"run_torch_sdpa_tests.py: {given.tests!r} finds no test")
    sa.explain(reset=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with sa.sdpa():
            answer_with_own_masks()
            result = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite(found))
    failed = len(result.failures) + len(result.errors)
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}: {result.testsRun} tests, "
          f"{failed} failed, {len(result.skipped)} skipped")  # fmt: skip
    print(sa.explain())
    sys.exit(not (result.wasSuccessful() and "ran forward" in sa.explain()))


if __name__ == "__main__":
    main()
