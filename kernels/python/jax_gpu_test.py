#!/usr/bin/env python3
"""Attention in JAX on a GPU: values, gradients, jit, vmap, and the seeds of the CPU. Volta's kernels are
forced on GPUs after Turing, where they are slow."""

import os
import sys
import unittest

os.environ["SPARK_ATTENTION_ALLOW_SLOW"] = "1"  # read when the package is imported
os.environ["SPARK_ATTENTION_GENERATION"] = "volta"

from test_jax import UNION, inputs, jax, jnp, max_error, numpy, passes_of, with_gradients

from spark_attention import _gpus, host
from spark_attention.jax import attention

if jax.default_backend() != "gpu":
    print("skipped: no GPU that this JAX runs on")
    sys.exit(77)
if _gpus.check_at_import():
    print(f"skipped: {_gpus.check_at_import()}")
    sys.exit(77)


class GpuTest(unittest.TestCase):
    def check(self, arrays, d_out, mask, keep=1.0, **options):
        exact, unfused = passes_of(arrays, d_out, mask, keep)
        function = jax.jit(lambda *t: attention(*t, mask=mask, **options))
        fused = with_gradients(function, arrays, d_out)
        for i, (got, other, want) in enumerate(zip(fused, unfused, exact)):
            self.assertLess(max_error(got, want), (3 if i else 2) * max_error(other, want) + 1e-4, i)

    def test_masks(self):
        *arrays, d_out = inputs(130, 200)
        for mask in ("causal", "window:9", UNION):
            for deterministic in (False, True):
                self.check(arrays, d_out, mask, deterministic=deterministic)

    def test_patterns_that_are_run_as_passes(self):
        *arrays, d_out = inputs(390, 390)
        self.check(arrays, d_out, "window:7+causal-strided:6")

    def test_dropout_is_the_mask_of_the_host(self):
        *arrays, d_out = inputs(70, 130)
        keep, scale = host.dropout_mask(2, 4, 70, 130, 0.25, 0, offset=0x500000007)
        self.check(arrays, d_out, "causal", keep * scale, dropout_p=0.25, seed=0x500000007)

    def test_dropout_of_passes_is_the_mask_of_the_host(self):
        *arrays, d_out = inputs(390, 390)
        mask = "window:7+causal-strided:6"
        keep, scale = host.dropout_mask(2, 4, 390, 390, 0.25, 0, offset=0x500000007, mask=mask)
        self.check(arrays, d_out, mask, keep * scale, dropout_p=0.25, seed=0x500000007)

    def test_sinks_are_those_of_the_host(self):
        *arrays, d_out = inputs(70, 130)
        sinks = jnp.array([0.5, -1, 2, 0], jnp.float32)
        function = jax.jit(lambda *t: attention(*t[:3], mask=UNION, sinks=t[3]))
        out, *_, d_sinks = with_gradients(function, (*arrays, sinks), d_out)
        q, k, v, d_o, sinks = (numpy.asarray(array) for array in (*arrays, d_out, sinks))
        o, lse = host.forward(q, k, v, mask=UNION, sinks=sinks)
        self.assertLess(max_error(out, o), 2e-3)
        want = host.sink_gradient(d_o, o, lse, sinks)
        self.assertLess(max_error(d_sinks, want), 5e-3 * abs(want).max())

    def test_vmap_is_call_by_call(self):
        q, k, v, _ = inputs(70, 130)
        qs, seeds = jnp.stack([q, q, q * 2]), jax.random.split(jax.random.key(5), 3)

        def call(q, seed):
            return attention(q, k, v, mask=UNION, dropout_p=0.5, seed=seed)

        mapped = jax.vmap(call)(qs, seeds)
        for i in range(3):
            self.assertTrue((mapped[i] == call(qs[i], seeds[i])).all())


if __name__ == "__main__":
    unittest.main()
