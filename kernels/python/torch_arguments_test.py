#!/usr/bin/env python3
"""What arguments may be: numbers, flags, texts, sizes, layouts, and the tensors of the operators."""

import tempfile
import unittest
import unittest.mock
import warnings

from test_torch import definition, max_error, random, torch  # skips without PyTorch

import numpy  # noqa: E402, I001

import spark_attention as sa
from spark_attention import _arguments, _library

OPTIONS = 0.0, "applied", 0.0, "full", "fp32", True
OFFSETS = torch.tensor([0, 16], dtype=torch.int32)


class Test(unittest.TestCase):
    def setUp(self):
        self.q = self.k = self.v = random(1, 1, 16, 2, 64).detach()

    def attend(self, **others):
        return sa.attention(self.q, self.k, self.v, **others)

    def refuse(self, error, text, function, *arguments, **others):
        with self.assertRaisesRegex(error, text):
            function(*arguments, **others)


class NumbersTest(Test):
    def test_a_tensor_is_the_number_that_it_holds_now(self):
        scale, is_causal = torch.tensor(0.5), torch.tensor(False)
        first = self.attend(scale=scale, causal=is_causal)
        scale.fill_(0.05)
        is_causal.fill_(True)
        self.assertTrue(torch.equal(first, self.attend(scale=0.5)))
        self.assertTrue(torch.equal(self.attend(scale=scale, causal=is_causal),
                                    self.attend(scale=float(scale), causal=True)))  # fmt: skip

    def test_numbers_of_numpy_are_numbers(self):
        want = self.attend(scale=0.25, deterministic=True)
        for scale in (numpy.float16(0.25), numpy.float64(0.25), numpy.array(0.25), 1 / 4):
            self.assertTrue(torch.equal(self.attend(scale=scale), want))
        out = self.attend(dropout_p=numpy.float32(0.5), deterministic=numpy.bool_(True))
        self.assertEqual(out.shape, want.shape)

    def test_what_is_no_number_is_refused_by_name(self):
        for name in ("scale", "dropout_p"):
            for value in ("0.5", [0.5], torch.ones(1), numpy.ones(2)):
                self.refuse(TypeError, f"{name} is a", self.attend, **{name: value})
        learned = torch.tensor(0.5, requires_grad=True)
        self.refuse(TypeError, "scale is a tensor that requires a gradient", self.attend, scale=learned)
        self.refuse(TypeError, "scale is a Tensor", torch.func.vmap(
            lambda s: self.attend(scale=s)), torch.ones(3))  # fmt: skip
        self.refuse(TypeError, "causal is a str; allowed: True, False", self.attend, causal="yes")

    def test_scales_that_float32_does_not_hold_are_refused(self):
        for scale in (1e-46, 1e-39, 0, -1, 1e39, float("inf"), float("nan")):
            self.refuse(ValueError, "scale is", self.attend, scale=scale)
            self.assertIn("scale is", sa.supports(self.q, self.k, self.v, scale=scale)[1])
        self.refuse(ValueError, "scale is 1e-46", torch.ops.spark.forward, self.q, self.k, self.v, None,
                    0.0, "applied", 1e-46, "full", "fp32", True)  # fmt: skip
        self.refuse(ValueError, "dropout_p is 0.999", self.attend, dropout_p=1 - 1e-12)
        want = self.v.float().mean(1, keepdim=True).expand_as(self.q)
        self.assertLess(max_error(self.attend(scale=1.2e-38), want), 1e-3)


