#!/usr/bin/env python3
"""Attention in JAX on the CPU, that is the emulated V100: values, gradients, jit, vmap, seeds, and what
is refused; and that kernels/api/xla_ffi.h is the interface of the JAX that is installed."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from test_jax import (UNION, assert_same, definition, inputs, jax, jnp, max_error, numpy, passes_of,
                      visible, with_gradients)  # fmt: skip

import spark_attention
from spark_attention import _library, host
from spark_attention.jax import attention, supports


class ValuesTest(unittest.TestCase):
    """FlashAttention's rule: at most twice the error of the fp16 computation, three times that of its
    gradients, both against fp64."""

    def check(self, arrays, d_out, mask="full", keep=1.0, scale=None, **options):
        want, unfused = passes_of(arrays, d_out, mask, keep, scale)
        given = {"causal": True} if mask == "causal" else {"mask": mask}
        fused = with_gradients(lambda *t: attention(*t, scale=scale, **given, **options), arrays, d_out)
        for i, (got, other, of) in enumerate(zip(fused, unfused, want)):
            self.assertEqual(got.dtype, jnp.float16)
            self.assertLess(max_error(got, of), (3 if i else 2) * max_error(other, of) + 1e-4, (mask, i))

    def test_masks(self):
        *arrays, d_out = inputs()
        for mask in ("full", "causal", "window:9", UNION):
            self.check(arrays, d_out, mask)

    def test_options(self):
        *arrays, d_out = inputs(33, 65, heads=3, heads_k=1, head_dim=128, batch=1)
        self.check(arrays, d_out, "causal", scale=0.2, deterministic=True)

    def test_dropout_is_the_mask_of_the_host(self):
        *arrays, d_out = inputs()
        keep, scale = host.dropout_mask(2, 4, 37, 50, 0.25, 0, offset=0x500000007)
        self.check(arrays, d_out, "causal", keep * scale, dropout_p=0.25, seed=0x500000007)

    def test_dropout_of_passes_is_the_mask_of_the_host(self):
        *arrays, d_out = inputs(390, 390, batch=2)
        mask = "window:7+causal-strided:6"
        keep, scale = host.dropout_mask(2, 4, 390, 390, 0.25, 0, offset=0x500000007, mask=mask)
        self.check(arrays, d_out, mask, keep * scale, dropout_p=0.25, seed=0x500000007)

    def test_a_seed_is_a_number_in_whatever_form(self):
        def dropped(seed):
            return attention(*inputs(9, 9, batch=1)[:3], dropout_p=0.5, seed=seed)

        want = dropped(0x500000007)
        for seed in (jnp.int64(0x500000007), jnp.array([7, 5], jnp.uint32), numpy.int64(0x500000007)):
            assert_same(dropped(seed), want)
        assert_same(dropped(jnp.int32(7)), dropped(7))
        assert_same(dropped(jnp.uint32(0xFFFFFFFF)), dropped(0xFFFFFFFF))
        self.assertFalse((dropped(7) == want).all())
        keys = [dropped(key) for key in jax.random.split(jax.random.key(1))]
        self.assertFalse((keys[0] == keys[1]).all())

    def test_lse_is_the_definitions_and_has_no_gradient(self):
        q, k, v, _ = inputs()
        out, lse = attention(q, k, v, mask=UNION, return_lse=True)
        want = definition(*(x.astype(jnp.float64) for x in (q, k, v)), UNION)
        self.assertEqual((lse.dtype, lse.shape), (jnp.float32, (2, 4, 37)))
        self.assertLess(max_error(lse, want[1]), 1e-3)
        gradient = jax.grad(lambda q: attention(q, k, v, return_lse=True)[1].sum())(q)
        self.assertTrue((gradient == 0).all())

    def test_has_the_bits_of_the_library(self):
        q, k, v, d_out = inputs()
        out, gradients = jax.vjp(lambda *t: attention(*t, mask=UNION, deterministic=True), q, k, v)
        arrays = [numpy.asarray(array) for array in (q, k, v)]
        o, lse = host.forward(*arrays, mask=UNION)
        want = host.backward(numpy.asarray(d_out), *arrays, o, lse, mask=UNION)
        assert_same((out, *gradients(d_out)), (o, *want))

    def test_no_keys_give_zeros_and_no_rows_nothing(self):
        q, k, v, _ = inputs()
        out, lse = attention(q, k[:, :0], v[:, :0], return_lse=True)
        self.assertTrue((out == 0).all() and (lse == -jnp.inf).all())
        self.assertEqual(attention(q[:, :0], k, v).shape, (2, 0, 4, 64))


class SinksTest(unittest.TestCase):
    """A key more for each head, with a score of its own and the value zero."""

    def setUp(self):
        *self.arrays, self.d_out = inputs(heads=16, batch=1)  # of few sinks the largest error is luck
        self.sinks = 0.5 + jax.random.normal(jax.random.key(9), 16, jnp.float32)

    def definition(self, q, k, v, sinks):
        group = q.shape[2] // k.shape[2]
        k, v = (jnp.repeat(array, group, axis=2) for array in (k, v))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.dtype.type(q.shape[3] ** -0.5)
        scores = jnp.where(visible("causal", q.shape[1], k.shape[1]), scores, -jnp.inf)
        column = jnp.broadcast_to(sinks.astype(q.dtype)[:, None, None], (*scores.shape[:3], 1))
        p = jax.nn.softmax(jnp.concatenate([scores, column], -1), axis=-1)[..., :-1]
        return jnp.einsum("bhqk,bkhd->bqhd", p, v)

    def call(self, q, k, v, sinks, **options):
        return attention(q, k, v, causal=True, deterministic=True, sinks=sinks, **options)

    def test_values_and_gradients(self):
        for rows, keys in ((37, 50), (50, 37)):  # of the latter, 13 rows see the sink alone
            *arrays, d_out = inputs(rows, keys, heads=16, batch=1)
            given = (*arrays, self.sinks)
            exact, unfused = (
                with_gradients(lambda *t: self.definition(*(x.astype(dtype) for x in t)), given, d_out)
                for dtype in (jnp.float64, jnp.float16)
            )  # fmt: skip
            fused = with_gradients(self.call, given, d_out)
            for i, (got, other, want) in enumerate(zip(fused, unfused, exact, strict=True)):
                limit = (3 if i else 2) * max_error(other, want) + 1e-4
                self.assertLess(max_error(got, want), limit, i)

    def test_numpy_has_the_same(self):
        arrays = [numpy.asarray(array) for array in self.arrays]
        want = host.forward(*arrays, mask="causal", sinks=numpy.asarray(self.sinks))
        got = self.call(*self.arrays, self.sinks, return_lse=True)
        self.assertLess(max_error(got[0], want[0]), 2e-3)
        self.assertLess(max_error(got[1], want[1]), 1e-5)

    def test_a_sink_of_nothing_has_the_bits_of_none(self):
        nothing = jnp.full(16, -jnp.inf, jnp.float32)
        for rows, keys in ((37, 50), (50, 37)):
            *arrays, d_out = inputs(rows, keys, heads=16, batch=1)
            want = with_gradients(lambda *t: self.call(*t, None), arrays, d_out)
            *got, d_sinks = with_gradients(self.call, (*arrays, nothing), d_out)
            assert_same(got, want)
            self.assertTrue((d_sinks == 0).all())

    def test_without_keys_the_sink_is_all(self):
        q, k, v = self.arrays
        out, lse = self.call(q, k[:, :0], v[:, :0], self.sinks, return_lse=True)
        self.assertTrue((out == 0).all())
        assert_same(lse, jnp.broadcast_to(self.sinks[:, None], lse.shape))

    def test_jit_and_vmap_are_call_by_call(self):
        sinks = jnp.stack([self.sinks, self.sinks + 1]).astype(jnp.float16)

        def loss(sinks):
            return (self.call(*self.arrays, sinks).astype(jnp.float32) ** 2).sum()

        gradients = jax.grad(loss)
        each = jnp.stack([gradients(one) for one in sinks])
        self.assertEqual(each.dtype, jnp.float16)
        numpy.testing.assert_allclose(jax.vmap(gradients)(sinks), each, rtol=2e-3)
        numpy.testing.assert_allclose(jax.jit(gradients)(sinks[1]), each[1], rtol=2e-3)

    def test_second_derivatives_are_refused(self):
        def loss(sinks):
            return self.call(*self.arrays, sinks).astype(jnp.float32).sum()

        def slope(sinks):
            return jax.grad(loss)(sinks).sum()

        with self.assertRaisesRegex(spark_attention.UnsupportedError, "no derivative of its own"):
            jax.grad(slope)(self.sinks)

    def test_bad_sinks_are_refused_by_name(self):
        for error, text, sinks in (
            (ValueError, r"sinks has shape \(2,\); allowed: \(16,\)", jnp.zeros(2, jnp.float32)),
            (TypeError, "sinks is float64; allowed: float32", jnp.zeros(16, jnp.float64)),
            (TypeError, "sinks is list; allowed", [0.0] * 16),
        ):
            with self.assertRaisesRegex(error, text):
                self.call(*self.arrays, sinks)
            runs, why = supports(*self.arrays, sinks=sinks)
            self.assertFalse(runs)
            self.assertRegex(why, text)
        self.assertEqual(supports(*self.arrays, sinks=self.sinks), (True, ""))


class TransformationTest(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v, self.d_out = inputs()

    def test_jit_has_the_same_bits(self):
        def step(q, k, v, seed):
            return jax.value_and_grad(
                lambda *t: (attention(*t, mask=UNION, dropout_p=0.2, seed=seed, deterministic=True)
                            .astype(jnp.float32) ** 2).sum(), (0, 1, 2))(q, k, v)  # fmt: skip

        given = self.q, self.k, self.v, jax.random.key(3)
        assert_same(jax.jit(step)(*given)[1], step(*given)[1])
        text = jax.jit(step).lower(*given).as_text()
        self.assertIn(f'mask = "{UNION}"', text)
        self.assertIn("@spark_attention_backward", text)

    def test_without_x64_has_the_same_bits(self):
        want = attention(self.q, self.k, self.v, dropout_p=0.2, seed=0x500000007)
        jax.config.update("jax_enable_x64", False)
        try:
            got = attention(self.q, self.k, self.v, dropout_p=0.2, seed=0x500000007)
        finally:
            jax.config.update("jax_enable_x64", True)
        assert_same(got, want)

    def test_vmap_is_call_by_call(self):
        q = jnp.stack([self.q, self.q[::-1], self.q * 2])
        k = jnp.stack([self.k, self.k * 2, self.k[::-1]])

        def call(q, k):
            return attention(q, k, self.v, mask=UNION, return_lse=True)

        each = [call(q[i], k[i]) for i in range(3)]
        assert_same(jax.vmap(call)(q, k), [jnp.stack(of) for of in zip(*each)])
        none = jax.vmap(call)(q[:0], k[:0])
        self.assertEqual([of.shape for of in none], [(0, 2, 37, 4, 64), (0, 2, 4, 37)])
        twice = jax.vmap(jax.vmap(call, (None, 0)), (0, None))(q, k)
        assert_same(twice[0][1, 2], call(q[1], k[2])[0])

    def test_vmap_of_gradients_and_seeds_is_call_by_call(self):
        def gradients(q, seed):
            return jax.grad(lambda *t: (attention(*t, dropout_p=0.5, seed=seed, deterministic=True)
                                        .astype(jnp.float32) ** 2).sum(), (0, 1, 2))(
                q, self.k, self.v)  # fmt: skip

        q = jnp.stack([self.q, self.q, self.q * 2])
        seeds = jax.random.split(jax.random.key(5), 3)
        each = [gradients(q[i], seeds[i]) for i in range(3)]
        self.assertFalse((each[0][0] == each[1][0]).all())  # another seed
        assert_same(jax.vmap(gradients)(q, seeds), [jnp.stack(of) for of in zip(*each)])
        same = jax.vmap(gradients, (0, None))(q, seeds[0])
        assert_same([of[0] for of in same], [of[1] for of in same])

    def test_second_derivatives_are_refused(self):
        def loss(q):
            return attention(q, self.k, self.v).astype(jnp.float32).sum()

        with self.assertRaisesRegex(spark_attention.UnsupportedError, "no derivative of its own"):
            jax.grad(lambda q: jax.grad(loss)(q).astype(jnp.float32).sum())(self.q)


class RefusalTest(unittest.TestCase):
    def setUp(self):
        self.q, self.k, self.v, _ = inputs(batch=1)

    def refuse(self, error, text, *arrays, **others):
        with self.assertRaisesRegex(error, text):
            jax.jit(lambda *t: attention(*t, **others))(*(arrays or (self.q, self.k, self.v)))

    def test_bad_input_is_refused_by_name(self):
        self.refuse(TypeError, "q is bfloat16; allowed: float16", self.q.astype(jnp.bfloat16), self.k,
                    self.v)  # fmt: skip
        self.refuse(ValueError, "k has shape", self.q, self.k[..., :32], self.v[..., :32])
        self.refuse(ValueError, "v has shape", self.q, self.k, self.v[:, 1:])
        self.refuse(ValueError, "q has 3 dimensions", self.q[0], self.k, self.v)
        self.refuse(ValueError, "k has 2 heads, and q 3", self.q[:, :, :3], self.k, self.v)
        self.refuse(ValueError, "causal is True, and mask is 'full'", causal=True, mask="full")
        self.refuse(ValueError, "from character 10 on: 'strded:2' of", mask="window:2+strded:2")
        self.refuse(ValueError, "dropout_p is 1", dropout_p=1.0)
        self.refuse(ValueError, "dropout_p is 0.5, and seed is None", dropout_p=0.5)
        self.refuse(TypeError, "seed is float64 of shape", dropout_p=0.5, seed=0.5)
        self.refuse(ValueError, "accumulator is 'bf16'", accumulator="bf16")
        self.refuse(ValueError, "scale is -1", scale=-1)

    def test_what_no_kernel_has_is_unsupported(self):
        wide = [jnp.zeros((1, 4, 1, 264), jnp.float16)] * 3
        self.refuse(spark_attention.UnsupportedError, "head_dim 264", *wide, mask=UNION)

    def test_supports_tells_why_not(self):
        self.assertEqual(supports(self.q, self.k, self.v, mask=UNION), (True, ""))
        for others, why in (({"mask": "strded:2"}, "'strded:2' is no mask"),
                            ({"accumulator": "mixed"}, "allowed: fp32, fp16"),
                            ({"mask": "nd:3x3:1x1"}, "the axes 3x3 have 9 positions")):  # fmt: skip
            runs, reason = supports(self.q, self.k, self.v, **others)
            self.assertFalse(runs)
            self.assertIn(why, reason)

    def test_the_handler_refuses_what_it_did_not_ask_for(self):
        lse = jax.ShapeDtypeStruct((1, 4, 37), jnp.float32)
        for results, given, why in (
            ((self.q, lse), (self.q, self.k), "argument 2 is missing"),
            ((self.q, lse), (self.q, self.k, self.v.astype(jnp.float32)), "argument 2 has XLA's type"),
            ((self.k, lse), (self.q, self.k, self.v), "o is of another shape"),
            ((self.q, lse), (self.q, self.k, self.v), "attribute mask is missing"),
            ((self.q, lse), (self.q, self.k, self.v), "dropout_p is above 0, and there is no argument 3"),
        ):
            shapes = tuple(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in results)
            attributes = {} if "attribute" in why else {
                "mask": "full", "dropout_p": numpy.float32(0.5 if "dropout" in why else 0), "softmax_scale": numpy.float32(0),
                **{name: numpy.int32(0) for name in ("dropout_scale", "accumulator", "deterministic",
                                                     "allow_slow")}}  # fmt: skip
            call = jax.ffi.ffi_call("spark_attention_forward", shapes)
            with self.assertRaisesRegex(Exception, f"INVALID_ARGUMENT.*{why}"):
                jax.block_until_ready(call(*given, **attributes))


COMPARED = """
#include "xla/ffi/api/c_api.h"
#include "xla_ffi.h"
using namespace sparkbench;
#define SAME(ours, theirs, field, their_field)                                      \\
  static_assert(offsetof(xla::ours, field) == offsetof(XLA_FFI_##theirs, their_field) && \\
                sizeof(xla::ours::field) == sizeof(XLA_FFI_##theirs::their_field), #ours "." #field)
#define ALIKE(ours, theirs, field) SAME(ours, theirs, field, field)
#define EQUAL(ours, theirs) static_assert(static_cast<int>(xla::ours) == static_cast<int>(theirs), #ours)
static_assert(XLA_FFI_API_MAJOR == 0);
ALIKE(ExtensionBase, Extension_Base, type); ALIKE(ExtensionBase, Extension_Base, next);
ALIKE(ApiVersion, Api_Version, major_version); ALIKE(ApiVersion, Api_Version, minor_version);
ALIKE(Metadata, Metadata, api_version); ALIKE(Metadata, Metadata, traits);
ALIKE(MetadataExtension, Metadata_Extension, metadata);
ALIKE(ErrorCreateArgs, Error_Create_Args, message); ALIKE(ErrorCreateArgs, Error_Create_Args, errc);
ALIKE(ErrorGetMessageArgs, Error_GetMessage_Args, error);
ALIKE(ErrorGetMessageArgs, Error_GetMessage_Args, message);
ALIKE(ErrorDestroyArgs, Error_Destroy_Args, error);
ALIKE(StreamGetArgs, Stream_Get_Args, ctx); ALIKE(StreamGetArgs, Stream_Get_Args, stream);
ALIKE(DeviceMemoryAllocateArgs, DeviceMemory_Allocate_Args, ctx);
ALIKE(DeviceMemoryAllocateArgs, DeviceMemory_Allocate_Args, size);
ALIKE(DeviceMemoryAllocateArgs, DeviceMemory_Allocate_Args, alignment);
ALIKE(DeviceMemoryAllocateArgs, DeviceMemory_Allocate_Args, data);
ALIKE(DeviceMemoryFreeArgs, DeviceMemory_Free_Args, ctx);
ALIKE(DeviceMemoryFreeArgs, DeviceMemory_Free_Args, size);
ALIKE(DeviceMemoryFreeArgs, DeviceMemory_Free_Args, data);
ALIKE(Api, Api, api_version); ALIKE(Api, Api, internal_api);
SAME(Api, Api, error_create, XLA_FFI_Error_Create);
SAME(Api, Api, error_get_message, XLA_FFI_Error_GetMessage);
SAME(Api, Api, error_destroy, XLA_FFI_Error_Destroy);
SAME(Api, Api, stream_get, XLA_FFI_Stream_Get);
SAME(Api, Api, device_memory_allocate, XLA_FFI_DeviceMemory_Allocate);
SAME(Api, Api, device_memory_free, XLA_FFI_DeviceMemory_Free);
ALIKE(Buffer, Buffer, dtype); ALIKE(Buffer, Buffer, data); ALIKE(Buffer, Buffer, rank);
ALIKE(Buffer, Buffer, dims); ALIKE(ByteSpan, ByteSpan, ptr); ALIKE(ByteSpan, ByteSpan, len);
ALIKE(Scalar, Scalar, dtype); ALIKE(Scalar, Scalar, value);
ALIKE(Buffers, Args, size); ALIKE(Buffers, Args, types); SAME(Buffers, Args, buffers, args);
ALIKE(Buffers, Rets, size); ALIKE(Buffers, Rets, types); SAME(Buffers, Rets, buffers, rets);
ALIKE(Attrs, Attrs, size); ALIKE(Attrs, Attrs, types); ALIKE(Attrs, Attrs, names);
ALIKE(Attrs, Attrs, attrs);
ALIKE(CallFrame, CallFrame, extension_start); ALIKE(CallFrame, CallFrame, api);
ALIKE(CallFrame, CallFrame, ctx); ALIKE(CallFrame, CallFrame, stage);
ALIKE(CallFrame, CallFrame, args); ALIKE(CallFrame, CallFrame, rets);
ALIKE(CallFrame, CallFrame, attrs);
EQUAL(kMetadataExtension, XLA_FFI_Extension_Metadata);
EQUAL(kInvalidArgument, XLA_FFI_Error_Code_INVALID_ARGUMENT);
EQUAL(kResourceExhausted, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
EQUAL(kFailedPrecondition, XLA_FFI_Error_Code_FAILED_PRECONDITION);
EQUAL(kUnimplemented, XLA_FFI_Error_Code_UNIMPLEMENTED);
EQUAL(kInternal, XLA_FFI_Error_Code_INTERNAL);
EQUAL(kS32, XLA_FFI_DataType_S32); EQUAL(kU32, XLA_FFI_DataType_U32);
EQUAL(kF16, XLA_FFI_DataType_F16); EQUAL(kF32, XLA_FFI_DataType_F32);
EQUAL(kScalarAttr, XLA_FFI_AttrType_SCALAR); EQUAL(kStringAttr, XLA_FFI_AttrType_STRING);
EQUAL(kBufferType, XLA_FFI_ArgType_BUFFER); EQUAL(kBufferType, XLA_FFI_RetType_BUFFER);
"""


class InterfaceTest(unittest.TestCase):
    def test_is_that_of_the_installed_jax(self):
        ours = pathlib.Path(__file__).parent.parent / "api"
        compiler = os.environ.get("CXX") or shutil.which("c++")
        if not (ours / "xla_ffi.h").exists() or compiler is None:
            self.skipTest("no source, or no compiler, at hand")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "compared.cc"
            source.write_text(COMPARED)
            run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-I", str(ours), "-I",
                                  jax.ffi.include_dir(), str(source)], capture_output=True, text=True)  # fmt: skip
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_handler_for_gpus_is_there_in_every_build(self):
        for of_pass in ("forward", "backward"):
            self.assertTrue(ctypes.cast(_library.xla_handler("cuda", of_pass), ctypes.c_void_p).value)


if __name__ == "__main__":
    unittest.main()
