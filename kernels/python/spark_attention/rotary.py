"""Rotary position embeddings (Su et al., RoFormer, 2021), by PyTorch."""

import torch

from ._library import UnsupportedError


def apply_rotary_emb(x, cos, sin, interleaved=False, inplace=False, seqlen_offsets=0,
                     cu_seqlens=None, max_seqlen=None):  # fmt: skip
    """Rotates the first 2 * cos.shape[1] columns of [batch, seqlen, heads, head_dim] by the angles of
    rows seqlen_offsets on of cos and sin, [length, columns / 2]. As FlashAttention's, rows behind the
    last angle stay as they are where offsets are in a tensor, which the host does not read."""
    if inplace or cu_seqlens is not None or max_seqlen is not None:
        raise UnsupportedError("inplace, cu_seqlens or max_seqlen is given; supported: neither")
    if cos.dim() != 2 or cos.shape != sin.shape or 2 * cos.shape[1] > x.shape[-1]:
        raise ValueError(f"cos has shape {tuple(cos.shape)}, and sin {tuple(sin.shape)}; allowed: "
                         f"[length, columns / 2] of both, of up to {x.shape[-1]} columns")  # fmt: skip
    if isinstance(seqlen_offsets, int) and not 0 <= seqlen_offsets <= len(cos) - x.shape[1]:
        raise ValueError(f"seqlen_offsets is {seqlen_offsets}; allowed: 0 to {len(cos) - x.shape[1]}, "
                         f"since cos has {len(cos)} rows and x {x.shape[1]}")  # fmt: skip
    rotated = 2 * cos.shape[1]
    rows = torch.arange(x.shape[1], device=x.device) + torch.as_tensor(
        seqlen_offsets, device=x.device).reshape(-1, 1)  # fmt: skip
    is_known = ((rows >= 0) & (rows < len(cos)))[..., None, None]
    rows = rows.clamp(0, max(len(cos) - 1, 0))
    cos, sin = (angles[rows].unsqueeze(2).float() for angles in (cos, sin))
    cos, sin = cos.where(is_known, 1.0), sin.where(is_known, 0.0)
    part = x[..., :rotated].float()
    first, second = (part[..., 0::2], part[..., 1::2]) if interleaved else part.chunk(2, -1)
    turned = first * cos - second * sin, first * sin + second * cos
    turned = torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)
    return torch.cat([turned.to(x.dtype), x[..., rotated:]], -1)
