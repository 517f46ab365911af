#!/usr/bin/env python3
"""Where models meet the kernels without knowing them: PyTorch's SDPA, FlashAttention's names."""

import unittest

from test_torch import definition, inputs, max_error, random, torch, with_gradients

import spark_attention as sa
from spark_attention._options import mask_of_window

SDPA = torch.nn.functional.scaled_dot_product_attention
# Before PyTorch 2.9 operators cannot be overridden, which torch_operator_test.py tests.
OVER = "operator" if hasattr(torch.library, "get_kernel") else "name"


def heads_first(*tensors):
    return [tensor.detach().transpose(1, 2) for tensor in tensors]


class SdpaTest(unittest.TestCase):
    def setUp(self):
        q, k, v, _ = inputs(33, 33)
        self.q, self.k, self.v = q, k, v
        self.given = heads_first(q, k, v)
        sa.explain(reset=True)

    def sdpa(self, *tensors, **others):
        return torch.nn.functional.scaled_dot_product_attention(*(tensors or self.given), **others)

    def test_calls_reach_the_kernels_inside_alone(self):
        with sa.sdpa(over=OVER):
            out = self.sdpa(is_causal=True, enable_gqa=True)
        self.assertTrue(
            torch.equal(out.transpose(1, 2), sa.attention(self.q, self.k, self.v, causal=True))
        )
        self.assertIs(torch.nn.functional.scaled_dot_product_attention, SDPA)
        self.assertIn("2 x ran forward", sa.explain())

    def test_arguments_reach_the_kernels(self):
        q, k, v = (tensor[:, :2] for tensor in self.given)
        with sa.sdpa("fp16", over=OVER):
            torch.manual_seed(3)
            out = self.sdpa(q, k, v, None, 0.3, False, scale=0.2)
        torch.manual_seed(3)
        want = sa.attention(*(t.transpose(1, 2) for t in (q, k, v)), dropout_p=0.3, scale=0.2,
                            accumulator="fp16", dropout_scale="asked")  # fmt: skip
        self.assertTrue(torch.equal(out.transpose(1, 2), want))

    def test_what_is_not_served_goes_to_pytorch_and_is_told(self):
        q, k, v = (tensor[:, :2] for tensor in self.given)
        cases = {
            "dtype float32": (q.float(), k.float(), v.float()),
            "dtype bfloat16": (q.bfloat16(), k.bfloat16(), v.bfloat16()),
            "head_dim 36, 36": (q[..., :36], k[..., :36], v[..., :36]),
            "tensors of other than 4 dimensions": (q[0], k[0], v[0]),
        }
        mask, short = torch.ones(33, 33, dtype=torch.bool).tril(), q[:, :, :9]
        want = [SDPA(*tensors) for tensors in cases.values()]
        masked, causal = SDPA(q, k, v, mask), SDPA(short, k, v, is_causal=True)
        with sa.sdpa(over=OVER):
            for (why, tensors), wanted in zip(cases.items(), want):
                self.assertTrue(torch.equal(self.sdpa(*tensors), wanted))
                self.assertIn(f"1 x left to PyTorch: {why}", sa.explain())
            self.assertTrue(torch.equal(self.sdpa(q, k, v, mask), masked))
            self.assertIn("attn_mask is given", sa.explain())
            self.assertTrue(torch.equal(self.sdpa(short, k, v, is_causal=True), causal))
            self.assertIn("is_causal with other lengths", sa.explain())
        self.assertNotIn("ran forward", sa.explain())

    def test_a_causal_bias_is_known_by_name_and_by_function(self):
        from torch.nn.attention.bias import CausalBias, causal_lower_right

        q, k, v = (tensor[:, :2].float() for tensor in self.given)
        bias, before = causal_lower_right(20, 33), CausalBias.__dict__["__torch_function__"]
        want = SDPA(q[:, :, :20], k, v, bias)
        with sa.sdpa(over=OVER):
            for function in (self.sdpa, SDPA):
                self.assertTrue(torch.equal(function(q[:, :, :20], k, v, attn_mask=bias), want))
        self.assertIs(CausalBias.__dict__["__torch_function__"], before)

    def test_autocast_serves_fp32_tensors(self):
        q, k, v = (tensor[:, :2].float() for tensor in self.given)
        with sa.sdpa(over=OVER), torch.autocast("cpu", dtype=torch.float16):
            self.assertEqual(self.sdpa(q, k, v).dtype, torch.float16)
        self.assertIn("1 x ran forward", sa.explain())

    def test_a_layer_of_pytorchs_own_learns_through_it(self):
        torch.manual_seed(1)
        layer = torch.nn.MultiheadAttention(128, 2, batch_first=True).half()
        x = random(5, 2, 20, 128)

        def gradient():
            out, _ = layer(x, x, x, need_weights=False)
            return torch.autograd.grad(out.float().square().sum(), x)[0]

        want = gradient()
        with sa.sdpa(over=OVER):
            got = gradient()
        self.assertIn("1 x ran backward", sa.explain())
        self.assertLess(max_error(got, want), 5e-3 * want.abs().max().item())

    def test_pytorchs_layer_reaches_the_kernels_in_eval(self):
        layer = torch.nn.TransformerEncoderLayer(128, 2, 128, batch_first=True).half().eval()
        x = random(5, 2, 20, 128).detach()
        for over in {OVER, "name"} if not torch.cuda.is_available() else {"name"}:
            sa.explain(reset=True)
            with torch.no_grad():
                want = layer(x)  # by the fast path
                with sa.sdpa(over=over):
                    got = layer(x)
            self.assertIn("1 x ran forward", sa.explain())
            self.assertLess(max_error(got, want), 1e-2)

    def test_the_fast_path_is_given_back(self):
        flag = torch.backends.mha
        self.addCleanup(flag.set_fastpath_enabled, True)
        for was_enabled in (True, False):
            flag.set_fastpath_enabled(was_enabled)
            with sa.sdpa(over="name"):
                with sa.sdpa("fp16", over="name"):
                    self.assertFalse(flag.get_fastpath_enabled())
                self.assertFalse(flag.get_fastpath_enabled())
            self.assertEqual(flag.get_fastpath_enabled(), was_enabled)
        with sa.sdpa(over="name"):
            flag.set_fastpath_enabled(True)
        self.assertTrue(flag.get_fastpath_enabled())

    def test_one_graph_under_compile(self):
        q, k, v = (tensor[:, :2] for tensor in self.given)
        with sa.sdpa(over=OVER):
            compiled = torch.compile(lambda *t: self.sdpa(*t, is_causal=True), fullgraph=True,
                                     backend="aot_eager")  # fmt: skip
            self.assertTrue(torch.equal(compiled(q, k, v), self.sdpa(q, k, v, is_causal=True)))

    def test_installing_twice_is_refused(self):
        sa.sdpa.install(over=OVER)
        try:
            with self.assertRaisesRegex(RuntimeError, "installed already"):
                sa.sdpa.install(over=OVER)
        finally:
            sa.sdpa.uninstall()
        with self.assertRaisesRegex(RuntimeError, "not installed"):
            sa.sdpa.uninstall()
        with self.assertRaisesRegex(ValueError, "accumulator is 'mixed'; allowed: fp32, fp16"):
            sa.sdpa.install("mixed")


