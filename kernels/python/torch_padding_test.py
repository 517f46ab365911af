#!/usr/bin/env python3
"""Masks of padding between transformers and the kernels: their columns, their changes, compiled code."""

import copy
import sys
import types
import unittest

from test_torch import inputs, max_error, torch

try:
    import transformers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not transformers.is_torch_available():
    print(f"skipped: transformers {transformers.__version__} wants another PyTorch")
    sys.exit(77)

from transformers.masking_utils import causal_mask_function

import spark_attention.transformers
from spark_attention.transformers import attend

spark_attention.transformers.register()
IDS = torch.arange(40).view(2, 20) * 7 % 61
LEFT, RIGHT, NONE = (torch.ones_like(IDS) for _ in range(3))
LEFT[0, :6], RIGHT[0, 13:] = 0, 0


def models(window=None):
    """The same model over PyTorch's SDPA and over the kernels."""
    config = dict(hidden_size=128, intermediate_size=96, num_hidden_layers=2, vocab_size=61,
                  num_attention_heads=2, num_key_value_heads=1, head_dim=64)  # fmt: skip
    torch.manual_seed(0)
    model = (transformers.MistralForCausalLM(transformers.MistralConfig(**config, sliding_window=window))
             if window else transformers.LlamaForCausalLM(transformers.LlamaConfig(**config)))  # fmt: skip
    found = [copy.deepcopy(model).half().eval() for _ in range(2)]
    for each, name in zip(found, ("sdpa", "spark")):
        each.set_attn_implementation(name)
    return found


class ColumnsTest(unittest.TestCase):
    """A mask's columns are positions of the sequence, also where it is longer than the keys."""

    @torch.no_grad()
    def check(self, padding, window=None):
        outs = []
        for model in models(window):
            cache = transformers.DynamicCache(config=model.config)
            parts = [model(IDS[:, rows], past_key_values=cache, attention_mask=padding).logits
                     for rows in (slice(0, 8), slice(8, 20))]  # fmt: skip
            outs.append(torch.cat(parts, 1)[padding.bool()])
        self.assertLess(max_error(*outs), 5e-2)

    def test_a_prompt_in_chunks_with_the_mask_of_all(self):
        self.check(LEFT)
        self.check(RIGHT)

    def test_the_same_in_windows(self):
        self.check(LEFT, window=5)


class ChangesTest(unittest.TestCase):
    def setUp(self):
        self.given = [t.detach().transpose(1, 2) for t in inputs(10, 10)[:3]]
        self.module = types.SimpleNamespace(is_causal=False, training=False)

    def attend(self, mask):
        return attend(self.module, *self.given, mask, accumulator="fp32", bf16="refuse")[0]

    def test_a_mask_that_changes_in_place_is_read_again(self):
        changes = {
            "in place": lambda mask: mask[0, 4:].fill_(False),
            "its data": lambda mask: mask.data[0, 4:].fill_(False),
            "by NumPy": lambda mask: mask.numpy()[0, 4:].fill(False),
        }
        for name, change in changes.items():
            for mode in (torch.no_grad, torch.inference_mode):
                with self.subTest(name), mode():
                    mask = torch.ones(2, 10, dtype=torch.bool)
                    mask[0, 7:] = False
                    first = self.attend(mask)
                    change(mask)
                    got, want = self.attend(mask), self.attend(mask.clone())
                    self.assertTrue(torch.equal(got, want))
                    self.assertFalse(torch.equal(got, first))

    def test_what_transformers_is_given_is_a_copy(self):
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                padding = torch.ones(2, 10, dtype=torch.bool)
                padding[0, 7:] = False
                mask = spark_attention.transformers.mask_of(
                    2, 10, 10, mask_function=causal_mask_function, attention_mask=padding)
                first = self.attend(mask)
                padding[0, 4:] = False
                self.assertTrue(torch.equal(self.attend(mask), first))
                mask[0, 4:] = False
                self.assertTrue(torch.equal(self.attend(mask), self.attend(padding)))

    def test_masks_of_other_shapes_are_refused(self):
        for shape in ((2, 11), (2, 9), (1, 10)):
            with self.assertRaisesRegex(ValueError, "attention_mask has shape"):
                self.attend(torch.ones(shape, dtype=torch.bool))


class CompiledTest(unittest.TestCase):
    @torch.no_grad()
    def check(self, padding, **options):
        plain, ours = models()
        torch._dynamo.reset()
        run = torch.compile(ours, backend="eager", **options)
        want = plain(IDS, attention_mask=padding).logits
        got = run(IDS, attention_mask=padding).logits
        seen = (NONE if padding is None else padding).bool()
        self.assertLess(max_error(got[seen], want[seen]), 5e-2)

    def test_padding_breaks_the_graph_and_has_the_values_of_sdpa(self):
        for padding in (LEFT, RIGHT, NONE):
            self.check(padding)

    def test_without_a_mask_it_is_one_graph(self):
        self.check(None, fullgraph=True)


if __name__ == "__main__":
    unittest.main()
