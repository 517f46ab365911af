"""Rotary position embeddings (Su et al., RoFormer, 2021), by PyTorch."""

import torch

from ._library import UnsupportedError


def apply_rotary_emb(x, cos, sin, interleaved=False, inplace=False, seqlen_offsets=0,
                     cu_seqlens=None, max_seqlen=None):  # fmt: skip
    """Rotates the first 2 * cos.shape[1] columns of [batch, seqlen, heads, head_dim] by the angles of
    rows seqlen_offsets on of cos and sin, [length, columns / 2]."""
    if inplace or cu_seqlens is not None or max_seqlen is not None:
        raise UnsupportedError("inplace, cu_seqlens or max_seqlen is given; supported: neither")
    rotated = 2 * cos.shape[1]
    rows = torch.arange(x.shape[1], device=x.device) + torch.as_tensor(
        seqlen_offsets, device=x.device).reshape(-1, 1)  # fmt: skip
    cos, sin = (angles[rows].unsqueeze(2).float() for angles in (cos, sin))
    part = x[..., :rotated].float()
    first, second = (part[..., 0::2], part[..., 1::2]) if interleaved else part.chunk(2, -1)
    turned = first * cos - second * sin, first * sin + second * cos
    turned = torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)
    return torch.cat([turned.to(x.dtype), x[..., rotated:]], -1)