class FlashTest(unittest.TestCase):
    def test_windows_are_flash_attentions(self):
        for causal, window, name in (
            (False, (-1, -1), "full"),
            (True, (-1, -1), "causal"),
            (True, (3, 3), "window:4"),
            (False, (3, 0), "window:4"),
            (False, (-1, 0), "causal"),
            (False, (3, 2), "band:3:2"),
            (False, (3, -1), "band:3:536870912"),
            (False, (-1, 2), "band:536870912:2"),
        ):
            self.assertEqual(mask_of_window(causal, window), name)

    def test_one_sided_windows_show_what_they_say(self):
        q, k, v, _ = inputs(20, 30)
        out = sa.flash_attn_func(q, k, v, window_size=(3, -1))
        self.assertLess(max_error(out, definition(q, k, v, "band:3:30")), 5e-3)

    def test_other_head_dims_are_filled_up(self):
        q, k, v, d_out = inputs(20, 30, head_dim=59)
        got = with_gradients(lambda *t: sa.flash_attn_func(*t, causal=True), (q, k, v), d_out)
        want = with_gradients(lambda *t: definition(*t, "causal"), (q.double(), k.double(), v.double()),
                              d_out)  # fmt: skip
        for a, b in zip(got, want):
            self.assertEqual(a.shape, b.shape)
            self.assertLess(max_error(a, b), 1e-2)

    def test_dropout_is_scaled_as_asked_and_its_mask_is_told(self):
        q, k, v, _ = (tensor.detach() for tensor in inputs(20, 30))
        torch.manual_seed(7)
        out, lse, signed = sa.flash_attn_func(q, k, v, 0.17, causal=True, return_attn_probs=True)
        self.assertEqual((lse.shape, signed.shape), ((2, 4, 20), (2, 4, 128, 128)))
        keep = (signed >= 0)[:, :, :20, :30].double()
        exact = q.double(), k.double(), v.double(), "causal"
        self.assertLess(max_error(out, definition(*exact, keep=keep / (1 - 0.17))), 2e-3)
        torch.manual_seed(7)
        unbiased = sa.attention(q, k, v, causal=True, dropout_p=0.17)
        self.assertLess(max_error(unbiased, definition(*exact, keep=keep * 256 / 212)), 2e-3)

    def test_packed_tensors_have_the_same_bits(self):
        qkv = random(1, 2, 21, 3, 2, 64)
        want = sa.flash_attn_func(*qkv.unbind(2), softmax_scale=0.3, causal=True)
        self.assertTrue(
            torch.equal(sa.flash_attn_qkvpacked_func(qkv, softmax_scale=0.3, causal=True), want)
        )
        got = sa.flash_attn_kvpacked_func(qkv[:, :, 0], qkv[:, :, 1:], softmax_scale=0.3, causal=True)
        self.assertTrue(torch.equal(got, want))

    def test_what_is_missing_is_refused_by_name(self):
        q, k, v, _ = inputs(4, 4)
        for name, value in (("softcap", 30.0), ("alibi_slopes", torch.ones(4))):
            with self.assertRaisesRegex(sa.UnsupportedError, name):
                sa.flash_attn_func(q, k, v, **{name: value})


