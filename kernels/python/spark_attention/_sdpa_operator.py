"""aten::scaled_dot_product_attention itself, for the calls that never reach an operator of one kernel
(_efficient.py): shared key heads (enable_gqa), for which PyTorch's way is math over all scores, and CPU
tensors, which it has other kernels for. All others go on to PyTorch's choice.

PyTorch composes this operator of others, so that its own function runs above autograd and below it
alike, and so does this one: in the keys of autograd, and in those of inference mode.
"""

import warnings

import torch

from . import _direct, _ledger, _served, _transforms
from ._attention import attend as attend_rows

NAME = "scaled_dot_product_attention"


def why_not(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, accumulator="fp32"):
    """Why the kernels do not serve a call of SDPA; None where they do."""
    reason = _transforms.why_left_to_pytorch(query, key, value)
    if reason is not None:
        return reason
    if any(tensor.is_nested for tensor in (query, key, value)):
        return "nested tensors of the strided layout, or with others that are not nested"
    if not all(tensor.dim() == 4 for tensor in (query, key, value)):
        return "tensors of other than 4 dimensions"
    reason = _served.why_not_call(query, key, attn_mask, dropout_p, scale, enable_gqa)
    if reason is not None:
        return reason
    if is_causal and query.shape[-2] != key.shape[-2]:
        return "is_causal with other lengths of q and k: PyTorch's begins at the first key"
    return _served.why_not(*(tensor.transpose(1, 2) for tensor in (query, key, value)), accumulator)


def passes_by_kernels(query, key, enable_gqa):
    """Whether PyTorch would not take the operator of its memory-efficient attention, though it might."""
    if query.device.type == "cpu":
        return True
    shares_heads = enable_gqa and query.dim() == 4 and query.shape[1] != key.shape[1]
    return shares_heads and is_allowed()


def is_allowed():
    """Whether sdpa_kernel() or a flag leave PyTorch its memory-efficient attention. Compilers do not
    follow what asks that."""
    return torch.compiler.is_compiling() or torch.backends.cuda.mem_efficient_sdp_enabled()


def attend(query, key, value, dropout_p, is_causal, scale, accumulator):
    """A call that why_not() has nothing against."""
    rows = [tensor.transpose(1, 2) for tensor in (query, key, value)]
    out, *_ = attend_rows(*rows, is_causal, None, dropout_p, "asked", scale, accumulator, None)
    return out.transpose(1, 2)


def note(reason):
    """But for compilers, who ask more than once."""
    if not torch.compiler.is_compiling() and not (_direct._modes and _direct._modes()):
        _ledger.note(f"left to PyTorch: {reason}")


def register(accumulator_of_thread):
    """The library that has the operator until it is destroyed. Wants PyTorch 2.9."""
    devices = ("CPU", "CUDA") if torch.cuda.is_available() else ("CPU",)
    keys = [key for device in devices for key in (f"Autograd{device}", device)]
    # All of them first: where a device has a kernel of its own, autograd's key passes through to it.
    old = {key: torch.library.get_kernel(f"aten::{NAME}", key) for key in keys}
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():  # that a kernel is overridden, which is what we want
        warnings.simplefilter("ignore")
        for key in keys:
            library.impl(NAME, _kernel(old[key], accumulator_of_thread), key, with_keyset=True,
                         allow_override=True)  # fmt: skip
    return library


def _kernel(old, accumulator_of_thread):
    def scaled_dot_product_attention(keys, query, key, value, attn_mask=None, dropout_p=0.0,
                                     is_causal=False, *unknown, scale=None, enable_gqa=False,
                                     **others):  # fmt: skip
        if passes_by_kernels(query, key, enable_gqa):
            accumulator = accumulator_of_thread()
            if unknown or others:
                reason = f"an argument of a later PyTorch: {[*unknown, *others]}"
            else:
                reason = why_not(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa,
                                 accumulator)  # fmt: skip
            if reason is None:
                return attend(query, key, value, dropout_p, is_causal, scale, accumulator)
            note(reason)
        return old.call_boxed(keys, query, key, value, attn_mask, dropout_p, is_causal, *unknown,
                              scale=scale, enable_gqa=enable_gqa, **others)  # fmt: skip

    return scaled_dot_product_attention
