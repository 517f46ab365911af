"""This project's kernels as PyTorch users call them: pip install ./kernels/python."""

import spark_attention

import sparkbench

OPTIONS = {
    "version": f"spark_attention {spark_attention.__version__}", "backends": ("cuda",),
    "masks": sparkbench.MASKS, "gqa": True, "dtypes": ("float16",),
}  # fmt: skip


def attention(accumulator, q, k, v, mask, softmax_scale, dropout_p, cu_seqlens_q, cu_seqlens_k):
    options = {"mask": mask, "scale": softmax_scale, "dropout_p": dropout_p,
               "accumulator": accumulator}  # fmt: skip
    if cu_seqlens_q is None:
        return spark_attention.attention(q, k, v, **options)
    return spark_attention.attention_varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, **options)


@sparkbench.kernel(name="spark-fp32acc", **OPTIONS)
def spark_fp32acc(q, k, v, *, mask, softmax_scale, dropout_p, cu_seqlens_q, cu_seqlens_k):
    """spark_attention with FP32 accumulators"""
    return attention("fp32", q, k, v, mask, softmax_scale, dropout_p, cu_seqlens_q, cu_seqlens_k)


@sparkbench.kernel(name="spark-fp16acc", accumulator="fp16", **OPTIONS)
def spark_fp16acc(q, k, v, *, mask, softmax_scale, dropout_p, cu_seqlens_q, cu_seqlens_k):
    """spark_attention with FP16 accumulators"""
    return attention("fp16", q, k, v, mask, softmax_scale, dropout_p, cu_seqlens_q, cu_seqlens_k)