class TextsTest(Test):
    def test_masks_of_other_kinds_are_refused(self):
        for mask in (torch.ones(16, 16, dtype=torch.bool), numpy.ones(3), 5):
            self.refuse(TypeError, "mask is a .*; allowed: a text, 'causal'", self.attend, mask=mask)
        for call in (self.attend, lambda mask: torch.ops.spark.forward(
                self.q, self.k, self.v, None, 0.0, "applied", 0.0, mask, "fp32", True)):  # fmt: skip
            self.refuse(ValueError, "zero byte", call, mask="full\0causal")

    def test_names_of_other_functions_are_answered_with_ours(self):
        for name, ours in (("is_causal", "causal"), ("attn_mask", "mask, a text"),
                           ("softmax_scale", "scale"), ("window_size", "mask='window:W'"), ("cuasal", "causal"),
                           ("dropout", "dropout_p"), ("enable_gqa", "k and v of fewer"),
                           ("max_seqlen_q", "cu_seqlens_q")):  # fmt: skip
            for call in (self.attend, lambda **o: sa.supports(self.q, self.k, self.v, **o),
                         lambda **o: sa.attention_varlen(self.q[0], self.k[0], self.v[0], OFFSETS,
                                                         OFFSETS, **o)):  # fmt: skip
                self.refuse(TypeError, f"no argument '{name}'; allowed: {ours}", call, **{name: True})

    def test_flash_attentions_functions_answer_with_its_names(self):
        for function in (sa.flash_attn_func, sa.flash_attn_varlen_func, sa.flash_attn_with_kvcache):
            for name, ours in (("is_causal", "causal"), ("scale", "softmax_scale"),
                               ("attn_mask", "causal, window_size"), ("softmaxscale", "softmax_scale")):  # fmt: skip
                self.refuse(TypeError, rf"{function.__name__}\(\) has no argument '{name}'; allowed: {ours}",
                            function, self.q, self.k, self.v, **{name: True})  # fmt: skip
        mask = torch.ones(16, 16, dtype=torch.bool)
        self.refuse(TypeError, "causal is a Tensor of shape", sa.flash_attn_func, self.q, self.k, self.v,
                    causal=mask)  # fmt: skip
        self.refuse(TypeError, "no argument 'clear'; allowed: reset", sa.explain, clear=True)

    def test_float32_and_float64_are_told_the_remedy(self):
        for tensors in ([self.q.float()] * 3, [self.q.double()] * 3):
            for function in (sa.attention, sa.flash_attn_func):
                self.refuse(TypeError, r"allowed: float16. Run the model .*model.half\(\)", function,
                            *tensors)  # fmt: skip

    def test_what_is_no_tensor_is_refused(self):
        self.refuse(TypeError, "q is a ndarray.*spark_attention.host", sa.attention, self.q.numpy(),
                    self.k, self.v)  # fmt: skip
        self.refuse(TypeError, "cu_seqlens_q is a list", sa.attention_varlen, self.q[0], self.k[0],
                    self.v[0], [0, 16], OFFSETS)  # fmt: skip
        self.refuse(TypeError, r"cu_seqlens_k is a list.*torch.tensor\(\)", sa.flash_attn_varlen_func,
                    self.q[0], self.k[0], self.v[0], OFFSETS, [0, 16], 16, 16)  # fmt: skip

    def test_packed_tensors_of_other_shapes_are_refused(self):
        for name, function in (("qkv", sa.flash_attn_qkvpacked_func),
                               ("kv", lambda kv: sa.flash_attn_kvpacked_func(self.q, kv))):  # fmt: skip
            self.refuse(ValueError, rf"{name} has shape \(1, 16, 2, 64\); allowed: \[batch", function,
                        self.q)  # fmt: skip
            self.refuse(ValueError, f"{name} has shape", function, self.q.unsqueeze(2))
            self.refuse(TypeError, f"{name} is a ndarray", function, self.q.numpy())

    def test_a_zones_file_is_read_again_when_it_changes(self):
        with tempfile.NamedTemporaryFile("w", suffix=".zones") as file:
            def attend_to(zones):
                file.seek(0)
                file.truncate()
                file.write(zones)
                file.flush()
                return self.attend(mask=f"zones:{file.name}")

            first, second = attend_to("q=0:16 k=0:8\n"), attend_to("q=0:16 k=8:16\n")
        for got, keys in ((first, slice(0, 8)), (second, slice(8, 16))):
            want = definition(self.q, self.k[:, keys], self.v[:, keys])
            self.assertLess(max_error(got, want), 1e-2)


