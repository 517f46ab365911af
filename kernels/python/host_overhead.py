#!/usr/bin/env python3
"""Microseconds that a call keeps the host busy, beside PyTorch's own attention.

    python3 host_overhead.py                    # on a GPU
    python3 host_overhead.py --python-alone     # on any machine: over a library that does nothing

Measures calls whose kernels are short, so that the GPU waits for the host: the time until the last of
100 consecutive calls has returned, the least of 30 rounds. Once only the forward pass, without
gradients, and once a forward and a backward pass by autograd.
"""

import os
import sys
import time
import unittest.mock

os.environ.setdefault("SPARK_ATTENTION_ALLOW_SLOW", "1")
os.environ.setdefault("SPARK_ATTENTION_GENERATION", "volta")

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import spark_attention as sa
from spark_attention import _library

CALLS, ROUNDS = 100, 30


def microseconds(call, synchronize):
    least = float("inf")
    for _ in range(ROUNDS):
        synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        least = min(least, time.perf_counter() - begin)
    return 1e6 * least / CALLS


def both_passes(function, tensors, d_out):
    def call():
        torch.autograd.grad(function(*tensors), tensors, d_out)

    return call


def main():
    is_python_alone = sys.argv[1:] == ["--python-alone"]
    if sys.argv[1:] and not is_python_alone:
        sys.exit(f"host_overhead.py: {' '.join(sys.argv[1:])!r} is no choice; allowed: --python-alone")
    if is_python_alone:
        torch.set_num_threads(1)
        with unittest.mock.patch.multiple(_library, forward=lambda *_: None, backward=lambda *_: None):
            print(f"a library that does nothing, PyTorch {torch.__version__}")
            measure("cpu", lambda: None)
    elif torch.cuda.is_available():
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
        measure("cuda", torch.cuda.synchronize)
    else:
        sys.exit("host_overhead.py: no GPU; --python-alone needs none")


def measure(device, synchronize):
    shape = (1, 16, 1, 64)
    q, k, v, d_out = (torch.randn(shape, device=device).half() for _ in range(4))
    leaves = [tensor.clone().requires_grad_() for tensor in (q, k, v)]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    ways = {
        "spark_attention": lambda *t: sa.attention(*t, causal=True),
        "spark_attention, dropout": lambda *t: sa.attention(*t, causal=True, dropout_p=0.1),
        "spark operators": lambda *t: torch.ops.spark.forward(
            *t, None, 0.0, "applied", 0.0, "causal", "fp32", False
        )[0],
    }
    if device == "cuda":
        ways["PyTorch, SDPA"] = lambda *t: sdpa(*(x.transpose(1, 2) for x in t), is_causal=True)
    print(f"{'':26} forward  forward and backward   (us a call)")
    for name, function in ways.items():
        gradient = d_out.transpose(1, 2) if "SDPA" in name else d_out
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION), torch.no_grad():
            forward = microseconds(lambda: function(q, k, v), synchronize)
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            both = microseconds(both_passes(function, leaves, gradient), synchronize)
        print(f"{name:26} {forward:7.1f}  {both:7.1f}")


if __name__ == "__main__":
    main()
