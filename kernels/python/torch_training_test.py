#!/usr/bin/env python3
"""A small GPT learns in fp16 with a gradient scaler over these kernels as it does over PyTorch's SDPA.
(Larger ones, on a GPU: training_curves.py.)"""

import unittest

from test_torch import torch

import small_models
import spark_attention as sa

TOKENS, LENGTH, STEPS = 17, 24, 60


def by_sdpa(qkv):
    q, k, v = (tensor.transpose(1, 2) for tensor in qkv.unbind(2))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def by_spark(**options):
    return lambda qkv: sa.attention(*qkv.unbind(2), causal=True, deterministic=True, **options)


def train(attend, dtype=torch.float16):
    torch.manual_seed(7)
    model = small_models.Model(attend, tokens=TOKENS, length=LENGTH, layers=2)
    return small_models.train(model, lambda: small_models.gpt_batch(TOKENS, 8, LENGTH), STEPS, dtype,
                              learning_rate=4e-3)  # fmt: skip


class TrainingTest(unittest.TestCase):
    def test_losses_fall_as_with_sdpa(self):
        in_fp32, in_fp16 = train(by_sdpa, torch.float32), train(by_sdpa)
        for accumulator in ("fp32", "fp16"):
            losses = train(by_spark(accumulator=accumulator))
            self.assertLess(losses[-1], 0.9 * losses[0])
            for step in (0, 9, STEPS - 1):
                spread = abs(in_fp32[step] - in_fp16[step])
                self.assertLess(abs(losses[step] - in_fp32[step]), 3 * spread + 0.02, step)

    def test_the_same_seed_has_the_same_bits(self):
        first, again = (train(by_spark(dropout_p=0.1)) for _ in range(2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, train(by_spark()))


if __name__ == "__main__":
    unittest.main()
