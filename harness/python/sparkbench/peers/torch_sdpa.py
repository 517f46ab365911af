"""The back ends of torch.nn.functional.scaled_dot_product_attention. A mask without an argument of
its own becomes a tensor of booleans. Flash and mem-efficient run their own windows and varlen, which
SDPA does not pass on, by their operators (_operators.py)."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import sparkbench

from . import _operators
from ._common import heads_first, is_top_left, repeated_keys, version_of

BACKENDS = {
    "torch-math": SDPBackend.MATH,
    "torch-efficient": SDPBackend.EFFICIENT_ATTENTION,
    "torch-flash": SDPBackend.FLASH_ATTENTION,
    "torch-cudnn": SDPBackend.CUDNN_ATTENTION,
}
WITHOUT_GQA = ("torch-efficient",)


def sdpa(name, problem):
    hidden = {"is_causal": problem.causal}
    if problem.mask_kind not in ("full", "causal") or not is_top_left(problem):
        hidden = {"attn_mask": problem.dense_mask(torch)[None]}
    if problem.heads != problem.heads_k and name not in WITHOUT_GQA:
        hidden["enable_gqa"] = True  # since PyTorch 2.5

    @heads_first
    def attention(q, k, v, *, softmax_scale, dropout_p):
        if name in WITHOUT_GQA:
            q, k, v = repeated_keys(q, k, v, dim=1)
        with sdpa_kernel(BACKENDS[name]):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, dropout_p=dropout_p, scale=softmax_scale, **hidden
            )

    return attention


def cudnn_version():
    number = torch.backends.cudnn.version() or 0
    return f"torch {torch.__version__}, cuDNN {number // 10000}.{number // 100 % 100}.{number % 100}"


SDPA_TAKES = {"prepare": True, "dropout": True, "gqa": True}


@sparkbench.kernel(
    name="torch-math", version=version_of("torch"), masks=sparkbench.MASKS, **SDPA_TAKES
)
def torch_math(problem):
    """scaled_dot_product_attention, unfused"""
    return sdpa("torch-math", problem)


@sparkbench.kernel(
    name="torch-efficient", version=version_of("torch"), backends=("cuda",), varlen=True,
    masks=("full", "causal", "window", "pattern"), **SDPA_TAKES,
)  # fmt: skip
def torch_efficient(problem):
    """scaled_dot_product_attention, memory-efficient (CUTLASS)"""
    if problem.is_varlen or problem.mask_kind == "window" or not is_top_left(problem):
        if problem.mask_kind != "pattern":
            return _operators.efficient(problem)
    return sdpa("torch-efficient", problem)


@torch_efficient.supports
def why_not_efficient(problem):
    if problem.has_blind_rows():
        return "torch-efficient has no rows without a visible key"
    return None


@sparkbench.kernel(
    name="torch-flash", version=version_of("torch"), backends=("cuda",), varlen=True,
    masks=("full", "causal", "window", "band"), **SDPA_TAKES,
)  # fmt: skip
def torch_flash(problem):
    """scaled_dot_product_attention, FlashAttention-2"""
    is_sdpa_s = problem.mask_kind in ("full", "causal") and is_top_left(problem)
    if problem.is_varlen or not is_sdpa_s:
        return _operators.flash(problem)
    return sdpa("torch-flash", problem)


@sparkbench.kernel(
    name="torch-cudnn", version=cudnn_version, backends=("cuda",), masks=("full", "causal"),
    **SDPA_TAKES,
)  # fmt: skip
def torch_cudnn(problem):
    """scaled_dot_product_attention, cuDNN"""
    return sdpa("torch-cudnn", problem)


@torch_cudnn.supports
def why_not_cudnn(problem):
    if not is_top_left(problem):
        return "torch-cudnn aligns a causal mask to the top left: lengths must be equal"
    return None