class SizesTest(Test):
    def test_sizes_beyond_32_bits_are_refused(self):
        keys = self.k[:, :1].expand(1, 2**32 + 16, 2, 64)
        heads = self.q[:, :, :1].expand(1, 16, 2**33, 64)
        batch = self.q[:, :1].expand(2**32 + 1, 1, 2, 64)
        for tensors, name in (((self.q, keys, keys), "seqlen_k is 4294967312"),
                              ((heads, self.k, self.v), "heads is 8589934592"),
                              ((batch, batch, batch), "batch is 4294967297")):  # fmt: skip
            runs, why = sa.supports(*tensors)
            self.assertFalse(runs)
            self.assertIn(name, why)
        self.refuse(ValueError, "seqlen_k is 4294967312", sa.attention, self.q, keys, keys)
        self.refuse(ValueError, "seqlen_k is 4294967312", sa.attention_varlen, self.q[0], keys[0],
                    keys[0], OFFSETS, OFFSETS)  # fmt: skip
        many = OFFSETS[:1].expand(2**32 + 5)
        self.refuse(ValueError, "batch is 4294967300", sa.attention_varlen, self.q[0], self.k[0],
                    self.v[0], many, many)  # fmt: skip
        self.refuse(ValueError, "seqlen_k is 4294967296", _library.Mask, "strided:2", 16, 2**32)

    def test_supports_and_calls_agree_at_the_largest_batch(self):
        self.assertEqual(_library.MOST_ENTRIES, 65535)
        for shape in ((65535, 1, 1, 8), (65536, 1, 1, 8), (1, 1, 65535, 8), (1, 1, 65536, 8)):
            x = torch.ones(shape, dtype=torch.float16)
            runs, why = sa.supports(x, x, x)
            self.assertEqual(runs, 65536 not in shape)
            heads_first = [x.transpose(1, 2)] * 3
            self.assertEqual(sa.sdpa.supports(*heads_first)[0], runs)
            if runs:
                continue  # the emulation would take a minute
            self.refuse(sa.UnsupportedError, "more than 65535", sa.attention, x, x, x)
            self.assertIn("more than 65535", why)
            with sa.sdpa(over="name"):
                out = torch.nn.functional.scaled_dot_product_attention(*heads_first)
                compiled = torch.compile(lambda *t: torch.nn.functional.scaled_dot_product_attention(*t),
                                         backend="eager")(*heads_first)  # fmt: skip
            self.assertTrue((out == 1).all() and (compiled == 1).all())

    def test_strides_of_extents_of_one_are_of_no_account(self):
        key = random(2, 1, 16, 64, 1).detach().transpose(2, 3)
        row = random(3, 4, 65).detach()[:, :64].view(4, 1, 1, 64)[:1]
        for tensors in ((self.q, key, key), (row, row, row)):
            self.assertEqual(sa.supports(*tensors), (True, ""))
            want = sa.attention(*(t.clone(memory_format=torch.contiguous_format) for t in tensors))
            self.assertTrue(torch.equal(sa.attention(*tensors), want))


class LayoutTest(Test):
    """Tensors in SDPA's layout, [batch, heads, seqlen, head_dim]."""

    def setUp(self):
        super().setUp()
        once = unittest.mock.patch.object(_arguments, "_was_layout_warned_of", False)
        once.start()
        self.addCleanup(once.stop)

    def test_heads_before_rows_are_warned_of_once(self):
        q, k = random(1, 1, 2, 70, 64).detach(), random(1, 1, 1, 70, 64).detach()
        with self.assertWarnsRegex(sa.LayoutWarning, "seqlen 2 and 70 heads.*transpose") as warned:
            sa.attention(q, k, k)
        self.assertEqual(warned.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sa.attention(q, q, q)

    def test_flash_attentions_function_warns_too(self):
        q = random(1, 1, 2, 70, 64).detach()
        with self.assertWarns(sa.LayoutWarning) as warned:
            sa.flash_attn_func(q, q, q)
        self.assertEqual(warned.filename, __file__)

    def test_shapes_of_sdpas_layout_are_known(self):
        for q, k in (((1, 8, 1024, 64), (1, 8, 1024, 64)), ((4, 32, 128, 128), (4, 8, 128, 128)),
                     ((2, 1, 4096, 64), (2, 1, 4096, 64)), ((2, 8, 1024, 64), (2, 8, 77, 64))):  # fmt: skip
            self.assertTrue(_arguments.is_heads_first(q, k), (q, k))

    def test_shapes_of_our_layout_are_not_warned_of(self):
        for q, k in (
            ((1, 1, 16, 64), (1, 1, 16, 64)), ((1, 1, 32, 128), (1, 1000, 8, 128)),  # decoders
            ((8, 128, 8, 64), (8, 128, 8, 64)), ((1, 64, 64, 64), (1, 64, 64, 64)),
            ((256, 16, 32, 64), (256, 16, 32, 64)), ((1568, 8, 12, 64), (1568, 8, 12, 64)),  # frames
            ((1, 20, 64, 128), (1, 20, 8, 128)), ((1, 20, 71, 64), (1, 20, 1, 64)),  # short prompts
            ((1, 20, 128, 128), (1, 20, 8, 128)), ((1, 128, 96, 128), (1, 128, 96, 128)),
        ):  # fmt: skip
            self.assertFalse(_arguments.is_heads_first(q, k), (q, k))

    def test_nothing_is_said_of_sdpas_own_calls(self):
        one = random(1, 1, 1, 70, 64).detach()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with sa.sdpa(over="name"):
                torch.nn.functional.scaled_dot_product_attention(*[one.transpose(1, 2)] * 3)

    def test_errors_of_heads_that_do_not_divide_name_the_layout(self):
        q, k = random(1, 1, 2, 33, 64).detach(), random(1, 1, 2, 20, 64).detach()
        self.refuse(ValueError, r"k has 20 heads, and q 33.*x.transpose\(1, 2\)", sa.attention, q, k, k)
        k = random(1, 1, 3, 20, 64).detach()
        self.refuse(ValueError, "the former divide the latter$", sa.attention, q, k, k)

    def test_compiled_and_mapped_calls_are_one_graph(self):
        q = random(1, 3, 1, 2, 70, 64).detach()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sa.LayoutWarning)
            want = torch.stack([sa.attention(x, x, x) for x in q])
            with torch.autocast("cpu", dtype=torch.float16):
                self.assertTrue(torch.equal(sa.attention(*[q[0].float()] * 3), want[0]))
        compiled = torch.compile(sa.attention, fullgraph=True, backend="aot_eager", dynamic=True)
        self.assertTrue(torch.equal(compiled(q[0], q[0], q[0]), want[0]))
        self.assertTrue(torch.equal(torch.func.vmap(sa.attention)(q, q, q), want))


