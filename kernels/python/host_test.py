#!/usr/bin/env python3
"""The emulated backend over NumPy arrays, beside the definition in fp64. Needs no PyTorch."""

import concurrent.futures
import ctypes
import math
import os
import subprocess
import sys
import unittest
import unittest.mock

try:
    import numpy
except ImportError:
    print("skipped: no NumPy")
    sys.exit(77)

import spark_attention
from spark_attention import _arguments, _gpus, _library, _masks, host


def random(generator, *shape):
    return generator.standard_normal(shape).astype(numpy.float16)


def exact(q, k, v, is_visible, keep=1.0):
    """o and lse in fp64; keep is [batch, heads, seqlen_q, seqlen_k], scaled."""
    q, k, v = (array.astype(numpy.float64) for array in (q, k, v))
    group = q.shape[2] // k.shape[2]
    k, v = (numpy.repeat(array, group, axis=2) for array in (k, v))
    scores = numpy.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[3])
    scores = numpy.where(is_visible, scores, -numpy.inf)
    lse = numpy.log(numpy.exp(scores).sum(-1))
    p = numpy.exp(scores - lse[..., None]) * keep
    return numpy.einsum("bhqk,bkhd->bqhd", p, v), lse


def relative_error(got, want):
    return numpy.linalg.norm(got.astype(numpy.float64) - want) / numpy.linalg.norm(want)


