"""FlashAttention-4 (flash_attn.cute): compiled by CuTe for Hopper and Blackwell, differentiated by
autograd. The first call for a shape compiles; that is not part of the pass's time."""


class Flash4:
    """Takes [batch, seqlen, heads, head_dim]; a window of W keys is W - 1 before and 0 after."""

    def __init__(self, torch, case):
        try:
            from flash_attn.cute import flash_attn_func
        except ImportError as error:
            raise NotImplementedError(
                f"flash-attn-4 needs FlashAttention-4: pip install flash-attn-4 ({error})"
            ) from error
        self.attend, self.grad = flash_attn_func, torch.autograd.grad
        self.options = {
            "softmax_scale": case.problem["scale"],
            "causal": case.mask.kind == "causal",
        }
        if case.mask.kind in ("window", "band"):
            self.options["window_size"] = case.mask.offsets

    def forward(self, inputs):
        self.inputs = inputs
        out = self.attend(*(x.transpose(1, 2) for x in inputs), **self.options)
        self.o = (out[0] if isinstance(out, tuple) else out).transpose(1, 2)
        return self.o

    def backward(self, d_o):
        return self.grad(self.o, self.inputs, d_o, retain_graph=True)


def version():
    from importlib import metadata

    try:
        return metadata.version("flash-attn-4")
    except metadata.PackageNotFoundError:
        return None
