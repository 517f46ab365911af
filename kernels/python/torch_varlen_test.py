#!/usr/bin/env python3
"""Sequences of any lengths, one behind the other, on CPU tensors: beside each sequence alone, and
beside the definition."""

import itertools
import unittest
import unittest.mock

from test_torch import definition, max_error, numpy, random, torch, with_gradients

import spark_attention as sa
from spark_attention import _ops, host

LENGTHS = ((20, 37), (0, 5), (1, 1), (33, 0), (0, 0), (50, 12))  # of rows, of keys


def offsets(lengths):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def ragged(heads=4, heads_k=2, head_dim=64, lengths=LENGTHS):
    """q, k, v, d_out, and both offsets."""
    rows, keys = (sum(side) for side in zip(*lengths))
    queries, of_keys = (rows, heads, head_dim), (keys, heads_k, head_dim)
    tensors = random(1, *queries), random(2, *of_keys), random(3, *of_keys)
    return *tensors, random(4, *queries).detach(), *map(offsets, zip(*lengths))


def each_alone(attend, q, k, v, cu_seqlens_q, cu_seqlens_k):
    """attend(index, q, k, v) of each sequence as a batch of one, one behind the other again."""
    bounds = [zip(cu.tolist(), cu[1:].tolist()) for cu in (cu_seqlens_q, cu_seqlens_k)]
    parts = [attend(i, q[None, a:b], k[None, c:d], v[None, c:d])[0]
             for i, ((a, b), (c, d)) in enumerate(zip(*bounds))]  # fmt: skip
    return torch.cat(parts)


def keep_of(q, k, dropout_p, seed):
    """keep(index, q, k): the mask of a sequence as that entry of a batch, scaled."""
    keep, scale = host.dropout_mask(len(LENGTHS), q.shape[1], 64, 64, dropout_p, seed)
    keep = torch.from_numpy(keep.astype(numpy.float64) * scale)
    return lambda i, q, k: keep[i : i + 1, :, : q.shape[1], : k.shape[1]]


class VarlenTest(unittest.TestCase):
    def run_packed(self, tensors, d_out, lengths, **options):
        return with_gradients(lambda *t: sa.attention_varlen(*t, *lengths, **options), tensors, d_out)

    def test_bits_are_those_of_each_sequence_alone(self):
        for options in ({"causal": True}, {"mask": "window:9", "accumulator": "fp16"}, {}):
            q, k, v, d_out, *lengths = ragged()
            options["deterministic"] = True
            got = self.run_packed((q, k, v), d_out, lengths, **options)
            want = with_gradients(
                lambda *t: each_alone(lambda _, *one: sa.attention(*one, **options), *t, *lengths),
                (q, k, v), d_out,
            )  # fmt: skip
            for one, other in zip(got, want):
                self.assertTrue(torch.equal(one, other), options)

    def test_dropout_is_exactly_the_mask_that_is_told(self):
        q, k, v, d_out, *lengths = ragged()
        keep = keep_of(q, k, 0.25, 77)

        def exact(*tensors):
            return each_alone(
                lambda i, q, k, v: definition(q, k, v, "causal", keep=keep(i, q, k).to(q.dtype)),
                *tensors, *lengths,
            )  # fmt: skip

        want = with_gradients(lambda *t: exact(*(x.double() for x in t)), (q, k, v), d_out)
        unfused = with_gradients(exact, (q, k, v), d_out)
        with unittest.mock.patch.object(_ops, "draw_seed", lambda like: torch.tensor(77)):
            got = self.run_packed((q, k, v), d_out, lengths, causal=True, dropout_p=0.25)
        for i, (one, other, exactly) in enumerate(zip(got, unfused, want)):
            ratio = 3 if i else 2
            self.assertLess(max_error(one, exactly), ratio * max_error(other, exactly) + 1e-4, i)

    def test_lse_is_of_heads_and_all_rows(self):
        q, k, v, _, *lengths = ragged()
        _, lse = sa.attention_varlen(q, k, v, *lengths, return_lse=True)
        self.assertEqual(lse.shape, (4, q.shape[0]))
        _, first = sa.attention(q[None, :20], k[None, :37], v[None, :37], return_lse=True)
        self.assertTrue(torch.equal(lse[:, :20], first[0]))
        self.assertTrue((lse[:, 21:54] == -torch.inf).all())  # rows without keys

    def test_nothing_gives_nothing(self):
        q, k, v, d_out, *lengths = ragged(lengths=((0, 0), (0, 7)))
        out, *gradients = self.run_packed((q, k, v), d_out, lengths)
        self.assertEqual(out.shape, (0, 4, 64))
        self.assertTrue(all((gradient == 0).all() for gradient in gradients))

    def test_operators_are_registered_rightly(self):
        q, k, v, d_out, *lengths = ragged()
        given = (torch.tensor(3), 0.2, "applied", 0.0, "causal", "fp32", True)
        forward, backward = torch.ops.spark.varlen_forward, torch.ops.spark.varlen_backward
        torch.library.opcheck(forward.default, (q, k, v, *lengths, *given))
        saved = [t.detach() for t in (d_out, q, k, v, *forward(q, k, v, *lengths, *given))]
        torch.library.opcheck(backward.default, (*saved, *lengths, *given))

    def test_compiled_modules_are_one_graph(self):
        q, k, v, d_out, *lengths = ragged()
        compiled = torch.compile(
            lambda *t: sa.attention_varlen(*t, *lengths, causal=True, deterministic=True),
            fullgraph=True, backend="aot_eager",
        )  # fmt: skip
        got = with_gradients(compiled, (q, k, v), d_out)
        want = self.run_packed((q, k, v), d_out, lengths, causal=True, deterministic=True)
        for one, other in zip(got, want):
            self.assertTrue(torch.equal(one, other))

    def test_autocast_makes_fp16(self):
        q, k, v, _, *lengths = ragged()
        with torch.autocast("cpu", dtype=torch.float16):
            out = sa.attention_varlen(q.float(), k.float(), v.float(), *lengths)
        self.assertTrue(torch.equal(out, sa.attention_varlen(q, k, v, *lengths)))


