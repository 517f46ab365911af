"""A problem's tensors, and PyTorch's passes over them.

Inputs are normal, fp16, [batch, seqlen, heads, head_dim] in memory, viewed as [batch, heads,
seqlen, head_dim], and require gradients, as in a training step. For the unfused chains heads
come before rows in memory too, so that their products need no copy.

If heads share keys, back ends with an option for it (SHARE_KEYS) use it. For the others keys and
values are repeated for each head, as a user has to do, and the copies count in their time.
"""

import peer_bsr
import peer_flash4
import peer_flex

BACKENDS = {
    "torch-math": "MATH",
    "torch-efficient": "EFFICIENT_ATTENTION",
    "torch-flash": "FLASH_ATTENTION",
    "torch-cudnn": "CUDNN_ATTENTION",
}
UNFUSED = "torch-unfused"
SPARK = {"spark-fp32acc": "fp32", "spark-fp16acc": "fp16"}
FLEX = "torch-flex"
BSR = "torch-bsr"
FLASH4 = "flash-attn-4"
# Only for varlen: peer_packed.py.
OF_LENGTHS = ("torch-varlen", "torch-nested", "torch-padded")
PEERS = (UNFUSED, *BACKENDS, FLEX, BSR, FLASH4, *OF_LENGTHS, *SPARK)
GRADIENTS = ("dq", "dk", "dv")
SHARE_KEYS = ("torch-math", "torch-flash", "torch-cudnn", FLASH4)
HEADS_FIRST = (UNFUSED, BSR)
CAUSAL_FROM_BOTTOM_RIGHT = 2  # custom_mask_type of _efficient_attention_forward


def repeated_keys(inputs, group_size, dim):
    """q, k and v, with the heads of k and v (along `dim`) repeated `group_size` times."""
    if group_size == 1:
        return inputs
    q, k, v = inputs
    return q, k.repeat_interleave(group_size, dim), v.repeat_interleave(group_size, dim)


class Sdpa:
    """One back end of scaled_dot_product_attention, differentiated by autograd. A mask that has no
    argument of its own becomes a tensor of booleans."""

    def __init__(self, torch, case, dropout_p):
        self.torch, self.case, self.dropout_p = torch, case, dropout_p
        self.hidden = {"is_causal": case.mask.kind == "causal"}
        if not case.mask.is_sdpa_s():
            visible = case.mask.dense_of_heads(torch, case.problem["heads"])
            if case.mask.kind == "pattern" and case.kernel == "torch-efficient" and not visible.any(-1).all():
                raise NotImplementedError("torch-efficient has no rows without a visible key")
            self.hidden = {"attn_mask": visible[None]}
        self.repeats = case.group_size
        if case.group_size > 1 and case.kernel in SHARE_KEYS:
            self.repeats = 1
            self.hidden["enable_gqa"] = True  # since PyTorch 2.5

    def forward(self, inputs):
        self.inputs = inputs
        attention = self.torch.nn.attention
        backend = getattr(attention.SDPBackend, BACKENDS[self.case.kernel])
        with attention.sdpa_kernel(backend):
            self.o = self.torch.nn.functional.scaled_dot_product_attention(
                *repeated_keys(inputs, self.repeats, dim=1),
                dropout_p=self.dropout_p,
                scale=self.case.problem["scale"],
                **self.hidden,
            )
        return self.o

    def backward(self, d_o):
        return self.torch.autograd.grad(self.o, self.inputs, d_o, retain_graph=True)


class Unfused:
    """A user's code without fusion: baddbmm with the scale folded in, masked_fill, softmax,
    dropout, bmm, differentiated by autograd."""

    def __init__(self, torch, case, dropout_p):
        self.torch, self.dropout_p = torch, dropout_p
        self.scale, self.group_size = case.problem["scale"], case.group_size
        self.hidden = self.sees_none = None
        if case.mask.kind == "pattern":
            self.hide_pattern(case)
        elif case.mask.kind != "full":
            self.hidden = ~case.mask.dense(torch)
            if case.mask.has_blind_rows():
                self.sees_none = self.hidden.all(1, keepdim=True)

    def hide_pattern(self, case):
        hidden = ~case.mask.dense_of_heads(self.torch, case.problem["heads"])
        # For the heads of all batch entries, one after the other.
        batch = case.problem["batch"] if len(hidden) > 1 else 1
        self.hidden = hidden.repeat(batch, 1, 1)
        sees_none = self.hidden.all(2, keepdim=True)
        self.sees_none = sees_none if sees_none.any() else None

    def forward(self, inputs):
        self.inputs = inputs
        torch = self.torch
        q, k, v = (x.flatten(0, 1) for x in repeated_keys(inputs, self.group_size, dim=1))
        unread = q.new_empty(1, 1, 1)  # beta is 0
        p = torch.baddbmm(unread, q, k.transpose(1, 2), beta=0, alpha=self.scale)
        if self.hidden is not None:
            p = p.masked_fill_(self.hidden, float("-inf"))
        p = torch.softmax(p, -1)
        if self.sees_none is not None:
            p = p.masked_fill(self.sees_none, 0.0)
        if self.dropout_p > 0:
            p = torch.nn.functional.dropout(p, self.dropout_p)
        self.o = torch.bmm(p, v).unflatten(0, inputs[0].shape[:2])
        return self.o

    def backward(self, d_o):
        return self.torch.autograd.grad(self.o, self.inputs, d_o, retain_graph=True)


