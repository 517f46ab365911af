#!/usr/bin/env python3
"""A small GPT that learns to say what it heard: in fp16 with a gradient scaler, over these kernels and
over PyTorch's SDPA."""

import unittest

from test_torch import torch

import spark_attention as sa

TOKENS, LENGTH, STEPS = 17, 24, 60


class Block(torch.nn.Module):
    def __init__(self, width, attend):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 2 * width), torch.nn.GELU(), torch.nn.Linear(2 * width, width)
        )
        self.attend = attend

    def forward(self, x):
        qkv = self.qkv(self.norms[0](x)).unflatten(2, (3, -1, 64))
        x = x + self.out(self.attend(qkv).flatten(2))
        return x + self.mlp(self.norms[1](x))


class Gpt(torch.nn.Module):
    def __init__(self, attend, width=64):
        super().__init__()
        self.words = torch.nn.Embedding(TOKENS, width)
        self.places = torch.nn.Embedding(LENGTH, width)
        self.blocks = torch.nn.Sequential(*(Block(width, attend) for _ in range(2)))
        self.head = torch.nn.Linear(width, TOKENS)

    def forward(self, ids):
        places = torch.arange(ids.shape[1])
        return self.head(self.blocks(self.words(ids) + self.places(places)))


def by_sdpa(qkv):
    q, k, v = (tensor.transpose(1, 2) for tensor in qkv.unbind(2))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def by_spark(**options):
    return lambda qkv: sa.attention(*qkv.unbind(2), causal=True, deterministic=True, **options)


def train(attend, dtype=torch.float16):
    """The losses. Half of each sequence is random, and the other half the same again."""
    torch.manual_seed(7)
    model = Gpt(attend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0, enabled=dtype == torch.float16)
    losses = []
    for _ in range(STEPS):
        first = torch.randint(0, TOKENS, (8, LENGTH // 2))
        ids = torch.cat([first, first], dim=1)
        with torch.autocast("cpu", dtype=torch.float16, enabled=dtype == torch.float16):
            logits = model(ids[:, :-1])
        heard = slice(LENGTH // 2 - 1, None)
        loss = torch.nn.functional.cross_entropy(logits[:, heard].flatten(0, 1).float(),
                                                 ids[:, 1:][:, heard].flatten())  # fmt: skip
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


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
