#!/usr/bin/env python3
"""Microseconds that a call keeps the host busy, beside PyTorch's own attention.

    python3 host_overhead.py

Of calls whose kernels are short, so that the GPU waits for the host: 100 calls one after the other,
the time until the last returned, the least of 30 rounds. Forward alone, without gradients; and a
forward and a backward pass by autograd.
"""

import os
import sys
import time

os.environ.setdefault("SPARK_ATTENTION_ALLOW_SLOW", "1")

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import spark_attention as sa

CALLS, ROUNDS = 100, 30


def microseconds(call):
    least = float("inf")
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
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
    if not torch.cuda.is_available():
        sys.exit("host_overhead.py: no GPU")
    shape = (1, 16, 1, 64)
    q, k, v, d_out = (torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(4))
    leaves = [tensor.clone().requires_grad_() for tensor in (q, k, v)]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    ways = {
        "spark_attention": lambda *t: sa.attention(*t, causal=True),
        "spark_attention, dropout": lambda *t: sa.attention(*t, causal=True, dropout_p=0.1),
        "spark operators": lambda *t: torch.ops.spark.forward(
            *t, None, 0.0, "applied", 0.0, "causal", "fp32", False
        )[0],
        "PyTorch, SDPA": lambda *t: sdpa(*(x.transpose(1, 2) for x in t), is_causal=True),
    }
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    print(f"{'':26} forward  forward and backward   (us a call)")
    for name, function in ways.items():
        gradient = d_out.transpose(1, 2) if "SDPA" in name else d_out
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION), torch.no_grad():
            forward = microseconds(lambda: function(q, k, v))
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            both = microseconds(both_passes(function, leaves, gradient))
        print(f"{name:26} {forward:7.1f}  {both:7.1f}")


if __name__ == "__main__":
    main()
