#!/usr/bin/env python3
"""Models of transformers with random weights, beside themselves over PyTorch's SDPA."""

import inspect
import sys
import unittest
import warnings

from test_torch import torch

try:
    import transformers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not transformers.is_torch_available():
    print(f"skipped: transformers {transformers.__version__} wants another PyTorch than "
          f"{torch.__version__}")  # fmt: skip
    sys.exit(77)

import spark_attention as sa
import spark_attention.transformers

SMALL = {"hidden_size": 128, "intermediate_size": 96, "num_hidden_layers": 2, "vocab_size": 61,
         "num_attention_heads": 2}  # fmt: skip


def llama(**others):
    config = transformers.LlamaConfig(**SMALL, num_key_value_heads=1, **others)
    return transformers.LlamaForCausalLM(config)


def mistral():
    config = transformers.MistralConfig(**SMALL, num_key_value_heads=1, head_dim=64,
                                        sliding_window=7)  # fmt: skip
    return transformers.MistralForCausalLM(config)


def bert():
    return transformers.BertModel(transformers.BertConfig(**SMALL, attention_probs_dropout_prob=0.0,
                                                          hidden_dropout_prob=0.0))  # fmt: skip


def gpt_oss():
    """Of a windowed and a full layer, each with sinks that have more than the keys' shares."""
    config = transformers.GptOssConfig(
        **SMALL, num_key_value_heads=1, head_dim=64, sliding_window=7, num_local_experts=2,
        num_experts_per_tok=1, layer_types=["sliding_attention", "full_attention"],
    )  # fmt: skip
    model = transformers.GptOssForCausalLM(config)
    for layer in model.model.layers:
        torch.nn.init.normal_(layer.self_attn.sinks, 2.0)
    return model


def padding(*runs, length=20):
    at = torch.arange(length)
    return torch.stack([(at >= begin) & (at < end) for begin, end in runs]).long()


class TransformersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        spark_attention.transformers.register()
        spark_attention.transformers.register()

    def setUp(self):
        torch.manual_seed(3)
        self.ids = torch.randint(0, 61, (2, 20))
        sa.explain(reset=True)

    def outputs(self, model, name, mask, **others):
        model.set_attn_implementation(name)
        found = model(self.ids, attention_mask=mask, **others)
        return found.logits if hasattr(found, "logits") else found.last_hidden_state

    def compare(self, model, mask=None, name="spark", tolerance=4e-3, beside="sdpa"):
        """In fp16, at the places that are no padding; and gradients with them, also of sinks."""
        model = model.half()
        kept = torch.ones_like(self.ids) if mask is None else mask
        direction, results = None, []
        for each in (beside, name):
            model.zero_grad()
            out = self.outputs(model, each, mask) * kept[..., None]
            direction = torch.randn(out.shape) if direction is None else direction
            (out.float() * direction).sum().backward()
            weights = [p.grad.float().clone() for n, p in model.named_parameters()
                       if n.endswith(("0.self_attn.q_proj.weight", "0.attention.self.query.weight",
                                      "self_attn.sinks"))]  # fmt: skip
            results.append((out.detach().float(), *weights))
        self.assertGreater(len(results[0]), 1)
        for want, got in zip(*results, strict=True):
            self.assertTrue(torch.isfinite(got).all())
            self.assertLess((got - want).norm() / want.norm(), tolerance)

    def assert_ran(self, count, of_pass="forward"):
        self.assertIn(f"{count} x ran {of_pass}", sa.explain())
        self.assertNotIn("left to PyTorch", sa.explain())

    def test_causal_models_with_shared_key_heads(self):
        self.compare(llama())
        self.assert_ran(2)

    def test_fp16_accumulators_have_a_name(self):
        self.compare(llama(), name="spark_fp16acc", tolerance=2e-2)
        self.assertIn("accumulator fp16", sa.explain())

    def test_models_in_bfloat16_by_the_checked_cast(self):
        model = llama().bfloat16()
        sa.bf16_counts(reset=True)
        with torch.no_grad():
            for mask in (None, padding((5, 20), (0, 20))):
                got, want = (self.outputs(model, name, mask) for name in ("spark_bf16cast", "sdpa"))
                kept = torch.ones_like(self.ids) if mask is None else mask
                difference = (got - want).float() * kept[..., None]
                self.assertEqual(got.dtype, torch.bfloat16)
                self.assertLess(difference.norm() / want.float().norm(), 2e-2)
        self.assertIn("2 x ran forward", sa.explain())
        self.assertIn("2 x ran varlen forward", sa.explain())
        self.assertEqual(sa.bf16_counts().overflowed, 0)

    def test_padding_on_the_left(self):
        self.compare(llama(), padding((5, 20), (0, 20)))
        self.assert_ran(2, "varlen forward")

    def test_padding_on_the_right_of_a_causal_model_is_one_call(self):
        self.compare(llama(), padding((0, 12), (0, 20)))
        self.assert_ran(2)

    @unittest.skipIf(transformers.__version__.startswith("4."), "its BERT knows no other attention")
    def test_encoders_with_padding(self):
        self.compare(bert(), padding((0, 12), (0, 20)))
        self.assert_ran(2, "varlen forward")

    def test_sliding_windows(self):
        self.compare(mistral())
        self.assert_ran(2)
        self.compare(mistral(), padding((5, 20), (0, 20)))

    def test_learned_sinks(self):
        for mask, kind in ((None, "forward"), (padding((0, 12), (0, 20)), "forward"),
                           (padding((5, 20), (0, 20)), "varlen forward")):  # fmt: skip
            sa.explain(reset=True)
            self.compare(gpt_oss(), mask, beside="eager")
            self.assert_ran(2, kind)

    def test_learned_sinks_matter(self):
        model = gpt_oss().half()
        with torch.no_grad():
            some = self.outputs(model, "spark", None)
            for layer in model.model.layers:
                layer.self_attn.sinks.fill_(-torch.inf)
            none = self.outputs(model, "spark", None)
        self.assertGreater((some - none).norm() / none.norm(), 2e-2)

    def test_learned_sinks_of_what_is_not_served(self):
        holes = padding((0, 20), (0, 20))
        holes[0, 6] = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.compare(gpt_oss(), holes, beside="eager")
            self.assertIn("2 x left to PyTorch: a mask that is no padding", sa.explain())
            model = gpt_oss()  # of fp32
            for mask in (None, padding((5, 20), (0, 20))):
                with torch.no_grad():
                    got, want = (self.outputs(model, name, mask) for name in ("spark", "eager"))
                kept = torch.ones_like(self.ids) if mask is None else mask
                torch.testing.assert_close(got * kept[..., None], want * kept[..., None])
        self.assertIn("4 x left to PyTorch: dtype float32", sa.explain())

    def test_learned_sinks_with_a_cache(self):
        self.check_cache(gpt_oss())

    def test_a_cache_continues(self):
        self.check_cache(llama())

    def check_cache(self, model):
        model, mask = model.half().eval(), padding((5, 20), (0, 20))
        with torch.no_grad():
            whole = self.outputs(model, "spark", mask)
            start = model(self.ids[:, :16], attention_mask=mask[:, :16], use_cache=True)
            rest = model(self.ids[:, 16:], attention_mask=mask, past_key_values=start.past_key_values)
        self.assertLess((whole[:, 16:] - rest.logits).abs().max(), 4e-3)

    def test_what_is_not_served_has_sdpas_results(self):
        model = mistral()  # of fp32, with a window
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for mask in (None, padding((5, 20), (0, 20))):
                with torch.no_grad():
                    got, want = (self.outputs(model, name, mask) for name in ("spark", "sdpa"))
                kept = torch.ones_like(self.ids) if mask is None else mask
                torch.testing.assert_close(got * kept[..., None], want * kept[..., None])
        self.assertIn("4 x left to PyTorch: dtype float32", sa.explain())

    def test_packed_sequences_stay_apart(self):
        positions = torch.cat([torch.arange(9), torch.arange(11)])[None].expand(2, -1)
        model = llama().half()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, want = (
                self.outputs(model, name, None, position_ids=positions, use_cache=False)
                for name in ("spark", "sdpa")
            )
        self.assertLess((got - want).abs().max(), 4e-3)
        self.assertIn("left to PyTorch: a mask that is no padding", sa.explain())

    def test_chunks_are_not_taken_for_windows(self):
        from transformers.masking_utils import (chunked_causal_mask_function, sdpa_mask,
                                                sliding_window_causal_mask_function)  # fmt: skip

        given = {"batch_size": 1, "kv_length": 20, "local_size": 7, "device": "cpu"}
        if "q_length" in inspect.signature(sdpa_mask).parameters:
            given["q_length"] = 20
        else:  # older ones
            given["cache_position"] = torch.arange(20)
        chunked = chunked_causal_mask_function(7, torch.zeros(1, dtype=torch.long))
        mask = spark_attention.transformers.mask_of(**given, mask_function=chunked)
        self.assertEqual(mask.shape, (1, 1, 20, 20))
        self.assertFalse(mask[0, 0, 7, 6])
        sliding = sliding_window_causal_mask_function(7)
        self.assertIsNone(spark_attention.transformers.mask_of(**given, mask_function=sliding))

    def test_holes_in_a_mask_are_honoured(self):
        mask = padding((0, 20), (0, 20))
        mask[0, 6] = 0
        model = llama().half()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, want = (self.outputs(model, name, mask) for name in ("spark", "sdpa"))
        self.assertLess(((got - want) * mask[..., None]).abs().max(), 4e-3)


if __name__ == "__main__":
    unittest.main()
