#!/usr/bin/env python3
"""FlashAttention's functions where arguments are at their limits, and its names for other libraries."""

import importlib.metadata
import importlib.util
import subprocess
import sys
import unittest

from test_torch import inputs, random, torch

import spark_attention as sa
from spark_attention import rotary
from spark_attention._options import mask_of_window

MOST = 2**31 - 1


class WindowTest(unittest.TestCase):
    def test_what_no_sequence_reaches_is_all(self):
        for window in ((MOST, 0), (-1, MOST), (-2, 0), (2**40, -1)):
            self.assertEqual(mask_of_window(True, window), "causal")
        self.assertEqual(mask_of_window(False, (MOST, MOST)), "full")
        self.assertEqual(mask_of_window(True, (torch.tensor(3), 0)), "window:4")
        q, k, v, _ = inputs(8, 8)
        got = sa.flash_attn_func(q, k, v, causal=True, window_size=(MOST, MOST))
        self.assertTrue(torch.equal(got, sa.attention(q, k, v, causal=True)))

    def test_other_things_are_refused(self):
        for window in (3, (1,), (1, 2, 3), (1.5, 0), "ab", None):
            with self.assertRaisesRegex(TypeError, "window_size is"):
                mask_of_window(False, window)


class CacheTest(unittest.TestCase):
    """No key is read or written beside the cache."""

    def setUp(self):
        self.q, self.k, self.v, _ = (t.detach() for t in inputs(3, 40))
        self.new = random(8, 2, 3, 2, 64).detach(), random(9, 2, 3, 2, 64).detach()

    def refuse(self, error, text, *arguments, **others):
        before = self.k.clone(), self.v.clone()
        with self.assertRaisesRegex(error, text):
            sa.flash_attn_with_kvcache(self.q, self.k, self.v, *arguments, **others)
        self.assertTrue(torch.equal(self.k, before[0]) and torch.equal(self.v, before[1]))

    def test_new_keys_that_do_not_fit(self):
        lengths = torch.tensor([39, 3], dtype=torch.int32)
        self.refuse(ValueError, r"cache_seqlens\[0\] is 39; allowed: 0 to 37.*less the 3 new ones",
                    *self.new, cache_seqlens=lengths)  # fmt: skip
        self.refuse(ValueError, "cache_seqlens is None", *self.new)
        self.refuse(ValueError, "one of k and v is given", self.new[0], cache_seqlens=lengths)
        self.refuse(ValueError, "k has shape", *(t[:, :, :1] for t in self.new), cache_seqlens=lengths)
        self.refuse(TypeError, "k has dtype torch.float32", *(t.float() for t in self.new),
                    cache_seqlens=lengths)  # fmt: skip

    def test_numbers_outside_of_the_cache(self):
        numbers = lambda *n: torch.tensor(n, dtype=torch.int32)
        self.refuse(ValueError, r"cache_seqlens\[1\] is 41; allowed: 0 to 40", cache_seqlens=numbers(3, 41))
        self.refuse(ValueError, r"cache_seqlens\[0\] is -1", cache_seqlens=-1)
        self.refuse(ValueError, r"cache_leftpad\[0\] is 9; allowed: 0 to 8", cache_seqlens=8,
                    cache_leftpad=numbers(9, 0))  # fmt: skip
        self.refuse(ValueError, r"cache_batch_idx\[1\] is 2; allowed: 0 to 1", cache_seqlens=8,
                    cache_batch_idx=numbers(0, 2))  # fmt: skip
        self.refuse(TypeError, "cache_seqlens is torch.float32", cache_seqlens=torch.ones(2))
        self.refuse(TypeError, "cache_seqlens is a list", cache_seqlens=[3, 3])
        self.refuse(ValueError, "cache_seqlens has shape", cache_seqlens=numbers(1, 2, 3))

    def test_full_caches_are_read(self):
        out = sa.flash_attn_with_kvcache(self.q, self.k, self.v, cache_seqlens=40, causal=True)
        want = sa.flash_attn_with_kvcache(self.q, self.k, self.v, causal=True)
        self.assertTrue(torch.equal(out, want))

    def test_angles_that_are_missing(self):
        angles = torch.rand(39, 16)
        self.refuse(ValueError, "rotary_cos has 39 rows; allowed: at least those of the cache, 40",
                    *self.new, angles, angles, 20)  # fmt: skip
        with self.assertRaisesRegex(ValueError, "seqlen_offsets is 37; allowed: 0 to 36"):
            rotary.apply_rotary_emb(self.q, angles, angles, seqlen_offsets=37)
        turned = rotary.apply_rotary_emb(self.q, angles, angles, seqlen_offsets=torch.tensor([36, 38]))
        self.assertTrue(torch.equal(turned[1, 1:], self.q[1, 1:]))  # as FlashAttention leaves them
        self.assertFalse(torch.equal(turned[1, 0], self.q[1, 0]))


NAMES = """
import spark_attention.flash_names as names
names.install()
import importlib.metadata as metadata, importlib.util as util
assert util.find_spec("flash_attn").submodule_search_locations == []
assert util.find_spec("flash_attn.bert_padding").name == "flash_attn.bert_padding"
assert util.find_spec("flash_attn.ops") is None
assert metadata.version("flash_attn") == metadata.version("flash-attn") == names.VERSION
assert "flash-attn" in metadata.packages_distributions()["flash_attn"]
try:
    metadata.version("flash_attn_3")
except metadata.PackageNotFoundError:
    pass
else:
    raise AssertionError
try:
    import transformers
except ImportError:
    raise SystemExit
config = transformers.LlamaConfig(num_hidden_layers=1, hidden_size=64, intermediate_size=64,
                                  vocab_size=32, num_attention_heads=2)
transformers.LlamaForCausalLM(config)
"""


class NamesTest(unittest.TestCase):
    def test_importlib_and_transformers_find_the_package(self):
        if not hasattr(importlib.metadata, "packages_distributions"):
            self.skipTest("Python 3.9 has no packages_distributions()")
        subprocess.run([sys.executable, "-B", "-W", "ignore", "-c", NAMES], check=True)

    def test_without_install_there_is_none_of_ours(self):
        self.assertNotIn("flash_attn", sys.modules)


if __name__ == "__main__":
    unittest.main()