class OperatorsTest(Test):
    """A backward operator reads no memory but that of tensors of the right shape, type and device."""

    def setUp(self):
        super().setUp()
        self.out, self.lse = torch.ops.spark.forward(self.q, self.k, self.v, None, *OPTIONS)

    def backward(self, d_out, out, lse):
        return torch.ops.spark.backward(d_out, self.q, self.k, self.v, out, lse, None, *OPTIONS)

    def varlen_backward(self, d_out, out, lse):
        q, k, v = (t[0] for t in (self.q, self.k, self.v))
        return torch.ops.spark.varlen_backward(d_out, q, k, v, out, lse, OFFSETS, OFFSETS, None, *OPTIONS)

    def sink_gradient(self, d_out, out, lse):
        return torch.ops.spark.sink_gradient(d_out, out, lse, torch.zeros(2))

    def test_what_belongs_to_other_inputs_is_refused(self):
        good = {"d_out": self.q, "out": self.out, "lse": self.lse}
        of_one = {name: tensor[0] for name, tensor in good.items()}
        for run, tensors in ((self.backward, good), (self.varlen_backward, of_one),
                             (self.sink_gradient, good), (self.sink_gradient, of_one)):  # fmt: skip
            run(**tensors)
            for name, tensor in tensors.items():
                for other in (tensor[..., :1], tensor[:0], tensor.double(), tensor.to("meta")):
                    self.refuse((ValueError, TypeError), "d_out|out|lse|sinks", run, **{**tensors, name: other})

    def test_casts_are_of_their_own_type(self):
        self.refuse(TypeError, "half_of_bf16 is torch.float32", torch.ops.spark.half_of_bf16,
                    torch.ones(3))  # fmt: skip
        self.refuse(TypeError, "bf16_of_half is torch.float32", torch.ops.spark.bf16_of_half,
                    torch.ones(3))  # fmt: skip


class AutocastTest(Test):
    def test_float16_is_reached_by_autocast_to_it_alone(self):
        for to in (torch.float16, torch.bfloat16):
            for dtype in (torch.float32, torch.bfloat16):
                x = self.q.to(dtype)
                with torch.autocast("cpu", dtype=to):
                    runs = sa.supports(x, x, x)[0]
                    self.assertEqual(runs, to == torch.float16)
                    if runs:
                        self.assertEqual(sa.attention(x, x, x).dtype, torch.float16)
                    else:
                        self.refuse(TypeError, "q is .*float", sa.attention, x, x, x)
                        self.refuse(TypeError, "q is .*float", sa.attention_varlen, x[0], x[0], x[0],
                                    OFFSETS, OFFSETS)  # fmt: skip

    def test_the_checked_cast_counts_under_autocast_to_bfloat16(self):
        large = self.v.float() * 1e5
        sa.bf16_counts(reset=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = sa.attention(self.q.float(), self.k.bfloat16(), large, bf16="cast")
        self.assertEqual(out.dtype, torch.bfloat16)
        self.assertGreater(sa.bf16_counts(reset=True).overflowed, 0)


if __name__ == "__main__":
    unittest.main()