class Spark:
    """This project's kernels as PyTorch users call them (kernels/python)."""

    def __init__(self, torch, case, dropout_p):
        try:
            import spark_attention
        except ImportError as error:
            raise NotImplementedError(
                f"{case.kernel} needs spark_attention: pip install ./kernels/python ({error})"
            ) from error
        self.attention, self.grad = spark_attention.attention, torch.autograd.grad
        self.options = {
            "mask": case.problem["mask"],
            "dropout_p": dropout_p,
            "scale": case.problem["scale"],
            "accumulator": SPARK[case.kernel],
        }

    def forward(self, inputs):
        self.inputs = inputs
        self.o = self.attention(*(x.transpose(1, 2) for x in inputs), **self.options)
        return self.o.transpose(1, 2)

    def backward(self, d_o):
        return self.grad(self.o, self.inputs, d_o.transpose(1, 2), retain_graph=True)


class Aten:
    """A PyTorch operator that supports more masks than scaled_dot_product_attention passes to it.
    It takes [batch, seqlen, heads, head_dim]."""

    def __init__(self, torch, case, dropout_p):
        self.aten, self.case, self.dropout_p = torch.ops.aten, case, dropout_p
        self.lengths = (case.problem["seqlen_q"], case.problem["seqlen_k"])

    def forward(self, inputs):
        self.inputs = [x.detach().transpose(1, 2) for x in inputs]
        self.saved = self.run_forward()
        return self.saved[0].transpose(1, 2)

    def backward(self, d_o):
        gradients = self.run_backward(d_o.transpose(1, 2))
        return [gradient.transpose(1, 2) for gradient in gradients[:3]]


class Flash(Aten):
    """A window is given as offsets of its first and last key: W keys are W - 1 and 0."""

    def options(self):
        before, after = self.case.mask.offsets
        return {
            "scale": self.case.problem["scale"],
            "window_size_left": -1 if before is None else before,
            "window_size_right": -1 if after is None else after,
        }

    def run_forward(self):
        return self.aten._flash_attention_forward(
            *self.inputs, None, None, *self.lengths, self.dropout_p, False, False, **self.options()
        )

    def run_backward(self, d_o):
        o, lse, rng_state, unused = self.saved[:4]
        return self.aten._flash_attention_backward(
            d_o, *self.inputs, o, lse, None, None, *self.lengths, self.dropout_p, False,
            rng_state, unused, **self.options(),
        )  # fmt: skip


class Efficient(Aten):
    """A window is given as a number of keys, under a causal mask aligned to the bottom right."""

    def options(self):
        mask = self.case.mask
        return {
            "scale": self.case.problem["scale"],
            "window_size": mask.numbers[0] if mask.kind == "window" else None,
        }

    def run_forward(self):
        self.repeated = repeated_keys(self.inputs, self.case.group_size, dim=2)
        return self.aten._efficient_attention_forward(
            *self.repeated, None, None, None, *self.lengths, self.dropout_p,
            CAUSAL_FROM_BOTTOM_RIGHT, True, **self.options(),
        )  # fmt: skip

    def run_backward(self, d_o):
        o, lse, philox_seed, philox_offset = self.saved[:4]
        dq, *of_heads = self.aten._efficient_attention_backward(
            d_o, *self.repeated, None, o, None, None, *self.lengths, lse, self.dropout_p,
            philox_seed, philox_offset, CAUSAL_FROM_BOTTOM_RIGHT, False, **self.options(),
        )[:3]  # fmt: skip
        if self.case.group_size > 1:
            of_heads = [x.unflatten(2, (-1, self.case.group_size)).sum(3) for x in of_heads]
        return dq, *of_heads


def passes_of(torch, case, dropout_p):
    if case.kernel == UNFUSED:
        return Unfused(torch, case, dropout_p)
    if case.kernel in SPARK:
        return Spark(torch, case, dropout_p)
    if case.kernel == FLEX:
        return peer_flex.Flex(torch, case)
    if case.kernel == FLASH4:
        return peer_flash4.Flash4(torch, case)
    if case.kernel == BSR:
        return peer_bsr.BlockSparse(torch, case, dropout_p)
    with_windows = {"torch-flash": Flash, "torch-efficient": Efficient}
    is_sdpa = (
        case.mask.is_sdpa_s() or case.mask.kind == "pattern" or case.kernel not in with_windows
    )
    return (Sdpa if is_sdpa else with_windows[case.kernel])(torch, case, dropout_p)


class Attention:
    """A case's tensors, ready to run."""

    def __init__(self, torch, case, seed, dropout_p):
        self.case, self.passes = case, passes_of(torch, case, dropout_p)
        generator = torch.Generator("cuda").manual_seed(seed)

        def draw(shape):
            tensor = torch.randn(shape, generator=generator, device="cuda", dtype=torch.float16)
            heads_first = tensor.transpose(1, 2)  # a view: [batch, heads, seqlen, head_dim]
            return heads_first.contiguous() if case.kernel in HEADS_FIRST else heads_first

        shapes = (case.query_shape, case.key_shape, case.key_shape)
        self.inputs = [draw(shape).requires_grad_() for shape in shapes]
        self.d_o = draw(case.query_shape)
        self.o = None

    def forward(self):
        self.o = self.passes.forward(self.inputs)

    def backward(self):
        return self.passes.backward(self.d_o)

    def launch(self):
        """Enqueues the case's pass; a backward pass starts from the last forward's O."""
        if self.case.direction != "bwd":
            self.forward()
        if self.case.direction != "fwd":
            self.backward()

    def rows_of(self, tensor, _name, place):
        """[rows, head_dim] of one (batch, head)."""
        return tensor[place]

    def outputs(self):
        """{"o": ...}, or the three gradients; for a forward and a backward pass all four."""
        self.forward()
        if self.case.direction == "fwd":
            return {"o": self.o.detach()}
        gradients = dict(zip(GRADIENTS, self.backward()))
        return gradients if self.case.direction == "bwd" else {"o": self.o.detach(), **gradients}
