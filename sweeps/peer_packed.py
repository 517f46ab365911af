"""Varlen batches with several lengths: their tensors, and PyTorch's passes over them.

Tensors are [total, heads, head_dim], one sequence after the other, unless a pass needs another
form. The conversion is not timed, because the pass's users have that form anyway. torch-padded
has a batch with rows as long as the longest sequence and zeros at the end; it computes the
padding too.
"""

import peer_masks
from peer_attention import CAUSAL_FROM_BOTTOM_RIGHT, GRADIENTS, SPARK, repeated_keys

VARLEN, NESTED, PADDED = "torch-varlen", "torch-nested", "torch-padded"


def cumulative(torch, offsets):
    return torch.tensor(offsets, dtype=torch.int32, device="cuda")


class Packed:
    """Shared by all: q, k and v as they are, and a forward pass that autograd differentiates."""

    def __init__(self, torch, case, dropout_p):
        self.torch, self.case, self.dropout_p = torch, case, dropout_p
        self.cu_q = cumulative(torch, case.cu_seqlens_q)
        self.cu_k = cumulative(torch, case.cu_seqlens_k)
        self.longest = (case.problem["seqlen_q"], case.problem["seqlen_k"])
        self.scale = case.problem["scale"]

    def take(self, inputs, d_o):
        self.inputs = [x.requires_grad_() for x in inputs]
        self.d_o = d_o

    def forward(self):
        self.o = self.attend()
        return self.o

    def backward(self):
        return self.torch.autograd.grad(self.o, self.inputs, self.d_o, retain_graph=True)

    def packed(self, tensor, _name):
        """Any of o, dq, dk and dv."""
        return tensor


class Varlen(Packed):
    """torch.nn.attention.varlen, since PyTorch 2.10. It supports neither dropout nor a scale."""

    def __init__(self, torch, case, dropout_p):
        super().__init__(torch, case, dropout_p)
        try:
            from torch.nn.attention.varlen import varlen_attn
        except ImportError as error:
            raise NotImplementedError(f"{VARLEN} needs PyTorch 2.10 or later ({error})") from error
        self.varlen_attn = varlen_attn

    def attend(self):
        inputs = repeated_keys(self.inputs, self.case.group_size, dim=1)
        is_causal = self.case.mask.kind == "causal"
        return self.varlen_attn(*inputs, self.cu_q, self.cu_k, *self.longest, is_causal)


class Spark(Packed):
    """This project's kernels as PyTorch users call them (kernels/python)."""

    def __init__(self, torch, case, dropout_p):
        super().__init__(torch, case, dropout_p)
        try:
            import spark_attention
        except ImportError as error:
            raise NotImplementedError(
                f"{case.kernel} needs spark_attention: pip install ./kernels/python ({error})"
            ) from error
        self.attention = spark_attention.attention_varlen

    def attend(self):
        return self.attention(
            *self.inputs, self.cu_q, self.cu_k, mask=self.case.problem["mask"],
            dropout_p=self.dropout_p, scale=self.scale, accumulator=SPARK[self.case.kernel],
        )  # fmt: skip


class Nested(Packed):
    """scaled_dot_product_attention of nested tensors, in the jagged layout."""

    def attend(self):
        torch = self.torch
        inputs = repeated_keys(self.inputs, self.case.group_size, dim=1)
        q, k, v = (
            torch.nested.nested_tensor_from_jagged(x, offsets.long()).transpose(1, 2)
            for x, offsets in zip(inputs, (self.cu_q, self.cu_k, self.cu_k))
        )
        o = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout_p, scale=self.scale,
            is_causal=self.case.mask.kind == "causal",
        )  # fmt: skip
        return o.transpose(1, 2).values()


class Padded(Packed):
    """scaled_dot_product_attention of a batch padded with zeros, by any back end that accepts it.
    If no row sees a key after its own, the mask need not hide the padding: no row of a sequence
    sees it."""

    def take(self, inputs, d_o):
        q, k, v = (self.padded(x, name) for x, name in zip(inputs, ("q", "k", "v")))
        self.inputs = [x.requires_grad_() for x in (q, k, v)]
        self.d_o = self.padded(d_o, "q")
        is_causal = self.case.mask.kind == "causal" and self.case.has_equal_lengths
        self.hidden = {"is_causal": True} if is_causal else {"attn_mask": self.visible()}

    def rows_of(self, name):
        """(offsets, rows of a padded sequence)"""
        of_keys = name in ("k", "v", "dk", "dv")
        offsets = self.case.cu_seqlens_k if of_keys else self.case.cu_seqlens_q
        return offsets, max(1, self.longest[of_keys])

    def padded(self, tensor, name):
        """[batch, heads, rows, head_dim]"""
        offsets, rows = self.rows_of(name)
        batch = tensor.new_zeros((len(offsets) - 1, rows, *tensor.shape[1:]))
        for entry, (begin, end) in enumerate(zip(offsets, offsets[1:])):
            batch[entry, : end - begin] = tensor[begin:end]
        return batch.transpose(1, 2)

    def packed(self, tensor, name):
        offsets, _ = self.rows_of(name)
        entries = tensor.transpose(1, 2)
        lengths = (end - begin for begin, end in zip(offsets, offsets[1:]))
        return self.torch.cat([entry[:length] for entry, length in zip(entries, lengths)])

    def visible(self):
        """[batch, 1, rows, keys] of booleans. A row that should see nothing sees the first key. For
        padding nobody reads the result; for a sequence without keys it is zero."""
        torch, case = self.torch, self.case
        (_, rows), (_, keys) = self.rows_of("q"), self.rows_of("k")
        seen = torch.zeros((len(case.lengths), 1, rows, keys), dtype=torch.bool, device="cuda")
        for entry, (seqlen_q, seqlen_k) in enumerate(case.lengths):
            mask = peer_masks.Mask(case.mask.name, seqlen_q, seqlen_k)
            if seqlen_q and seqlen_k:
                seen[entry, 0, :seqlen_q, :seqlen_k] = mask.dense(torch)
        seen[..., 0] |= ~seen.any(-1)
        return seen

    def attend(self):
        return self.torch.nn.functional.scaled_dot_product_attention(
            *repeated_keys(self.inputs, self.case.group_size, dim=1),
            dropout_p=self.dropout_p, scale=self.scale, **self.hidden,
        )  # fmt: skip


