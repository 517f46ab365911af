"""An encoder layer from PyTorch operations, as in reference/encoder/layer_shape.h. Import it only
with PyTorch; each of its modules can be compiled and scripted."""

from typing import Optional, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional

EPSILON = 1e-12  # of LayerNorm: kLayerNormEpsilon
# By the names in sparkbench's files (reference/encoder/layer_data.h); x and d_y come after.
WEIGHTS = {
    "w_qkv": "in_product.weight", "w_o": "out_product.weight", "w_1": "up.weight",
    "w_2": "down.weight", "b_qkv": "in_product.bias", "b_o": "out_product.bias",
    "b_1": "up.bias", "b_2": "down.bias", "gamma_1": "norm_1.weight", "beta_1": "norm_1.bias",
    "gamma_2": "norm_2.weight", "beta_2": "norm_2.bias",
}  # fmt: skip
BIASES = ("b_qkv", "b_o", "b_1", "b_2")


class UnfusedAttention(nn.Module):
    """baddbmm with the scale folded in, masked_fill, softmax, dropout, bmm. `visible` is [1, heads
    or 1, rows, keys] of booleans, or None if everything is visible."""

    visible: Optional[Tensor]

    def __init__(self, scale: float, dropout_p: float, visible: Optional[Tensor]):
        super().__init__()
        self.scale, self.dropout_p = scale, dropout_p
        self.register_buffer("hidden", None if visible is None else ~visible, persistent=False)
        blind = None if visible is None else ~visible.any(-1, keepdim=True)
        has_blind = blind is not None and bool(blind.any())
        self.register_buffer("blind", blind if has_blind else None, persistent=False)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        batch, heads, rows, head_dim = q.shape
        q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
        unread = torch.empty([1, 1, 1], dtype=q.dtype, device=q.device)  # beta is 0
        p = torch.baddbmm(unread, q, k.transpose(1, 2), beta=0, alpha=self.scale)
        hidden, blind = self.hidden, self.blind
        if hidden is not None:
            p = p.view(batch, heads, rows, rows).masked_fill_(hidden, float("-inf"))
        p = torch.softmax(p, -1)
        if blind is not None:  # rows without a visible key
            p = p.masked_fill(blind, 0.0)
        if self.dropout_p > 0.0:
            p = functional.dropout(p, self.dropout_p, True)
        return torch.bmm(p.view(batch * heads, rows, rows), v).view(batch, heads, rows, head_dim)


class SdpaAttention(nn.Module):
    """scaled_dot_product_attention by any back end that is allowed at the call."""

    def __init__(self, scale: float, dropout_p: float, visible: Optional[Tensor], causal: bool):
        super().__init__()
        self.scale, self.dropout_p, self.causal = scale, dropout_p, causal
        self.register_buffer("visible", visible, persistent=False)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(
            q, k, v, attn_mask=self.visible, dropout_p=self.dropout_p, is_causal=self.causal,
            scale=self.scale,
        )  # fmt: skip


class EncoderLayer(nn.Module):
    """`shape` is a record's problem.layer. `attention` maps q, k and v, [batch, heads, rows,
    head_dim], to o."""

    def __init__(self, shape: dict, heads: int, attention: nn.Module, dropout_p: float):
        super().__init__()
        hidden, ffn, bias = shape["hidden"], shape["ffn"], shape["bias"]
        self.heads, self.dropout_p = heads, dropout_p
        self.is_pre, self.activation = shape["norm"] == "pre", shape["activation"]
        self.in_product = nn.Linear(hidden, 3 * hidden, bias)
        self.attention = attention
        self.out_product = nn.Linear(hidden, hidden, bias)
        self.norm_1 = nn.LayerNorm(hidden, eps=EPSILON)
        self.up = nn.Linear(hidden, ffn, bias)
        self.down = nn.Linear(ffn, hidden, bias)
        self.norm_2 = nn.LayerNorm(hidden, eps=EPSILON)

    def qkv(self, x: Tensor) -> Tensor:
        return self.in_product(x)

    def mha(self, qkv: Tensor) -> Tensor:
        batch, rows, _ = qkv.shape
        q, k, v = qkv.view(batch, rows, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        return self.attention(q, k, v).transpose(1, 2).reshape(batch, rows, -1)

    def proj(self, o: Tensor) -> Tensor:
        return self.out_product(o)

    def ff1(self, h: Tensor) -> Tensor:
        u = self.up(h)
        if self.activation == "relu":
            return functional.relu(u)
        return functional.gelu(u, approximate="tanh" if self.activation == "gelu-tanh" else "none")

    def ff2(self, g: Tensor) -> Tensor:
        return self.down(g)

    def branch(self, x: Tensor) -> Tensor:
        """The tensor that is added to the residual."""
        return functional.dropout(x, self.dropout_p, True) if self.dropout_p > 0.0 else x

    @torch.jit.export
    def with_branch(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        """The output, and the branch that the last residual is added to."""
        if self.is_pre:
            h = x + self.branch(self.proj(self.mha(self.qkv(self.norm_1(x)))))
            f = self.branch(self.ff2(self.ff1(self.norm_2(h))))
            return h + f, f
        h = self.norm_1(x + self.branch(self.proj(self.mha(self.qkv(x)))))
        f = self.branch(self.ff2(self.ff1(h)))
        return self.norm_2(h + f), f

    def forward(self, x: Tensor) -> Tensor:
        return self.with_branch(x)[0]


def load(layer: nn.Module, weights: dict) -> nn.Module:
    """Takes {name: tensor} under sparkbench's names; biases only if the layer has them."""
    state = {WEIGHTS[name]: tensor for name, tensor in weights.items()}
    layer.load_state_dict(state, strict=True, assign=True)
    return layer.requires_grad_()