class FlashNamesTest(unittest.TestCase):
    def test_packed_tensors_have_the_same_bits(self):
        qkv = random(5, 40, 3, 2, 64).detach()
        cu_seqlens = offsets((13, 0, 27))
        q, k, v = qkv.unbind(1)
        want = sa.attention_varlen(q, k, v, cu_seqlens, cu_seqlens, mask="window:5")
        sa.explain(reset=True)
        given = {"causal": True, "window_size": (4, 0)}
        got = (
            sa.flash_attn_varlen_func(q, k, v, cu_seqlens, cu_seqlens, 27, 27, **given),
            sa.flash_attn_varlen_kvpacked_func(q, qkv[:, 1:], cu_seqlens, cu_seqlens, 27, 27, **given),
            sa.flash_attn_varlen_qkvpacked_func(qkv, cu_seqlens, 27, **given),
        )
        for out in got:
            self.assertTrue(torch.equal(out, want))
        self.assertNotIn("copied", sa.explain())

    def test_what_is_not_there_is_refused_by_name(self):
        q, k, v, _, *lengths = ragged()
        for name in ("alibi_slopes", "block_table"):
            with self.assertRaisesRegex(sa.UnsupportedError, f"{name} is given"):
                sa.flash_attn_varlen_func(q, k, v, *lengths, 50, 37, **{name: torch.zeros(4)})


class SupportsTest(unittest.TestCase):
    def test_it_tells_what_would_run(self):
        q, k, v, _, *lengths = ragged()
        given = dict(zip(("cu_seqlens_q", "cu_seqlens_k"), lengths))
        self.assertEqual(sa.supports(q, k, v, causal=True, **given), (True, ""))
        self.assertEqual(sa.supports(q.bfloat16(), k, v, bf16="cast", **given), (True, ""))
        self.assertIn("q is bfloat16", sa.supports(q.bfloat16(), k, v, **given)[1])
        self.assertIn("q has 4 dimensions; allowed: 3", sa.supports(q[None], k, v, **given)[1])
        self.assertIn("allowed: fp32, fp16", sa.supports(q, k, v, accumulator="mixed", **given)[1])


class RefusalTest(unittest.TestCase):
    def refuse(self, text, change):
        given = dict(zip(("q", "k", "v", "d_out", "cu_seqlens_q", "cu_seqlens_k"), ragged()))
        del given["d_out"]
        given.update(change(given))
        with self.assertRaisesRegex(ValueError, text):
            sa.attention_varlen(**given)

    def test_bad_input_is_refused_by_name(self):
        self.refuse("q has 4 dimensions; allowed: 3", lambda t: {"q": t["q"][None]})
        self.refuse("cu_seqlens_q is int64", lambda t: {"cu_seqlens_q": t["cu_seqlens_q"].long()})
        self.refuse("cu_seqlens_k has 6 entries, and cu_seqlens_q 7",
                    lambda t: {"cu_seqlens_k": t["cu_seqlens_k"][:-1]})  # fmt: skip
        self.refuse(r"cu_seqlens_k\[6\] is 55; allowed: 52", lambda t: {
            "k": t["k"][:52], "v": t["v"][:52]})  # fmt: skip
        self.refuse("k has shape", lambda t: {"k": t["k"][..., :32], "v": t["v"][..., :32]})


if __name__ == "__main__":
    unittest.main()
