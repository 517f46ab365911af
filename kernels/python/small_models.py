"""Small models that learn to say again what stands twice in a sequence: a GPT, which has heard it, and
an encoder, which finds a half of the tokens of one copy masked and reads them in the other."""

import torch


class Block(torch.nn.Module):
    def __init__(self, width, head_dim, attend):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 2 * width), torch.nn.GELU(), torch.nn.Linear(2 * width, width)
        )
        self.head_dim, self.attend = head_dim, attend

    def forward(self, x):
        qkv = self.qkv(self.norms[0](x)).unflatten(2, (3, -1, self.head_dim))
        x = x + self.out(self.attend(qkv).flatten(2))
        return x + self.mlp(self.norms[1](x))


class Model(torch.nn.Module):
    """`attend` takes a packed [batch, seqlen, 3, heads, head_dim]. Token `tokens` is the mask."""

    def __init__(self, attend, *, tokens, length, layers, width=64, head_dim=64):
        super().__init__()
        self.words = torch.nn.Embedding(tokens + 1, width)
        self.places = torch.nn.Embedding(length, width)
        self.blocks = torch.nn.Sequential(*(Block(width, head_dim, attend) for _ in range(layers)))
        self.head = torch.nn.Linear(width, tokens)

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.head(self.blocks(self.words(ids) + self.places(places)))


def twice(tokens, batch, length):
    first = torch.randint(0, tokens, (batch, length // 2))
    return torch.cat([first, first], 1)


def gpt_batch(tokens, batch, length):
    """(what it reads, what it should say, where that is asked): the second copy."""
    ids = twice(tokens, batch, length)
    asked = torch.zeros(batch, length - 1, dtype=torch.bool)
    asked[:, length // 2 - 1 :] = True
    return ids[:, :-1], ids[:, 1:], asked


def encoder_batch(tokens, batch, length):
    """The same of the masked tokens, which are of the first or of the second copy."""
    ids = twice(tokens, batch, length)
    in_second = torch.rand(batch, length // 2) < 0.5
    is_asked = torch.rand(batch, length // 2) < 0.5
    asked = torch.cat([is_asked & ~in_second, is_asked & in_second], 1)
    return ids.masked_fill(asked, tokens), ids, asked


def train(model, make_batch, steps, dtype, learning_rate, device="cpu"):
    """The losses, in fp16 by autocast and a gradient scaler, or in fp32."""
    is_half = dtype == torch.float16
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    scaler = torch.amp.GradScaler(device, init_scale=256.0, enabled=is_half)
    losses = []
    for _ in range(steps):
        ids, wanted, asked = (tensor.to(device) for tensor in make_batch())
        with torch.autocast(device, dtype=torch.float16, enabled=is_half):
            logits = model(ids)
        loss = torch.nn.functional.cross_entropy(logits[asked].float(), wanted[asked])
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses
