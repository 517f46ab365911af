#!/usr/bin/env python3
"""Derivatives and transforms of torch.func: right, or refused in words; under sa.sdpa() PyTorch's."""

import unittest

from test_torch import definition, inputs, max_error, random, torch

import spark_attention as sa
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

SDPA = torch.nn.functional.scaled_dot_product_attention
OVER = "operator" if hasattr(torch.library, "get_kernel") else "name"
NONE = "no derivative in forward mode"
OPTIONS = 0.0, "applied", 0.0, "causal", "fp32", True
OFFSETS = torch.tensor([0, 4, 10], dtype=torch.int32)


def loss(q, k, v, **others):
    out = sa.attention(q[None], k[None], v[None], causal=True, deterministic=True, **others)
    return out.float().square().sum()


def dual(function, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(function(forward_ad.make_dual(x, x))).tangent


class Test(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v = (t.detach() for t in inputs(10, 10, batch=3)[:3])
        self.tensors = self.q, self.k, self.v

    def gradients(self, **others):
        """Of loss() for each sample, by autograd."""
        tensors = [t.clone().requires_grad_() for t in self.tensors]
        sum(loss(*(t[i] for t in tensors), **others) for i in range(3)).backward()
        return [t.grad for t in tensors]

    def operator(self, q):
        return torch.ops.spark.forward(q, self.k, self.v, None, *OPTIONS)[0]

    def packed(self, q):
        return sa.attention_varlen(q, self.k[0], self.v[0], OFFSETS, OFFSETS, causal=True)


class ReverseModeTest(Test):
    def test_gradients_of_each_sample_have_the_bits_of_autograd(self):
        for got, want in zip(vmap(grad(loss, (0, 1, 2)))(*self.tensors), self.gradients()):
            self.assertTrue(torch.equal(got, want))

    def test_values_under_vmap_have_the_bits_of_a_batch(self):
        one = lambda q, k, v: sa.attention(q[None], k[None], v[None], causal=True)[0]
        want = sa.attention(*self.tensors, causal=True)
        self.assertTrue(torch.equal(vmap(one)(*self.tensors), want))
        moved = self.q.movedim(0, 2)
        of_one = vmap(lambda q: one(q, self.k[0], self.v[0]), in_dims=2, out_dims=2)(moved)
        self.assertTrue(torch.equal(of_one[:, :, 0], want[0]))

    def test_jacobians_are_those_of_the_definition(self):
        rows = lambda function: lambda q: function(q, self.k[:1, :, :1], self.v[:1, :, :1])[0, 3, 0, :4]
        q = self.q[:1, :, :1]
        got = jacrev(rows(sa.attention))(q)
        want = jacrev(rows(lambda *t: definition(*(x.double() for x in t))))(q.double())
        self.assertLess(max_error(got, want), 2e-3)

    def test_packed_sequences_and_sinks(self):
        each = vmap(lambda q, k, v: sa.attention_varlen(q, k, v, OFFSETS, OFFSETS))(*self.tensors)
        want = sa.attention_varlen(*(t[1] for t in self.tensors), OFFSETS, OFFSETS)
        self.assertTrue(torch.equal(each[1], want))
        sinks = torch.linspace(-1, 1, 4)
        got = vmap(grad(lambda s, *t: loss(*t, sinks=s)), (None, 0, 0, 0))(sinks, *self.tensors)
        alone = grad(lambda s: loss(*(t[2] for t in self.tensors), sinks=s))(sinks)
        self.assertLess(max_error(got[2], alone), 1e-5)

    def test_bfloat16_is_cast_under_transforms(self):
        q = self.q.bfloat16()
        got = grad(lambda q: loss(q[0], self.k[0], self.v[0], bf16="cast"))(q)
        self.assertEqual((got.dtype, got.shape), (torch.bfloat16, q.shape))

    def test_dropout_under_vmap_follows_its_randomness(self):
        same = self.q[:1].expand(3, -1, -1, -1)
        one = lambda q: sa.attention(q[None], self.k[:1], self.v[:1], dropout_p=0.5)
        with self.assertRaisesRegex(RuntimeError, "randomness='different'"):
            vmap(one)(same)
        for randomness in ("different", "same"):
            out = vmap(one, randomness=randomness)(same)
            self.assertEqual(torch.equal(out[0], out[1]), randomness == "same")

    def test_compiled_gradients_of_torch_func(self):
        run = torch.compile(grad(lambda q: loss(q, self.k[0], self.v[0])), backend="aot_eager")
        self.assertTrue(torch.equal(run(self.q[0]), self.gradients()[0][0]))


class RefusalTest(Test):
    def refuse(self, function, *arguments, why=NONE):
        with self.assertRaisesRegex(sa.UnsupportedError, why):
            function(*arguments)

    def test_forward_mode_of_torch_func(self):
        attend = lambda q: sa.attention(q, self.k, self.v)
        cast = lambda q: sa.attention(q.bfloat16(), self.k, self.v, bf16="cast")
        for function, q in ((attend, self.q), (self.operator, self.q), (self.packed, self.q[0]),
                            (cast, self.q)):  # fmt: skip
            self.refuse(jvp, function, (q,), (q,))
        self.refuse(jacfwd(lambda q: attend(q).float().sum()), self.q)
        self.refuse(hessian(lambda q: loss(q, self.k[0], self.v[0])), self.q[0])

    def test_dual_numbers(self):
        attend = lambda q: sa.attention(q, self.k, self.v)
        for function, q in ((attend, self.q), (self.packed, self.q[0]),
                            (attend, self.q.clone().requires_grad_())):  # fmt: skip
            self.refuse(dual, function, q)
        with self.assertRaisesRegex(NotImplementedError, "forward mode"):  # 2.4 words it otherwise
            dual(self.operator, self.q)
        sinks = torch.zeros(4)
        self.refuse(dual, lambda s: sa.attention(*self.tensors, sinks=s), sinks)

    def test_a_level_without_dual_numbers_is_no_harm(self):
        with forward_ad.dual_level():
            out = sa.attention(*self.tensors)
        self.assertTrue(torch.equal(out, sa.attention(*self.tensors)))

    def test_second_derivatives(self):
        twice = jacrev(jacrev(lambda q: loss(q, self.k[0], self.v[0])))
        self.refuse(twice, self.q[0], why="no derivative of its own")


class SdpaTest(Test):
    """What PyTorch computes without sa.sdpa(), it computes with it."""

    def setUp(self):
        self.given = [random(i, 3, 2, 10, 64).detach() for i in range(3)]

    def check(self, run):
        want = run()
        for over in {"name", OVER}:
            with sa.sdpa(over=over):
                sa.explain(reset=True)
                self.assertTrue(torch.equal(run(), want))
                self.assertNotIn("ran forward", sa.explain())

    def run_math(self, *tensors):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return torch.nn.functional.scaled_dot_product_attention(*tensors)

    def test_gradients_of_each_sample(self):
        one = lambda *t: torch.nn.functional.scaled_dot_product_attention(
            *(x[None] for x in t)).float().square().sum()  # fmt: skip
        self.check(lambda: vmap(grad(one))(*self.given))
        self.check(lambda: grad(lambda q: one(q, *(t[0] for t in self.given[1:])))(self.given[0][0]))
        self.assertIn("left to PyTorch: a transform of torch.func", sa.explain())

    def test_forward_mode_and_second_derivatives(self):
        q, k, v = self.given
        self.check(lambda: jvp(lambda q: self.run_math(q, k, v), (q,), (q,))[1])
        self.check(lambda: dual(lambda q: self.run_math(q, k, v), q))
        self.assertIn("left to PyTorch: a derivative in forward mode", sa.explain())
        q, k, v = (t[:1, :1, :3, :8] for t in self.given)
        self.check(lambda: hessian(lambda q: self.run_math(q, k, v).float().sum())(q))


if __name__ == "__main__":
    unittest.main()