class CacheTest(unittest.TestCase):
    """A decoder's keys and values, of samples that are of other lengths."""

    def setUp(self):
        self.q, self.k, self.v, _ = (tensor.detach() for tensor in inputs(3, 40))
        self.new = random(8, 2, 3, 2, 64).detach(), random(9, 2, 3, 2, 64).detach()
        self.lengths = torch.tensor([37, 20], dtype=torch.int32)

    def want(self, keys, values, begins, ends):
        outs = [definition(self.q[i : i + 1].double(), keys[i : i + 1, begins[i] : ends[i]].double(),
                           values[i : i + 1, begins[i] : ends[i]].double(), "causal")
                for i in range(2)]  # fmt: skip
        return torch.cat(outs)

    def test_whole_caches(self):
        out, lse = sa.flash_attn_with_kvcache(self.q, self.k, self.v, causal=True,
                                              return_softmax_lse=True)  # fmt: skip
        self.assertLess(max_error(out, self.want(self.k, self.v, [0, 0], [40, 40])), 4e-3)
        self.assertEqual(lse.shape, (2, 4, 3))

    def test_new_keys_are_written_behind_the_others(self):
        keys, values = self.k.clone(), self.v.clone()
        out = sa.flash_attn_with_kvcache(self.q, keys, values, *self.new, causal=True,
                                         cache_seqlens=self.lengths)  # fmt: skip
        self.assertTrue(torch.equal(keys[0, 37:40], self.new[0][0]))
        self.assertTrue(torch.equal(values[1, 20:23], self.new[1][1]))
        self.assertTrue(torch.equal(keys[1, 23:], self.k[1, 23:]))
        self.assertLess(max_error(out, self.want(keys, values, [0, 0], [40, 23])), 4e-3)

    def test_padding_on_the_left_and_other_rows_of_the_cache(self):
        out = sa.flash_attn_with_kvcache(
            self.q, self.k.flip(0), self.v.flip(0), causal=True, cache_seqlens=self.lengths,
            cache_batch_idx=torch.tensor([1, 0]), cache_leftpad=torch.tensor([4, 0]),
        )  # fmt: skip
        self.assertLess(max_error(out, self.want(self.k, self.v, [4, 0], [37, 20])), 4e-3)

    def test_rotation_is_by_places_in_the_sequence(self):
        from spark_attention.rotary import apply_rotary_emb

        angles = torch.rand(64, 16) * 6
        cos, sin = angles.cos(), angles.sin()
        keys = self.k.clone()
        out = sa.flash_attn_with_kvcache(self.q, keys, self.v, *self.new, cos, sin, self.lengths,
                                         causal=True, rotary_interleaved=False)  # fmt: skip
        values = self.v.clone()
        values[0, 37:40], values[1, 20:23] = self.new[1]
        self.q = torch.cat([apply_rotary_emb(self.q[i : i + 1], cos[n:], sin[n:])
                            for i, n in enumerate((37, 20))])  # fmt: skip
        self.assertTrue(
            torch.equal(keys[1:, 20:23], apply_rotary_emb(self.new[0][1:], cos[20:], sin[20:]))
        )
        self.assertLess(max_error(out, self.want(keys, values, [0, 0], [40, 23])), 4e-3)

    def test_pages_are_refused(self):
        with self.assertRaisesRegex(sa.UnsupportedError, "block_table is given"):
            sa.flash_attn_with_kvcache(self.q, self.k, self.v, block_table=torch.zeros(1))


if __name__ == "__main__":
    unittest.main()