class HostTest(unittest.TestCase):
    def setUp(self):
        generator = numpy.random.default_rng(3)
        self.q = random(generator, 2, 37, 4, 64)
        self.k, self.v = random(generator, 2, 50, 2, 64), random(generator, 2, 50, 2, 64)
        self.d_o = random(generator, *self.q.shape)
        rows, keys = numpy.arange(37)[:, None], numpy.arange(50)[None, :]
        self.causal = keys <= rows + 50 - 37

    def test_forward_is_the_definition(self):
        o, lse = host.forward(self.q, self.k, self.v, mask="causal")
        want_o, want_lse = exact(self.q, self.k, self.v, self.causal)
        self.assertLess(relative_error(o, want_o), 5e-4)  # fp16 rounds by at most 4.9e-4
        self.assertLess(numpy.abs(lse - want_lse).max(), 1e-3)

    def test_dropout_has_the_mask_that_is_told(self):
        keep, scale = host.dropout_mask(2, 4, 37, 50, 0.25, seed=9)
        self.assertAlmostEqual(scale, 256 / 192, places=6)
        self.assertAlmostEqual(keep.mean(), 0.75, delta=0.02)
        o, _ = host.forward(self.q, self.k, self.v, mask="causal", dropout_p=0.25, seed=9)
        want, _ = exact(self.q, self.k, self.v, self.causal, keep * scale)
        self.assertLess(relative_error(o, want), 5e-4)

    def test_strided_views_have_the_same_bits(self):
        packed = numpy.stack([self.k, self.v], axis=2)
        o, lse = host.forward(self.q, self.k, self.v)
        of_views, lse_of_views = host.forward(self.q, packed[:, :, 0], packed[:, :, 1])
        numpy.testing.assert_array_equal(o, of_views)
        numpy.testing.assert_array_equal(lse, lse_of_views)

    def test_heads_before_rows_are_warned_of(self):
        q = numpy.zeros((1, 2, 70, 64), numpy.float16)
        with unittest.mock.patch.object(_arguments, "_was_layout_warned_of", False):
            with self.assertWarns(spark_attention.LayoutWarning) as warned:
                host.forward(q, q, q)
        self.assertEqual(warned.filename, __file__)

    def test_backward_is_the_derivative(self):
        self.check_derivative("causal", self.causal)

    def check_derivative(self, mask, is_visible):
        o, lse = host.forward(self.q, self.k, self.v, mask=mask)
        gradients = host.backward(self.d_o, self.q, self.k, self.v, o, lse, mask=mask)
        step = 1e-5
        generator = numpy.random.default_rng(4)
        for i, gradient in enumerate(gradients):
            direction = generator.standard_normal(gradient.shape)
            values = []
            for sign in (step, -step):
                moved = [array.astype(numpy.float64) for array in (self.q, self.k, self.v)]
                moved[i] = moved[i] + sign * direction
                values.append((exact(*moved, is_visible)[0] * self.d_o).sum())
            want = (values[0] - values[1]) / (2 * step)
            got = (gradient.astype(numpy.float64) * direction).sum()
            norm = numpy.linalg.norm(gradient.astype(numpy.float64)) * numpy.linalg.norm(direction)
            self.assertLess(abs(got - want), 1e-3 * norm)

    def test_sinks_are_a_key_of_zeros(self):
        sinks = numpy.array([0.5, -1, 2, 0], numpy.float32)
        zeros = numpy.zeros((2, 1, 4, 64))

        def exact_with(sinks):
            """The sinks as scores: one column of ones in q, and of their scores in the key."""
            q = numpy.concatenate([self.q, numpy.ones((2, 37, 4, 1))], 3)
            keys = numpy.repeat(self.k, 2, 2)
            keys = numpy.concatenate([keys, numpy.zeros((2, 50, 4, 1))], 3)
            sink = numpy.concatenate([zeros, zeros[..., :1] + 8 * sinks[:, None]], 3)
            values = numpy.concatenate([numpy.repeat(self.v, 2, 2), zeros], 1)
            seen = numpy.concatenate([self.causal, numpy.ones((37, 1), bool)], 1)
            scaled = q * math.sqrt(65) / 8  # exact() divides by the root of 65, and not of 64
            return exact(scaled, numpy.concatenate([keys, sink], 1), values, seen)

        o, lse = host.forward(self.q, self.k, self.v, mask="causal", sinks=sinks)
        want, want_lse = exact_with(sinks)
        self.assertLess(relative_error(o, want), 1e-3)  # rounded twice
        self.assertLess(numpy.abs(lse - want_lse).max(), 1e-3)
        step = 1e-5
        moved = [exact_with(sinks + step * of)[0] - exact_with(sinks - step * of)[0]
                 for of in numpy.eye(4)]  # fmt: skip
        want = [(difference * self.d_o).sum() / (2 * step) for difference in moved]
        got = host.sink_gradient(self.d_o, o, lse, sinks)
        self.assertLess(relative_error(got, numpy.array(want)), 5e-3)

    def test_a_sink_of_nothing_has_the_bits_of_none(self):
        nothing = numpy.full(4, -numpy.inf, numpy.float32)
        given = self.q, self.k[:, :30], self.v[:, :30]  # of which the first 7 rows see no key
        of = [host.forward(*given, mask="causal", sinks=sinks) for sinks in (None, nothing)]
        for got, want in zip(*of):
            numpy.testing.assert_array_equal(got, want)
        self.assertTrue((host.sink_gradient(self.d_o, *of[1], nothing) == 0).all())

    def test_bad_sinks_are_refused_by_name(self):
        for text, sinks in (("sinks is float64; allowed", numpy.zeros(4)),
                            ("sinks is list; allowed", [0.0] * 4),
                            (r"sinks has shape \(2,\); allowed: \(4,\)",
                             numpy.zeros(2, numpy.float32))):  # fmt: skip
            with self.assertRaisesRegex(ValueError, text):
                host.forward(self.q, self.k, self.v, sinks=sinks)

    def test_a_pattern_is_what_any_of_its_parts_shows(self):
        p, key = numpy.arange(37)[:, None] + 50 - 37, numpy.arange(50)[None, :]
        union = (key <= p) & ((key > p - 7) | ((p - key) % 5 == 0))
        mask = "window:7+causal-strided:5"
        o, lse = host.forward(self.q, self.k, self.v, mask=mask)
        want_o, want_lse = exact(self.q, self.k, self.v, union)
        self.assertLess(relative_error(o, want_o), 5e-4)
        self.assertLess(numpy.abs(lse - want_lse).max(), 1e-3)
        self.check_derivative(mask, union)
        turns, _ = host.forward(self.q, self.k, self.v, mask=f"{mask}/causal")
        causal, _ = host.forward(self.q, self.k, self.v, mask="causal")
        numpy.testing.assert_array_equal(turns[:, :, ::2], o[:, :, ::2])
        numpy.testing.assert_array_equal(turns[:, :, 1::2], causal[:, :, 1::2])

    def test_a_pattern_of_one_run_has_the_bits_of_its_name(self):
        for backward in (False, True):
            of = []
            for mask in ("window:9", "causal-band:8:0"):
                o, lse = host.forward(self.q, self.k, self.v, mask=mask, dropout_p=0.2, seed=4)
                of.append(host.backward(self.d_o, self.q, self.k, self.v, o, lse, mask=mask,
                                        dropout_p=0.2, seed=4) if backward else (o, lse))  # fmt: skip
            for got, want in zip(*of):
                numpy.testing.assert_array_equal(got, want)

    def test_patterns_are_prepared_once_and_the_oldest_dropped(self):
        with unittest.mock.patch.object(_masks, "MOST", 2):
            _masks._prepared.clear()
            first = _masks.fields_of("strided:3", 20, 20)["prepared"]
            self.assertIs(_masks.fields_of("strided:3", 20, 20)["prepared"], first)
            self.assertIsNot(_masks.fields_of("strided:3", 20, 21)["prepared"], first)
            self.assertIs(_masks.fields_of("strided:3", 20, 20)["prepared"], first)  # used last
            _masks.fields_of("strided:4", 20, 20)
            self.assertEqual([key[2] for key in _masks._prepared], [20, 20])
        self.assertEqual(_masks.fields_of("window:3", 20, 20), {"mask": b"window:3"})

    def test_threads_share_a_prepared_pattern(self):
        want, _ = host.forward(self.q, self.k, self.v, mask="strided:5")
        _masks._prepared.clear()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            of = [pool.submit(host.forward, self.q, self.k, self.v, mask="strided:5") for _ in range(8)]
            for each in of:
                numpy.testing.assert_array_equal(each.result()[0], want)
        self.assertEqual(len(_masks._prepared), 1)

    def test_every_head_dim_and_accumulator_has_patterns(self):
        generator = numpy.random.default_rng(4)
        for head_dim, accumulator in ((192, "fp32"), (64, "fp16"), (256, "fp16")):
            q, k, v = (random(generator, 1, 50, 2, head_dim) for _ in range(3))
            rows, keys = numpy.arange(50)[:, None], numpy.arange(50)[None, :]
            seen = (keys <= rows) & ((keys > rows - 7) | ((rows - keys) % 5 == 0))
            o, lse = host.forward(q, k, v, mask="window:7+causal-strided:5", accumulator=accumulator)
            want_o, want_lse = exact(q, k, v, seen)
            self.assertLess(relative_error(o, want_o), 1e-3 if accumulator == "fp32" else 1e-2)
            self.assertLess(numpy.abs(lse - want_lse).max(), 1e-3 if accumulator == "fp32" else 1e-2)

    def test_patterns_that_no_kernel_has_are_told(self):
        wide = [numpy.zeros((1, 4, 1, 264), numpy.float16)] * 3
        why = "volta-fp32acc does not support head_dim 264"
        self.assertIn(why, host.supports(*wide, mask="strided:2")[1])
        with self.assertRaisesRegex(spark_attention.UnsupportedError, why):
            host.forward(*wide, mask="strided:2")
        for mask, why in (("window:2+strded:2", "from character 10 on: 'strded:2' of"),
                          ("nd:3x3:1x1", "of 37 rows and 50 keys: the axes 3x3 have 9 positions")):
            runs, reason = host.supports(self.q, self.k, self.v, mask=mask)
            self.assertFalse(runs)
            self.assertIn(why, reason)

    def test_bad_input_is_refused_by_name(self):
        for change, text in (
            ({"k": self.k[..., :32]}, "k has shape"),
            ({"v": self.v.astype(numpy.float32)}, "v is float32"),
            ({"q": self.q[..., ::2]}, "q has a head_dim with a stride of 2"),
            ({"mask": "diagonal"}, "causal"),
            ({"accumulator": "bf16"}, "accumulator is 'bf16'; allowed: fp32, fp16"),
            ({"dropout_p": 1.5}, "dropout_p is 1.5"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                host.forward(**{"q": self.q, "k": self.k, "v": self.v, **change})

    def test_what_the_library_cannot_hold_is_refused(self):
        many = numpy.lib.stride_tricks.as_strided(
            self.k, (self.k.shape[0], 2**32 + 16, *self.k.shape[2:]),
            (self.k.strides[0], 0, *self.k.strides[2:]))  # fmt: skip
        self.assertIn("seqlen_k is 4294967312", host.supports(self.q, many, many)[1])
        odd = numpy.ndarray((1, 2, 1, 64), numpy.float16, bytearray(600), 0, (300, 129, 128, 2))
        none = self.k[:, :, :0]
        for error, text, tensors, others in (
            (ValueError, "q has strides", (odd, odd, odd), {}),
            (ValueError, "k has 0 heads", (self.q, none, none), {}),
            (TypeError, "q is a list", ([1], self.k, self.v), {}),
            (ValueError, "zero byte", (self.q, self.k, self.v), {"mask": "full\0x"}),
            (ValueError, "scale is 1e-46", (self.q, self.k, self.v), {"scale": 1e-46}),
            (ValueError, "seed is", (self.q, self.k, self.v), {"seed": 2**64}),
        ):
            with self.assertRaisesRegex(error, text):
                host.forward(*tensors, **others)

    def test_scores_that_fp16_does_not_hold_are_computed_again(self):
        q, k = (0.1 * self.q).astype(numpy.float16), (0.1 * self.k).astype(numpy.float16)
        q[..., 0], k[..., 0] = 100, -6000
        got, want = (host.forward(q, k, self.v, accumulator=name) for name in ("fp16", "fp32"))
        for a, b in zip(got, want):
            self.assertTrue(numpy.isfinite(a).all() and (a == b).all())
        got, want = (host.backward(want[0], q, k, self.v, *want, accumulator=name)
                     for name in ("fp16", "fp32"))  # fmt: skip
        for a, b in zip(got, want):
            self.assertTrue((a == b).all() and a.any())

    def test_head_dims_without_a_kernel_are_unsupported(self):
        narrow = [numpy.zeros((1, 4, 1, 63), numpy.float16)] * 3
        with self.assertRaisesRegex(spark_attention.UnsupportedError, "head_dim 63"):
            host.forward(*narrow)
        self.assertIn(64, _library.HEAD_DIMS)
        self.assertNotIn(63, _library.HEAD_DIMS)


# Before the package is imported: NVML as a machine with a V100 has it.
WITH_A_V100 = """
import ctypes
real = ctypes.CDLL
class Nvml:
    def __getattr__(self, name):
        return lambda *arguments: 0
    def nvmlDeviceGetCount_v2(self, count):
        count._obj.value = 1
    def nvmlDeviceGetName(self, handle, name, size):
        name.value = b"Tesla V100"
    def nvmlDeviceGetCudaComputeCapability(self, handle, major, minor):
        major._obj.value, minor._obj.value = 7, 0
ctypes.CDLL = lambda name, *o, **n: Nvml() if "nvidia-ml" in str(name) else real(name, *o, **n)
import spark_attention
"""


def built_for(architectures, volta=(), hopper=()):
    """As _library.build_info() tells it."""
    return {"cuda": "12.9", "architectures": architectures, "volta": list(volta),
            "hopper": list(hopper), "why": "named by A"}  # fmt: skip


class GpusTest(unittest.TestCase):
    def test_the_import_warns_and_the_first_use_is_an_error(self):
        if any(built <= 70 for built in _library.build_info()["architectures"]):
            self.skipTest("this library has code for a V100")
        where = os.path.dirname(os.path.dirname(spark_attention.__file__))
        run = subprocess.run([sys.executable, "-B", "-c", WITH_A_V100], capture_output=True, text=True,
                             env={**os.environ, "CUDA_VISIBLE_DEVICES": "0", "PYTHONPATH": where})  # fmt: skip
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("no code for Tesla V100 (sm_70)", run.stderr)
        self.assertIn("The cure: pip install ./kernels/python -C "
                      "cmake.define.CMAKE_CUDA_ARCHITECTURES=70", run.stderr)  # fmt: skip
        if not _library.build_info()["architectures"]:
            of = _library.problem(backend=_library.CUDA, batch=1, heads=1, seqlen_q=1, seqlen_k=1,
                                  head_dim=64)  # fmt: skip
            with self.assertRaisesRegex(spark_attention.NoDeviceCodeError, "without CUDA"):
                _library.forward(of, ctypes.byref(_library.ForwardTensors()))

    def test_missing_code_is_told_with_its_cure(self):
        v100 = ("Tesla V100", 70)
        self.assertIsNone(_gpus.why_no_code([v100, ("H100", 90)], built_for([70, 75])))
        self.assertIsNone(_gpus.why_no_code([], built_for([])))
        text = _gpus.why_no_code([v100, v100], built_for([75, 80]))
        self.assertIn("no code for Tesla V100 (sm_70): it was built for compute capabilities 75, 80 "
                      "(named by A)", text)  # fmt: skip
        self.assertIn("CUDA 12.9 or older", text)
        self.assertIn("without CUDA", _gpus.why_no_code([v100], built_for([])))

    def test_gpus_without_a_kernel_are_told(self):
        t4, a100, h100 = ("T4", 75), ("A100", 80), ("H100", 90)
        info = built_for([70, 80, 90], volta=[70], hopper=[90])
        self.assertIsNone(_gpus.why_no_kernel([t4, h100], info))
        self.assertIn("no kernel for A100 (sm_80)", _gpus.why_no_kernel([t4, a100], info))
        self.assertIsNone(_gpus.why_no_kernel([a100], built_for([80], volta=[80])))
        self.assertIn("H100 (sm_90)", _gpus.why_no_kernel([h100], built_for([90])))
        self.assertIsNone(_gpus.why_no_kernel([h100], built_for([])))  # it has no code at all

    def test_the_library_tells_how_it_was_built(self):
        info = _library.build_info()
        self.assertLessEqual({*info["volta"], *info["hopper"]}, {*info["architectures"]})
        self.assertEqual(bool(info["cuda"]), bool(info["architectures"]))
        self.assertTrue(info["why"])

    def test_hidden_gpus_do_not_count(self):
        self.assertTrue(_gpus.is_visible(0, None))
        self.assertTrue(_gpus.is_visible(1, "1,2"))
        self.assertFalse(_gpus.is_visible(0, "1,2"))
        self.assertFalse(_gpus.is_visible(0, "-1"))
        self.assertFalse(_gpus.is_visible(0, ""))
        self.assertTrue(_gpus.is_visible(0, "GPU-5f"))


if __name__ == "__main__":
    unittest.main()
