"""jax.nn.dot_product_attention, by cuDNN and by XLA: pip install jax[cuda13]."""

import jax

import sparkbench

from ._common import version_of

OPTIONS = {
    "version": version_of("jax", "jaxlib"), "tensors": "jax", "backends": ("cuda",),
    "prepare": True, "gqa": True, "masks": ("full", "causal", "window", "band"),
}  # fmt: skip


def attention_by(implementation, problem):
    left, right = problem.window
    window = None if problem.mask_kind in ("full", "causal") else (left, right)

    def attention(q, k, v):
        return jax.nn.dot_product_attention(
            q, k, v, scale=problem.softmax_scale, is_causal=problem.causal,
            local_window_size=window, implementation=implementation,
        )  # fmt: skip

    return attention


def why_not(problem):
    if problem.mask_kind != "full" and problem.seqlen_q != problem.seqlen_k:
        return "JAX aligns masks to the top left: lengths must be equal"
    return None


def why_not_cudnn(problem):
    if problem.mask_kind == "band":
        return "jax-cudnn has windows that end at a row's own key"
    return why_not(problem)


@sparkbench.kernel(name="jax-cudnn", supports=why_not_cudnn, **OPTIONS)
def jax_cudnn(problem):
    """jax.nn.dot_product_attention by cuDNN"""
    return attention_by("cudnn", problem)


@sparkbench.kernel(name="jax-xla", supports=why_not, **OPTIONS)
def jax_xla(problem):
    """jax.nn.dot_product_attention by XLA, unfused"""
    return attention_by("xla", problem)
