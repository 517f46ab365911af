#!/usr/bin/env python3
"""Each entry point as the first CUDA work of its process: autograd runs a backward pass in a thread
that may have no CUDA context yet."""

import os
import subprocess
import sys
import unittest

import test_gpu  # noqa: F401  skips without a GPU

SETUP = """
import torch, spark_attention as sa
def rows(*shape):
    return torch.ones(shape, dtype=torch.float16, device="cuda").requires_grad_()
q, k, v = (rows(2, 70, 2, 64) for _ in range(3))
"""
CALLS = {
    "attention": "out = sa.attention(q, k, v, deterministic={deterministic})",
    "pattern": "out = sa.attention(q, k, v, mask='window:9+strided:7', deterministic={deterministic})",
    "expression": "out = sa.attention(q, k, v, mask='where:k <= q', deterministic={deterministic})",
    "varlen": """
lengths = torch.tensor([0, 30, 140], dtype=torch.int32, device="cuda")
q, k, v = (rows(140, 2, 64) for _ in range(3))
out = sa.attention_varlen(q, k, v, lengths, lengths, deterministic={deterministic})""",
    "flash": "out = sa.flash_attn_func(q, k, v, causal=True, deterministic={deterministic})",
    "sdpa": """
torch.use_deterministic_algorithms({deterministic}, warn_only=True)
with sa.sdpa():
    out = torch.nn.functional.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)))""",
}
CHECK = """
gradients = torch.autograd.grad(out.sum(), (q, k, v))
assert all(torch.isfinite(t).all() for t in (out, *gradients))
assert (out == 1).all()
"""


class FirstWorkTest(unittest.TestCase):
    def test_each_entry_point_alone(self):
        for generation in ("volta", ""):
            environment = {**os.environ, "SPARK_ATTENTION_GENERATION": generation}
            if not generation:
                del environment["SPARK_ATTENTION_GENERATION"]
            for name, call in CALLS.items():
                for deterministic in (False, True):
                    with self.subTest(name, deterministic=deterministic, generation=generation):
                        script = SETUP + call.format(deterministic=deterministic) + CHECK
                        run = subprocess.run([sys.executable, "-c", script], env=environment,
                                             capture_output=True, text=True)  # fmt: skip
                        self.assertEqual(run.returncode, 0, run.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
