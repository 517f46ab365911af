#!/usr/bin/env python3
"""What JAX's function takes besides arrays, and sums in FP16 that overflow, on the CPU backend."""

import unittest
import unittest.mock

from test_jax import assert_same, inputs, jax, jnp, numpy

from spark_attention import _arguments, host
from spark_attention.jax import attention, supports


class ArgumentsTest(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v, _ = inputs(batch=1)

    def attend(self, **others):
        return attention(self.q, self.k, self.v, **others)

    def test_numbers_may_be_arrays_of_one(self):
        want = self.attend(scale=0.25, causal=True)
        for scale in (jnp.float32(0.25), numpy.float16(0.25), numpy.array(0.25)):
            assert_same(self.attend(scale=scale, causal=numpy.bool_(True)), want)

    def test_traced_numbers_are_refused_by_name(self):
        for name, value in (("scale", 0.3), ("dropout_p", 0.3), ("causal", True), ("deterministic", True)):
            with self.assertRaisesRegex(TypeError, f"{name} is a traced array.*static_argnames='{name}'"):
                jax.jit(lambda value: self.attend(seed=1, **{name: value}))(value)
            jax.jit(lambda v: self.attend(seed=1, **{name: v}), static_argnums=0)(value)

    def test_what_cannot_be_is_refused(self):
        for error, why, others in (
            (ValueError, "scale is 1e-46", {"scale": 1e-46}), (ValueError, "scale is inf", {"scale": numpy.inf}),
            (TypeError, "mask is a ndarray of shape", {"mask": numpy.ones((3, 3))}),
            (ValueError, "zero byte", {"mask": "full\0x"}),
            (TypeError, "no argument 'is_causal'; allowed: causal", {"is_causal": True}),
            (TypeError, "no argument 'bias'; allowed: mask, a text", {"bias": self.q}),
        ):  # fmt: skip
            with self.assertRaisesRegex(error, why):
                self.attend(**others)
        with self.assertRaisesRegex(TypeError, r"q is float32; allowed: float16.*q.astype\(jax"):
            attention(self.q.astype(jnp.float32), self.k, self.v)
        with self.assertRaisesRegex(TypeError, "q is a list"):
            attention([1], self.k, self.v)

    def test_supports_knows_the_largest_batch(self):
        x = jnp.zeros((65536, 1, 1, 8), jnp.float16)
        self.assertIn("more than 65535", supports(x, x, x)[1])
        self.assertTrue(supports(x[1:], x[1:], x[1:])[0])

    def test_heads_before_rows_are_warned_of(self):
        heads_first = jnp.zeros((1, 4, 70, 64), jnp.float16)
        with unittest.mock.patch.object(_arguments, "_was_layout_warned_of", False):
            with self.assertWarnsRegex(_arguments.LayoutWarning, "seqlen 4 and 70 heads"):
                attention(heads_first, heads_first, heads_first)


class Fp16SumsTest(unittest.TestCase):
    """Scores of -75000, which FP16 does not hold."""

    def setUp(self):
        q, k, self.v, _ = inputs(37, 37)
        self.q, self.k = (0.1 * q).at[..., 0].set(100), (0.1 * k).at[..., 0].set(-6000)

    def passes(self, accumulator, **others):
        run = lambda *t: attention(*t, accumulator=accumulator, deterministic=True, **others)
        loss = lambda *t: (run(*t).astype(jnp.float32) ** 2).sum()
        arrays = self.q, self.k, self.v
        return run(*arrays), *jax.jit(jax.grad(loss, (0, 1, 2)))(*arrays)

    def test_are_computed_again_in_fp32(self):
        for mask in ("causal", "window:7+causal-strided:5"):
            assert_same(self.passes("fp16", mask=mask), self.passes("fp32", mask=mask))

    def test_are_under_vmap(self):
        one = lambda q, k, v: attention(q[None], k[None], v[None], accumulator="fp16")[0]
        assert_same(jax.vmap(one)(self.q, self.k, self.v), attention(self.q, self.k, self.v))

    def test_keep_their_bits_where_rows_see_no_key(self):
        q, k, v, _ = inputs(37, 20, heads=2)
        for mask in ("causal", "window:7+causal-strided:5"):
            got = attention(q, k, v, mask=mask, accumulator="fp16", return_lse=True)
            want = host.forward(*map(numpy.asarray, (q, k, v)), mask=mask, accumulator="fp16")
            assert_same(got, want)
            self.assertTrue(numpy.isneginf(want[1]).any())
            of_fp32 = attention(q, k, v, mask=mask)
            self.assertFalse(numpy.array_equal(got[0], of_fp32))


if __name__ == "__main__":
    unittest.main()