class Aten(Packed):
    """A PyTorch operator that takes offsets, called directly."""

    def take(self, inputs, d_o):
        self.inputs, self.d_o, self.aten = inputs, d_o, self.torch.ops.aten

    def forward(self):
        self.saved = self.run_forward()
        self.o = self.saved[0]
        return self.o

    def backward(self):
        return self.run_backward()[:3]


class Flash(Aten):
    """A window is given as offsets of its first and last key, as in peer_attention.Flash."""

    def options(self):
        before, after = self.case.mask.offsets
        return {
            "scale": self.scale,
            "window_size_left": -1 if before is None else before,
            "window_size_right": -1 if after is None else after,
        }

    def run_forward(self):
        return self.aten._flash_attention_forward(
            *self.inputs, self.cu_q, self.cu_k, *self.longest, self.dropout_p, False, False,
            **self.options(),
        )  # fmt: skip

    def run_backward(self):
        o, lse, rng_state, unused = self.saved[:4]
        return self.aten._flash_attention_backward(
            self.d_o, *self.inputs, o, lse, self.cu_q, self.cu_k, *self.longest, self.dropout_p,
            False, rng_state, unused, **self.options(),
        )  # fmt: skip


class Efficient(Aten):
    """Takes a batch of one, [1, total, heads, head_dim], as in peer_attention.Efficient."""

    def mask_type(self):
        return 0 if self.case.mask.kind == "full" else CAUSAL_FROM_BOTTOM_RIGHT

    def options(self):
        mask = self.case.mask
        return {
            "scale": self.scale,
            "window_size": mask.numbers[0] if mask.kind == "window" else None,
        }

    def run_forward(self):
        repeated = repeated_keys(self.inputs, self.case.group_size, dim=1)
        self.repeated = [x.unsqueeze(0) for x in repeated]
        return self.aten._efficient_attention_forward(
            *self.repeated, None, self.cu_q, self.cu_k, *self.longest, self.dropout_p,
            self.mask_type(), True, **self.options(),
        )  # fmt: skip

    def run_backward(self):
        o, lse, philox_seed, philox_offset = self.saved[:4]
        dq, *of_heads = self.aten._efficient_attention_backward(
            self.d_o.unsqueeze(0), *self.repeated, None, o, self.cu_q, self.cu_k, *self.longest,
            lse, self.dropout_p, philox_seed, philox_offset, self.mask_type(), False,
            **self.options(),
        )[:3]  # fmt: skip
        if self.case.group_size > 1:
            of_heads = [x.unflatten(2, (-1, self.case.group_size)).sum(3) for x in of_heads]
        return dq, *of_heads

    def packed(self, tensor, _name):
        return tensor.squeeze(0)


PASSES = {
    VARLEN: Varlen,
    "torch-flash": Flash,
    "torch-efficient": Efficient,
    NESTED: Nested,
    PADDED: Padded,
    **dict.fromkeys(SPARK, Spark),
}


class PackedAttention:
    """A case's varlen tensors, ready to run, like peer_attention.Attention."""

    def __init__(self, torch, case, seed, dropout_p):
        self.case, self.passes = case, PASSES[case.kernel](torch, case, dropout_p)
        generator = torch.Generator("cuda").manual_seed(seed)

        def draw(total, heads):
            shape = (total, heads, case.problem["head_dim"])
            return torch.randn(shape, generator=generator, device="cuda", dtype=torch.float16)

        heads, heads_k = case.problem["heads"], case.problem["heads_k"]
        total_q, total_k = case.cu_seqlens_q[-1], case.cu_seqlens_k[-1]
        self.inputs = [draw(total_q, heads), draw(total_k, heads_k), draw(total_k, heads_k)]
        self.d_o = draw(total_q, heads)
        self.passes.take([x.clone() for x in self.inputs], self.d_o)

    def forward(self):
        self.o = self.passes.forward()

    def backward(self):
        return self.passes.backward()

    def launch(self):
        """Enqueues the case's pass; a backward pass starts from the last forward's O."""
        if self.case.direction != "bwd":
            self.forward()
        if self.case.direction != "fwd":
            self.backward()

    def outputs(self):
        """Like Attention.outputs(), for varlen."""
        self.forward()
        o = {} if self.case.direction == "bwd" else {"o": self.o.detach()}
        gradients = {} if self.case.direction == "fwd" else dict(zip(GRADIENTS, self.backward()))
        return {name: self.passes.packed(each, name) for name, each in (o | gradients).items()}

    def rows_of(self, tensor, name, place):
        """[rows, head_dim] of one (sequence, head)."""
        return self.case.rows_of(tensor, name, place)
