"""What attention() and its like are asked for besides tensors, checked."""

import torch

from . import _library

_EVERYTHING = 1 << 29  # further than any key is from any row


def options_of(causal, mask, dropout_p, dropout_scale, scale, accumulator, deterministic):
    """(dropout_p, dropout_scale, scale, mask, accumulator, deterministic), as the operators take
    them. Raises ValueError that names the argument, what it was and what is allowed."""
    if mask is not None and causal:
        raise ValueError(f"causal is True, and mask is {mask!r}; allowed: one of them")
    if scale is not None and not scale > 0:
        raise ValueError(f"scale is {scale}; allowed: above 0, or None for 1 / sqrt(head_dim)")
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p is {dropout_p}; allowed: at least 0 and below 1")
    _library.accumulator_of(accumulator)
    _library.dropout_scale_of(dropout_scale)
    if deterministic is None:
        deterministic = torch.are_deterministic_algorithms_enabled()
    return (dropout_p, dropout_scale, scale or 0.0, mask or ("causal" if causal else "full"),
            accumulator, deterministic)  # fmt: skip


def mask_of_window(causal, window_size):
    """The mask of FlashAttention-2's causal and window_size, (keys before, keys after), where -1 is
    all of them and causal allows none after."""
    before, after = map(int, window_size)
    if causal:
        after = 0
    if before < 0 and after < 0:
        return "full"
    if after == 0:
        return "causal" if before < 0 else f"window:{before + 1}"
    return f"band:{before if before >= 0 else _EVERYTHING}:{after if after >= 0 else _EVERYTHING}"


def wants_gradient(*tensors):
    """Of those that are given."""
    return torch.is_grad_enabled() and any([t is not None and t.requires_grad for t in tensors])


def refuse_gradient_of(accumulator):
    if accumulator in _library.FORWARD_ALONE:
        raise _library.UnsupportedError(
            f"accumulator {accumulator!r} has no backward pass: call it under torch.no_grad(), or "
            "take fp32 or fp16"
        )
