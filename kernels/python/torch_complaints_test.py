#!/usr/bin/env python3
"""What owners of a V100 have run into with other packages, each as a test, on the CPU. On a GPU:
torch_gpu_seams_test.py. Builds without code for a GPU: host_test.py."""

import unittest

from test_torch import definition, inputs, max_error, random, torch, with_gradients

import spark_attention as sa
import spark_attention.flash_names


class AmpereOnlyTest(unittest.TestCase):
    """Code that imports flash_attn, without a look whether it could do without."""

    @classmethod
    def setUpClass(cls):
        spark_attention.flash_names.install()

    def test_padded_batches_go_through_flash_attns_names(self):
        from flash_attn import flash_attn_varlen_func
        from flash_attn.bert_padding import pad_input, unpad_input

        qkv = random(1, 2, 20, 3, 2, 64).detach()
        mask = torch.arange(20)[None, :] < torch.tensor([[20], [11]])
        tokens, indices, begins, longest, _ = unpad_input(qkv, mask)
        out = flash_attn_varlen_func(*tokens.unbind(1), begins, begins, longest, longest, causal=True)
        got = pad_input(out, indices, 2, 20)
        want = definition(*qkv.double().unbind(2), "causal") * mask[..., None, None]
        self.assertLess(max_error(got, want), 4e-3)

    def test_every_argument_of_its_functions_is_there(self):
        import inspect

        from flash_attn import flash_attn_func

        self.assertEqual(
            list(inspect.signature(flash_attn_func).parameters),
            ["q", "k", "v", "dropout_p", "softmax_scale", "causal", "window_size", "softcap",
             "alibi_slopes", "deterministic", "return_attn_probs"],
        )  # fmt: skip


class GarbageTest(unittest.TestCase):
    def check(self, q, k, v, mask="full"):
        out = sa.attention(q, k, v, mask=mask)
        self.assertTrue(torch.isfinite(out).all())
        exact, half = (definition(*(t.to(dtype) for t in (q, k, v)), mask)
                       for dtype in (torch.float64, torch.float32))  # fmt: skip
        limit = 2 * max_error(half.half(), exact) + 1e-4
        self.assertLess(max_error(out, exact), limit)

    def test_odd_lengths_of_wide_heads_are_finite(self):
        q, k, v, _ = (tensor.detach() for tensor in inputs(225, 225, 1, 1, head_dim=128, batch=1))
        self.check(q, k, v)

    def test_large_scores_are_finite(self):
        q, k, v, _ = (tensor.detach() for tensor in inputs(65, 129))
        self.check(30 * q, 30 * k, v, "causal")
        self.check(torch.full_like(q, 255), torch.full_like(k, 255), v)

    def test_views_are_not_misread(self):
        packed = random(1, 2, 65, 4, 3 * 128).detach()
        q, k, v = packed.split(128, -1)  # heads before q, k and v
        self.check(q, k, v, "causal")
        self.check(*(t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v)))
        self.check(*(t[:, ::2] for t in (q, k, v)))
        self.check(q.flip(3), k.flip(3), v)


class Bfloat16Test(unittest.TestCase):
    """Models and frameworks that take it for granted."""

    def setUp(self):
        self.tensors = [tensor.detach().bfloat16() for tensor in inputs(20, 20)[:3]]

    def test_the_refusal_says_what_to_do(self):
        with self.assertRaisesRegex(TypeError, "V100 has no bfloat16: run the model in float16"):
            sa.attention(*self.tensors)

    def test_autocast_and_the_checked_cast_serve_it(self):
        with torch.autocast("cpu", dtype=torch.float16):
            by_autocast = sa.attention(*self.tensors)
        by_cast = sa.attention(*self.tensors, bf16="cast")
        self.assertEqual((by_autocast.dtype, by_cast.dtype), (torch.float16, torch.bfloat16))
        self.assertTrue(torch.equal(by_autocast.bfloat16(), by_cast))


class ThinSubstituteTest(unittest.TestCase):
    def kept(self, shape=(2, 16, 4, 64)):
        """Which elements of a uniform softmax are kept, [batch, heads, seqlen_q, seqlen_k]."""
        batch, length, heads, _ = shape
        q, eye = torch.zeros(shape, dtype=torch.float16), torch.zeros(shape, dtype=torch.float16)
        eye[:, range(length), :, range(length)] = 1
        return sa.attention(q, q, eye, dropout_p=0.5)[..., :length].transpose(1, 2) != 0

    def test_no_mask_is_anothers_or_its_shift(self):
        rows = torch.cat([self.kept().reshape(8, -1), self.kept().reshape(8, -1)]).float() - 0.5
        self.assertLess(abs(rows.mean().item()), 0.05)
        for i in range(len(rows)):
            for j in range(i):
                for shift in (0, 1, 4, 16):
                    likeness = (rows[i] * rows[j].roll(shift)).mean() * 4  # 1 of equal masks
                    self.assertLess(abs(likeness.item()), 0.4, (i, j, shift))

    def test_deterministic_is_no_empty_word(self):
        *tensors, d_out = inputs(70, 130)
        first, again = (with_gradients(lambda *t: sa.attention(*t, deterministic=True), tensors, d_out)
                        for _ in range(2))  # fmt: skip
        for a, b in zip(first, again, strict=True):
            self.assertTrue(torch.equal(a, b))

    def test_head_dims_between_powers_of_two(self):
        for head_dim in (40, 80, 96, 112):
            *tensors, d_out = inputs(20, 30, head_dim=head_dim)
            got, want = (with_gradients(run, tensors, d_out) for run in (sa.attention, definition))
            for a, b in zip(got, want, strict=True):
                self.assertLess(max_error(a, b), 2e-2)

    def test_layouts_of_models_are_not_copied(self):
        qkv = random(1, 2, 20, 3, 2, 64)
        heads_first = [random(i, 2, 2, 20, 64).transpose(1, 2) for i in range(3)]
        d_out = random(2, 2, 20, 2, 64).detach()
        sa.explain(reset=True)
        by_head = qkv.detach().flatten(2).unflatten(2, (2, 192)).split(64, -1)
        for q, k, v in (qkv.unbind(2), heads_first, by_head):
            out = sa.attention(q, k, v, causal=True)
            if out.requires_grad:
                out.backward(d_out)
        sa.flash_attn_qkvpacked_func(qkv)
        sa.attention_varlen(*qkv[0].unbind(1), *[torch.tensor([0, 20], dtype=torch.int32)] * 2)
        self.assertNotIn("copied", sa.explain())


if __name__ == "__main__":
    unittest.main()
