"""PyTorch's encoder layers, for `sparkbench encoder`: the same layer with every attention, one
operation at a time, compiled, or scripted; and the fast path of nn.TransformerEncoderLayer."""

import functools
from typing import Dict, Optional

import torch
import torch._functorch.config
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

import sparkbench

from ._common import version_of

BACKENDS = {
    "unfused": SDPBackend.MATH,  # with which nothing replaces its operations
    "math": SDPBackend.MATH,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
WAYS = ("eager", "compile", "script")
ON_HOST = ("unfused", "math")
OPTIONS = {"layer": True, "version": version_of("torch"), "dropout": True, "gqa": False}


def unfused(q, k, v, visible: Optional[torch.Tensor], scale: float, dropout_p: float):
    """baddbmm with the scale folded in, masked_fill, softmax, dropout, bmm."""
    batch, heads, rows, head_dim = q.shape
    q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
    unread = torch.empty([1, 1, 1], dtype=q.dtype, device=q.device)  # beta is 0
    p = torch.baddbmm(unread, q, k.transpose(1, 2), beta=0.0, alpha=scale)
    if visible is not None:
        p = p.view(batch, heads, rows, rows).masked_fill(~visible, float("-inf"))
    p = torch.softmax(p, -1)
    if dropout_p > 0.0:
        p = functional.dropout(p, dropout_p, True)
    return torch.bmm(p.view(batch * heads, rows, rows), v).view(batch, heads, rows, head_dim)


def activated(u, activation: str):
    if activation == "relu":
        return functional.relu(u)
    return functional.gelu(u, approximate="tanh" if activation == "gelu-tanh" else "none")


def branch(x, dropout_p: float):
    """What is added to the residual."""
    return functional.dropout(x, dropout_p, True) if dropout_p > 0.0 else x


def normed(x, gamma, beta):
    return functional.layer_norm(x, [x.shape[-1]], gamma, beta, 1e-12)


def encoder_layer(
    x,
    w: Dict[str, torch.Tensor],
    visible: Optional[torch.Tensor],
    heads: int,
    scale: float,
    dropout_p: float,
    is_causal: bool,
    is_pre: bool,
    activation: str,
    is_unfused: bool,
):
    """As reference/encoder/layer_shape.h defines it."""
    batch, rows, hidden = x.shape
    z = normed(x, w["gamma_1"], w["beta_1"]) if is_pre else x
    qkv = functional.linear(z, w["w_qkv"], w.get("b_qkv"))
    q, k, v = qkv.view(batch, rows, 3, heads, hidden // heads).permute(2, 0, 3, 1, 4).unbind(0)
    if is_unfused:
        o = unfused(q, k, v, visible, scale, dropout_p)
    else:
        o = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=visible, dropout_p=dropout_p, is_causal=is_causal, scale=scale
        )
    o = o.transpose(1, 2).reshape(batch, rows, hidden)
    h = x + branch(functional.linear(o, w["w_o"], w.get("b_o")), dropout_p)
    if not is_pre:
        h = normed(h, w["gamma_1"], w["beta_1"])
    z = normed(h, w["gamma_2"], w["beta_2"]) if is_pre else h
    g = activated(functional.linear(z, w["w_1"], w.get("b_1")), activation)
    y = h + branch(functional.linear(g, w["w_2"], w.get("b_2")), dropout_p)
    return y if is_pre else normed(y, w["gamma_2"], w["beta_2"])


def needs_table(problem, attention):
    """Whether the mask is a tensor of booleans."""
    if attention == "unfused":
        return problem.mask_kind != "full"
    return problem.mask_kind not in ("full", "causal")


def prepared(way, attention, problem):
    table = problem.dense_mask(torch)[None] if needs_table(problem, attention) else None
    options = {
        "visible": table, "heads": problem.heads, "scale": problem.softmax_scale,
        "dropout_p": problem.dropout_p, "is_causal": problem.mask_kind == "causal" and table is None,
        "is_pre": problem.layer.norm == "pre", "activation": problem.layer.activation,
        "is_unfused": attention == "unfused",
    }  # fmt: skip
    function = encoder_layer
    if way == "script":
        function = torch.jit.script(encoder_layer)
    if way == "compile":
        # The cache of autograd's graphs does not know which attention is allowed.
        torch._functorch.config.enable_autograd_cache = False
        torch._dynamo.reset()  # a sweep's many shapes exceed the cache limit for one function
        function = torch.compile(encoder_layer, dynamic=False)

    def layer(x, weights):
        with sdpa_kernel(BACKENDS[attention]):
            return function(x, weights, **options)

    return layer


def why_not(way, attention, name, problem):
    rest = "unfused" if way == "eager" else "fused"
    if problem.layer.rest != rest:
        return f"{name} runs with --rest {rest}"
    if needs_table(problem, attention) and attention in ("flash", "cudnn"):
        return f"{name} has no mask {problem.mask}; it has full, causal"
    has_table = needs_table(problem, attention) and attention != "math"
    if has_table and problem.has_blind_rows():
        return f"{name} has no rows without a visible key"
    return None


def kernel_of(way, attention):
    name = f"torch-{way}-{attention}"
    return sparkbench.kernel(
        functools.partial(prepared, way, attention), name=name, file=__file__,
        summary=f"PyTorch's layer, {way}, attention: {attention}", masks=sparkbench.MASKS,
        backends=("cuda", "host") if attention in ON_HOST else ("cuda",),
        supports=functools.partial(why_not, way, attention, name), **OPTIONS,
    )  # fmt: skip


LAYERS = {(way, attention): kernel_of(way, attention) for way in WAYS for attention in BACKENDS}

FAST_NAMES = {
    "w_qkv": "self_attn.in_proj_weight", "b_qkv": "self_attn.in_proj_bias",
    "w_o": "self_attn.out_proj.weight", "b_o": "self_attn.out_proj.bias",
    "w_1": "linear1.weight", "b_1": "linear1.bias", "w_2": "linear2.weight",
    "b_2": "linear2.bias", "gamma_1": "norm1.weight", "beta_1": "norm1.bias",
    "gamma_2": "norm2.weight", "beta_2": "norm2.bias",
}  # fmt: skip


def why_not_fast(problem):
    """By the conditions in nn.TransformerEncoderLayer.forward."""
    layer = problem.layer
    for is_met, why in (
        (layer.rest == "fused", "runs with --rest fused"),
        (not problem.has_backward, "is for forward passes"),
        (problem.dropout_p == 0, "has no dropout"),
        (layer.activation != "gelu-tanh", "has the activations relu and gelu-erf"),
        (layer.bias, "needs biases"),
        (problem.heads % 2 == 0, f"needs an even number of heads, which {problem.heads} is not"),
        (not problem.mask_per_head, "has one mask for all heads"),
    ):
        if not is_met:
            return f"torch-encoder-layer {why}"
    return None


@sparkbench.kernel(
    name="torch-encoder-layer", masks=sparkbench.MASKS, supports=why_not_fast, **OPTIONS
)
def torch_encoder_layer(problem):
    """The fast path of nn.TransformerEncoderLayer"""
    shape, loaded = problem.layer, {}
    activation = {"gelu-erf": "gelu"}.get(shape.activation, shape.activation)
    module = torch.nn.TransformerEncoderLayer(
        shape.hidden, problem.heads, shape.ffn, dropout=0.0, layer_norm_eps=shape.EPSILON,
        activation=activation, batch_first=True, norm_first=shape.norm == "pre", device="meta",
    ).eval().requires_grad_(False)  # fmt: skip
    hidden = None if problem.mask_kind == "full" else ~problem.dense_mask(torch)[0]

    def layer(x, weights):
        if loaded.get("weights") is not weights["w_qkv"]:
            state = {FAST_NAMES[name]: weight for name, weight in weights.items()}
            module.load_state_dict(state, strict=True, assign=True)
            loaded["weights"] = weights["w_qkv"]
        return module(x, src_mask=hidden, is_causal=problem.mask_kind == "causal")

    return layer
